"""Refused: sets."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        s = {1, 2}  # refused: a set is no JSON value; write a list

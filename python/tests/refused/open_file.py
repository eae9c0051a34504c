"""Refused: files."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        f = open("x")  # refused: read and write files in an action

"""Refused: operators on bits."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return n << 2  # refused: the operator of n << 2 is not compiled; write it in an action

"""Refused: a tuple that nothing says to be one."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return n, "x"  # refused: a tuple, and the hint does not say so; write a list, or the hint

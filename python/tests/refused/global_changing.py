"""Refused: a constant that changes."""

from pulley import Workflow, workflow


CHANGING = 1
CHANGING = 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return n + CHANGING  # refused: CHANGING gets a value more than once; pass it as an argument of run

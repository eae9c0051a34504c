"""Refused: a global that changes."""

from pulley import Workflow, workflow


COUNT = 0


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        global COUNT  # refused: a global that changes is not durable; keep it in a variable
        COUNT = n

"""Refused: sums of floats."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return sum([0.1, 0.2])  # refused: sum of floats rounds otherwise; add in a for

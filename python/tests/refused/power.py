"""Refused: powers."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return n ** n  # refused: ** is compiled for ints if the exponent is a number; multiply

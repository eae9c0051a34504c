"""Refused: formats."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return f"{n / 2:.2f}"  # refused: a float is printed otherwise; format it in an action

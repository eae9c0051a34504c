"""Refused: floats as texts."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return f"{n / 2}"  # refused: a float is printed otherwise than in Python; format it in an action

"""Refused: texts as numbers."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return int("12")  # refused: int of a text reads other texts than in Python; convert it in an action

"""Refused: floor division of floats."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return (n + 0.5) // 0.1  # refused: // of floats rounds otherwise than in Python; compute it in an action

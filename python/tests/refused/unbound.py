"""Refused: a name that has a value on one path only."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        if n > 3:
            x = 1
        return x  # refused: x may have no value here; give it one on every way

"""Refused: imports inside."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        import math  # refused: an import inside a function; write it at the top of the file

"""Refused: an error behind which any stops."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, given: List[int] = []) -> object:
        return any(1 // x > 0 for x in given)  # refused: this may raise ZeroDivisionError, and any stops before it; write a for with break

"""Refused: is."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, given: List[int] = []) -> object:
        return [n] is given  # refused: objects have no identity in JSON; write == or !=

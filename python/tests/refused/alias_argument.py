"""Refused: a change of what was given."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, given: List[int] = []) -> object:
        given.append(n)  # refused: the object of given is known elsewhere; copy it first: given = list(given)

"""Refused: a list that a loop goes through."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, given: List[int] = []) -> object:
        xs = [n]
        for ys in [xs, given]:
            xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
            n = n + len(ys)
        return n

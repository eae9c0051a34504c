"""Refused: one of two lists, by a condition."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, given: List[int] = []) -> object:
        xs = [n]
        ys = given or xs
        xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
        return ys

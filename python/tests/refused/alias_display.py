"""Refused: an element of a list that was just written."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, given: List[int] = []) -> object:
        xs = [n]
        ys = [xs, given][0]
        xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
        return ys

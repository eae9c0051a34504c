"""Refused: a list that a method gives back."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        ys = self.same(xs)
        xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
        return ys

    def same(self, xs: List[int]) -> List[int]:
        return xs

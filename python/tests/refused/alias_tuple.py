"""Refused: a list in a tuple."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        pair = (xs, n)
        xs += [2]  # refused: the object of xs is known elsewhere; copy it first
        return pair[0]

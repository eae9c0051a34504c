"""Refused: a list in lists."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        rows = [[i, xs] for i in range(2)]
        xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
        return rows

"""Refused: a change that another name would see."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        ys = xs
        ys.append(2)  # refused: the object of ys is known elsewhere; copy it first: ys = list(ys)
        return xs

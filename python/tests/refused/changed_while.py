"""Refused: a list that changes while a loop goes through it."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        for x in xs:  # refused: xs changes while the loop goes through it; write for ... in list(xs)
            xs.append(x)

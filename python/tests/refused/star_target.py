"""Refused: unpacking the rest."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        a, *b = [n, 2]  # refused: * in what is assigned to is not compiled; write slices

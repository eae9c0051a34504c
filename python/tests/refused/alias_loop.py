"""Refused: a change of what an earlier iteration stored."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        rows = []
        row = [n]
        for i in range(n):
            row.append(i)  # refused: the object of row is known elsewhere; copy it first
            rows.append(row)
        return rows

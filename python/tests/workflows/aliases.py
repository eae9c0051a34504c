"""Objects that have two names, but are not changed while they do."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}]


@workflow
class Aliases(Workflow):
    async def run(self, given: List[int] = [1]) -> List[Any]:
        mine = list(given)
        mine.append(2)
        rows: List[List[int]] = []
        for i in range(3):
            row = [i]
            row.append(i + 1)
            rows.append(row)
        other = mine
        mine = [9]
        mine.append(10)
        both = [mine, other]
        made = self.fresh(2)
        made.append(100)
        return [given, mine, other, rows, both, made]

    def fresh(self, n: int) -> List[int]:
        xs = []
        for i in range(n):
            xs.append(i)
        return xs

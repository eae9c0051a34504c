"""A for whose iterations run at the same time, with and without a variable."""

from typing import List

from pulley import Workflow, workflow
from toys import add, double, items

INPUTS = [{}, {"n": 0}, {"n": 7}]


@workflow
class Spread(Workflow):
    concurrent = True

    async def run(self, n: int = 3) -> List[List[int]]:
        doubled = []
        for x in await items(n):
            doubled.append(await double(x))
        sums: List[int] = [100]
        for i, x in enumerate(doubled):
            s = await add(i, x)
            sums.append(s)
        return [doubled, sums]

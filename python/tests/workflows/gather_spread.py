"""gather over comprehensions: with conditions, pairs, and two fors."""

import asyncio
from typing import List

from pulley import Workflow, workflow
from toys import add, double, items

INPUTS = [{}, {"n": 0}, {"n": 4}]


@workflow
class GatherSpread(Workflow):
    async def run(self, n: int = 3) -> List[List[int]]:
        xs = await items(n)
        plain = await asyncio.gather(*[double(x) for x in xs])
        some = await asyncio.gather(*[double(x) for x in xs if x % 2 == 0])
        pairs = await asyncio.gather(*(add(i, b=x * 10) for i, x in enumerate(xs)))
        grid = await asyncio.gather(*[add(x, y) for x in xs for y in xs if x < y])
        return [list(plain), list(some), list(pairs), list(grid)]

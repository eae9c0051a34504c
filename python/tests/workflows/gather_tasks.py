"""Calls that are listed first, and gathered then."""

import asyncio
from typing import List

from pulley import Workflow, workflow
from toys import add, double

INPUTS = [{}, {"n": 0}]


@workflow
class Tasks(Workflow):
    async def run(self, n: int = 3) -> List[List[int]]:
        calls = [double(x) for x in range(n)]
        a = await asyncio.gather(*calls)
        jobs = []
        for i, x in enumerate(a):
            jobs.append(add(i, x))
        b = await asyncio.gather(*jobs)
        more = [self.both(x) for x in b if x % 2 == 0]
        return [list(a), list(b), list(await asyncio.gather(*more))]

    async def both(self, x: int) -> int:
        return await double(await double(x))

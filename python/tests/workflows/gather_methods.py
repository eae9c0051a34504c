"""Methods of the workflow that run at the same time."""

import asyncio
from typing import Any, List

from pulley import Workflow, workflow
from toys import add, double

INPUTS = [{}, {"n": 4}]


@workflow
class GatherMethods(Workflow):
    async def run(self, n: int = 2) -> List[Any]:
        a, b = await asyncio.gather(self.both(n), self.both(b=1, a=n + 1))
        many = await asyncio.gather(*[self.both(i) for i in range(n)])
        return [a, b, many]

    async def both(self, a: int, b: int = 2) -> int:
        s = await add(a, b)
        if s > 3:
            return await double(s)
        return s

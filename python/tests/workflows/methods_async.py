"""Methods that run actions, call others, and return early."""

from typing import List

from pulley import Workflow, workflow
from toys import double, items, noop

INPUTS = [{"n": n} for n in (0, 1, 4)]


@workflow
class Helpers(Workflow):
    async def run(self, n: int) -> List[int]:
        found = [await self.first(n)]
        found.extend(await self.many(n))
        await self.quiet(n)
        return found

    async def first(self, n: int) -> int:
        for x in await items(n):
            if x > 1:
                return await double(x)
        return -1

    async def many(self, n: int) -> List[int]:
        xs: List[int] = []
        while len(xs) < n:
            xs.append(await self.first(len(xs)))
        return xs

    async def quiet(self, n: int) -> None:
        if n > 2:
            return
        await noop()

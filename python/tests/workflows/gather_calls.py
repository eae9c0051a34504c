"""Calls that run at the same time."""

import asyncio
from typing import Any, List

from pulley import Workflow, workflow
from toys import add, double, noop

INPUTS = [{}, {"x": 5}]


@workflow
class Calls(Workflow):
    async def run(self, x: int = 1) -> List[Any]:
        a, b = await asyncio.gather(add(x, 1), double(x + 1))
        both = await asyncio.gather(double(a), double(b))
        nothing = await asyncio.gather()
        await asyncio.gather(noop(), noop())
        [c] = await asyncio.gather(double(a))
        return [a, b, both, nothing, c]

"""A comprehension that runs an action for each element, one after the other."""

from typing import Any, List

from pulley import Workflow, workflow
from toys import add, double, items

INPUTS = [{}, {"n": 0}]


@workflow
class Sequential(Workflow):
    async def run(self, n: int = 3) -> List[Any]:
        a = [await double(x) for x in range(n)]
        b = [await add(x, y) for x in range(n) if x != 1 for y in await items(x)]
        c = [f"{i}:{await double(x)}" for i, x in enumerate(a)]
        return [a, b, c]

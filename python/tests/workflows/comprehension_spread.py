"""The same in a class whose iterations may run at the same time."""

from typing import Any, List

from pulley import Workflow, workflow
from toys import add, double

INPUTS = [{}, {"n": 0}]


@workflow
class Concurrent(Workflow):
    concurrent = True

    async def run(self, n: int = 3) -> List[Any]:
        a = [await double(x) for x in range(n)]
        b = [await add(i, x) for i, x in enumerate(a) if x > 0]
        return [a, b]

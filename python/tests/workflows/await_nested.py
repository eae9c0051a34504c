"""Actions inside of expressions, in Python's order."""

from typing import Any, List

from pulley import Workflow, workflow
from toys import add, double, items

INPUTS = [{}, {"x": 5}]


@workflow
class Inside(Workflow):
    async def run(self, x: int = 2) -> List[Any]:
        a = await add(await double(x), await double(x + 1))
        b = a + await double(a) * 2 - x
        c = [await double(1), {"k": await add(x, 1)}]
        d = f"{await double(x)} and {await double(a)}"
        e = (await items(3))[1] + len(await items(4))
        return [a, b, c, d, e]

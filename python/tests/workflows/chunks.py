"""Parts of a list, of a size that is an input."""

import math
from typing import Any, List

from pulley import Workflow, workflow
from toys import items, total

INPUTS = [{}, {"size": 3}, {"size": 100}, {"size": 0}]


@workflow
class Chunks(Workflow):
    async def run(self, size: int = 2, n: int = 7) -> List[Any]:
        xs = await items(n)
        sums: List[int] = []
        for start in range(0, len(xs), size):
            sums.append(await total(xs[start:start + size]))
        pages = math.ceil(len(xs) / size)
        return [sums, pages, math.floor(-2.5), math.ceil(-2.5), math.floor(n), math.ceil(7 / 2)]

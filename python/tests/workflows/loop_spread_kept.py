"""A name that is read after the loop keeps it a loop."""

from typing import List

from pulley import Workflow, workflow
from toys import double

INPUTS = [{}, {"n": 4}]


@workflow
class Kept(Workflow):
    concurrent = True

    async def run(self, n: int = 2) -> List[int]:
        result = -1
        doubled = []
        for x in range(n):
            result = await double(x)
            doubled.append(result)
        return doubled + [result]

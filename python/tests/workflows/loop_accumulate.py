"""A for that adds up what actions give."""

from typing import List

from pulley import Workflow, workflow
from toys import add

INPUTS = [{}, {"n": 0}, {"n": 5}]


@workflow
class Accumulate(Workflow):
    async def run(self, n: int = 3) -> List[int]:
        found: List[int] = []
        before = 0
        for i in range(n):
            before = await add(a=before, b=i)
            found.append(before)
        return found

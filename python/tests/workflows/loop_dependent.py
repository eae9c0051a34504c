"""An iteration that needs the one before it stays behind it."""

from typing import List

from pulley import Workflow, workflow
from toys import double

INPUTS = [{}, {"n": 5}]


@workflow
class Dependent(Workflow):
    concurrent = True

    async def run(self, n: int = 3) -> List[int]:
        last = 1
        powers: List[int] = []
        for _ in range(n):
            last = await double(last)
            powers.append(last)
        return powers

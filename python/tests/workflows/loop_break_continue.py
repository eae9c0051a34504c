"""break and continue in nested loops."""

from typing import List

from pulley import Workflow, workflow
from toys import add

INPUTS = [{}, {"n": 0}, {"n": 9}]


@workflow
class Nested(Workflow):
    async def run(self, n: int = 4) -> List[List[int]]:
        pairs = []
        for i in range(n):
            if i == 1:
                continue
            for j in range(n):
                if j > i:
                    break
                if (i + j) % 2 == 1:
                    continue
                pairs.append([i, await add(i, j)])
            if len(pairs) > 8:
                break
        return pairs

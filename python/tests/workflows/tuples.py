"""Tuples that are unpacked, indexed, compared and given back."""

from typing import List, Tuple

from pulley import Workflow, workflow

INPUTS = [{}, {"a": 5}]


@workflow
class Tuples(Workflow):
    async def run(self, a: int = 1, b: str = "x") -> Tuple[int, str, List[int]]:
        pair = (a, b)
        n, s = pair
        n, m = a + 1, n
        [p, q] = [n, m]
        (x, (y, z)) = (1, (2, "three"))
        swapped = (pair[1], pair[0])
        both = pair + (3.5,)
        same = pair == (a, b) and pair != (a, "other") and (1, 2) < (1, 3)
        parts = self.split("k=v")
        first, second = self.split("p=q=r")
        p, q = q, p
        return n + m + p + q * 10 + x + y, s + swapped[0] + z + parts[0] + second + str(same) + first, [len(both), len(pair[:1])]

    def split(self, s: str) -> Tuple[str, str]:
        key, _, value = s.partition("=")
        return key, value

"""Chained comparison and assignment, augmented assignment of all operators."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}, {"n": 10}]


@workflow
class Chains(Workflow):
    async def run(self, n: int = 3) -> List[Any]:
        a = b = n
        a += 1
        a -= 2
        a *= 3
        b //= 2
        b %= 5
        f = 1.0
        f /= 4
        s = "x"
        s += "y"
        s *= 2
        t = [1] * n
        t += [n]
        ok = 0 <= a <= 100 != b
        return [a, b, f, s, t, ok, 1 < 2 < 3, 1 < 3 < 2]

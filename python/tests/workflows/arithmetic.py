"""Arithmetic of ints and floats, of any size and sign."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{"a": a, "b": b} for a, b in ((7, 2), (-7, 2), (7, -2), (-7, -2), (0, 5), (10**20, 3), (-(10**20), 7))]


@workflow
class Numbers(Workflow):
    async def run(self, a: int, b: int) -> List[Any]:
        ints = [a + b, a - b, a * b, a // b, a % b, -a, +a, abs(a), a**2, a**0, b**3]
        floats = [a + 0.5, 1.5 * b, 2.5 - b, float(b), b / 4, 0.1 + 0.2, abs(-1.5), abs(b - 0.5)]
        rounded = [round(0.5), round(1.5), round(2.5), round(-0.5), round(-1.5), round(2.4), round(-2.6), round(b), round(1e15 + 0.5)]
        whole = [int(2.9), int(-2.9), int(True), int(a), bool(b), bool(0.0)]
        mixed = [True + a, a * False, True - True, a == a + 0.0, (b > 1) + (b > 2)]
        compared = [a < b, a <= b < 100, 1 < b < 3, a == 7.0, 0.5 < b, b != 2, 1 == True, 0.0 == -0.0]
        return [ints, floats, rounded, whole, mixed, compared]

"""Ints that are too large are not divided otherwise than in Python."""

from typing import List

from pulley import Workflow, workflow

INPUTS = [{"a": 10, "b": 4}, {"a": 2**53, "b": 3}, {"a": -(2**53), "b": 7}]


@workflow
class Quotient(Workflow):
    async def run(self, a: int, b: int) -> List[float]:
        xs = [a, b]
        return [a / b, (a + 0) / (b + 1 - 1), a / 4, len(xs) / b, a / len(xs), sum(xs) / len(xs)] if a < 2**53 else [a / b]

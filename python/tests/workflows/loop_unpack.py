"""Loops over pairs, triples and nested tuples."""

from typing import List

from pulley import Workflow, workflow
from toys import items

INPUTS = [{}]


@workflow
class Unpack(Workflow):
    async def run(self, names: List[str] = ["a", "b", "c"], ages: List[int] = [3, 1, 2]) -> List[str]:
        lines: List[str] = []
        for name, age in zip(names, ages):
            lines.append(f"{name}{age}")
        for i, (name, age) in enumerate(zip(names, ages)):
            lines.append(f"{i}{name}{age}")
        for a, b, c in [(1, 2, 3), (4, 5, 6)]:
            lines.append(str(a + b * c))
        for i, name in enumerate(names, start=5):
            lines.append(f"{i}-{name}")
        for k, v in {"x": 1, "y": 2}.items():
            lines.append(k * v)
        for k in {"p": 1, "q": 2}:
            lines.append(k)
        for c in "héy":
            lines.append(c)
        for n in reversed(ages):
            lines.append(str(n))
        return lines

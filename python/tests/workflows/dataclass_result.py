"""A dataclass as result, with nested ones."""

import dataclasses
from typing import List

from pulley import Workflow, workflow

@dataclasses.dataclass
class Point:
    x: int
    y: float


@dataclasses.dataclass
class Path:
    points: List[Point]
    closed: bool = False


INPUTS = [{}, {"n": 3}]


@workflow
class MakePath(Workflow):
    async def run(self, n: int = 2) -> Path:
        points: List[Point] = []
        for i in range(n):
            p = Point(x=i, y=i / 2)
            points.append(p)
        return Path(points, closed=n > 2)

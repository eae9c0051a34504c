"""Refused: a list in an object."""

import dataclasses
from typing import List

from pulley import Workflow, workflow


@dataclasses.dataclass
class Bag:
    xs: List[int]


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        bag = Bag(xs)
        xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
        return bag.xs

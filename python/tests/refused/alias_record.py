"""Refused: an object with two names."""

import dataclasses
from typing import List

from pulley import Workflow, workflow


@dataclasses.dataclass
class Bag:
    xs: List[int]


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        bag = Bag([n])
        other = bag
        other.xs = [2]  # refused: the object of other is known elsewhere; copy it first
        return bag.xs

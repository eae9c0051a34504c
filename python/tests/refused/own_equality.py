"""Refused: a class that says itself what is equal."""

import dataclasses

from pulley import Workflow, workflow


@dataclasses.dataclass
class Odd:
    n: int

    def __eq__(self, other: object) -> bool:
        return True


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return Odd(n) == Odd(2)  # refused: Odd says itself which of its objects are equal; compare their fields

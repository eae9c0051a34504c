"""Refused: an object for which an action has no hint."""

import dataclasses

from typing import List

from pulley import Workflow, action, workflow


@action
async def echo(value: List[int]) -> List[int]:
    return value


@dataclasses.dataclass
class Plain:
    n: int

    def doubled(self) -> int:
        return self.n * 2

    @property
    def half(self) -> int:
        return self.n // 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return await echo(Plain(n))  # refused: value of echo is a list of int by its hint, this is a Plain; pass what it takes

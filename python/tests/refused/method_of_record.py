"""Refused: methods of dataclasses."""

import dataclasses

from pulley import Workflow, workflow


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
        return Plain(n).doubled()  # refused: doubled of Plain runs Python; write it as a method of the workflow

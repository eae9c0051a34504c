"""Refused: a field that is not there."""

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
        return Plain(n).m  # refused: Plain has no field m; it has n

"""Refused: a field that does not count."""

import dataclasses

from pulley import Workflow, workflow


@dataclasses.dataclass
class Noted:
    n: int
    note: str = dataclasses.field(default="", compare=False)


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return Noted(n) in [Noted(2)]  # refused: Noted says itself which of its objects are equal; compare their fields

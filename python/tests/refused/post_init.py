"""Refused: classes that run Python."""

import dataclasses

from pulley import Workflow, workflow


@dataclasses.dataclass
class Checked:
    n: int

    def __post_init__(self) -> None:
        self.n += 1


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return Checked(n).n  # refused: making a Checked runs Python; make it in an action

"""Refused: a property of the workflow."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return self.size  # refused: self.size is no constant of the class; write it there

    @property
    def size(self) -> int:
        return 3

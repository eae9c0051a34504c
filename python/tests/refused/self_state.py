"""Refused: state in the workflow object."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        self.count = n  # refused: a workflow object has no state; use a variable

"""Refused: I/O."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        x = n
        print(x)  # refused: a workflow does no input or output; print in an action

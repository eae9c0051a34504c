"""Refused: an argument that is not there."""

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return await double(x=n)  # refused: double has no argument x; it has value

"""Refused: a coroutine."""

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        x = double(n)  # refused: await is missing; write await double(...)

"""Refused: arguments in a list."""

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return await double(*[n])  # refused: * in arguments is not compiled; write them one by one

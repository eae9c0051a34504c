"""Refused: awaiting a variable."""

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        x = double  # refused: no JSON value; call it

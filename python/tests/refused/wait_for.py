"""Refused: a time limit."""

import asyncio

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        t = await asyncio.wait_for(double(n), 3)  # refused: not compiled; write the time in the action

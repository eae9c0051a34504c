"""Refused: errors as results."""

import asyncio

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = await asyncio.gather(double(n), return_exceptions=True)  # refused: return_exceptions= of gather is not compiled; catch errors in a method

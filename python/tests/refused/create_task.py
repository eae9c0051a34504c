"""Refused: tasks."""

import asyncio

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        t = asyncio.create_task(double(n))  # refused: asyncio.create_task is not compiled; write await asyncio.gather

"""Durable waits, for numbers of all kinds."""

import asyncio

from pulley import Workflow, workflow

INPUTS = [{}, {"seconds": -1.5}]


@workflow
class Sleeps(Workflow):
    async def run(self, seconds: float = 0.001) -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(seconds)
        x = await asyncio.sleep(0.001)
        return str(x)

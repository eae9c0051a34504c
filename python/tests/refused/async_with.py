"""Refused: context managers."""

import asyncio

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        async with asyncio.timeout(3):  # refused: async with runs Python; do it in an action
            await noop()

"""A loop that tries again, and waits longer each time."""

import asyncio
from typing import List

from pulley import Workflow, workflow
from toys import double, fail

INPUTS = [{}, {"good": 5}, {"good": 0}]


@workflow
class Backoff(Workflow):
    async def run(self, good: int = 2, most: int = 3) -> List[int]:
        attempt = 0
        waits: List[int] = []
        while True:
            try:
                if attempt < good:
                    await fail("ValueError", f"attempt {attempt}")
                return waits + [await double(attempt)]
            except ValueError:
                attempt += 1
                if attempt > most:
                    raise
                wait = 2 ** attempt
                waits.append(wait + 10 ** (attempt - 1))
                await asyncio.sleep(wait / 10000)

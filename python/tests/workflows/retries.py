"""Actions with retries and timeouts, which plain Python knows nothing of."""

from typing import List

from pulley import Workflow, action, workflow

INPUTS = [{}]


@action(name="double", retry=3, backoff="10ms", timeout=5, retry_on=(ValueError, TimeoutError))
async def twice(value: int) -> int:
    return value * 2


@action(name="items", retry=1, backoff=0)
async def numbers(count: int) -> List[int]:
    return list(range(count))


@workflow
class Retries(Workflow):
    async def run(self) -> List[int]:
        return [await twice(x) for x in await numbers(3)]

"""What was assigned before the error is there after it."""

from typing import List

from pulley import Workflow, workflow
from toys import double, fail

INPUTS = [{}, {"n": 2}, {"n": 5}]


@workflow
class Partial(Workflow):
    async def run(self, n: int = 3) -> List[int]:
        done: List[int] = []
        at = -1
        try:
            for at in range(n):
                if at == 3:
                    await fail("ValueError", "three")
                done.append(await double(at))
        except ValueError:
            done.append(-at)
        return done

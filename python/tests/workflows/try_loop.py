"""break, continue and return out of a try."""

from typing import List

from pulley import Workflow, workflow
from toys import fail

INPUTS = [{"n": n} for n in (0, 1, 3, 6)]


@workflow
class Out(Workflow):
    async def run(self, n: int) -> List[int]:
        seen: List[int] = []
        for i in range(n):
            try:
                if i == 1:
                    await fail("ValueError", "one")
                if i == 2:
                    continue
                if i == 5:
                    return seen + [500]
                if i == 4:
                    break
                seen.append(i)
            except ValueError:
                seen.append(-1)
                continue
            seen.append(100)
        return seen

"""Returns in every place, and code that nobody reaches."""

from typing import Union

from pulley import Workflow, workflow
from toys import double

INPUTS = [{"n": n} for n in (0, 1, 2, 3)]


@workflow
class Early(Workflow):
    async def run(self, n: int) -> Union[int, str, None]:
        if n == 0:
            return
        for i in range(n):
            while True:
                if i == 1:
                    return "second"
                break
            if n == 1:
                continue
        if n == 1:
            return await double(n)
            n = 5
        raise ValueError("not reached")

"""A loop variable that is given a value before."""

from pulley import Workflow, workflow
from toys import noop

INPUTS = [{}, {"n": 0}]


@workflow
class After(Workflow):
    async def run(self, n: int = 3) -> int:
        i = -1
        for i in range(n):
            await noop()
        return i

"""A condition that runs an action, also after elif."""

from pulley import Workflow, workflow
from toys import add, double

INPUTS = [{"x": 1}, {"x": 2}, {"x": 30}]


@workflow
class Asked(Workflow):
    async def run(self, x: int) -> str:
        if await double(x) == 2:
            return "one"
        elif await add(x, 1) == 3:
            return "two"
        elif x > 20:
            return "many"
        return "?"

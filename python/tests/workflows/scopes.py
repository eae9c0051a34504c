"""Names of comprehensions, builtins as names, reserved words."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}]


@workflow
class Scopes(Workflow):
    async def run(self, x: int = 5) -> List[Any]:
        xs = [x for x in range(3)]
        ys = [[x for x in range(y)] for y in xs]
        spread = 1
        limit, parallel, fn, input, sleep = 2, 3, 4, 5, 6
        retry = spread + limit
        sleep = sleep + 1
        load = parallel + fn
        output = [load, retry, input]
        elems = sum(output) + sleep
        key = {"x": x}
        return [x, xs, ys, output, elems, key["x"]]

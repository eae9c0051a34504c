"""sum, any, all, enumerate, zip, range, reversed."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}, {"xs": []}, {"xs": [0, 0]}]


@workflow
class Aggregates(Workflow):
    async def run(self, xs: List[int] = [4, 0, -2]) -> List[Any]:
        return [
            sum(xs), sum(xs, 10), sum(x * 2 for x in xs), sum(x > 0 for x in xs), any(xs), all(xs), any(x < 0 for x in xs), all(x > -5 for x in xs),
            list(enumerate(xs, 1)) == [], [i * x for i, x in enumerate(xs)], [a + b for a, b in zip(xs, xs[1:])], list(range(3)), list(range(5, 0, -2)),
            list(reversed(xs)), len(range(2, 9)), 3 in range(5), list(range(len(xs))), [x for x in range(10) if x % 3 == 0],
        ]

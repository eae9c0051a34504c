"""Lists: slices, indices, in, comparison, repetition."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}, {"xs": [1]}, {"xs": [5, 4, 3, 2, 1, 0]}]


@workflow
class Lists(Workflow):
    async def run(self, xs: List[int] = [3, 1, 2]) -> List[Any]:
        return [
            xs[0], xs[-1], xs[1:], xs[:-1], xs[::2], xs[::-1], xs[-2:], xs[10:], xs[2:1],
            len(xs), 1 in xs, 9 not in xs, True in [True], xs * 2, 2 * xs[:1], xs + [7], [*xs, 8, *xs], list(xs), xs.copy(),
            xs < [3, 2], xs == [3, 1, 2], xs != [], [[1, "a"]] == [[1, "a"]], xs.count(1),
            [1, 2] == [1.0, 2.0], [x for x in xs if x > 1], [[y for y in range(x)] for x in xs],
        ]

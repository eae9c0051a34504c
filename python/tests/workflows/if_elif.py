"""All kinds of conditions."""

from typing import List

from pulley import Workflow, workflow

INPUTS = [{"x": -1}, {"x": 0}, {"x": 7}, {"x": 50}, {"x": 1000}]


@workflow
class Kinds(Workflow):
    async def run(self, x: int) -> List[str]:
        if x < 0:
            kind = "negative"
        elif x == 0:
            kind = "zero"
        elif 0 < x < 10 and x % 2 == 1:
            kind = "small odd"
        elif not x > 100 or x in (1000, 2000):
            kind = "other"
        else:
            kind = "large"
        size = "big" if x >= 50 else "medium" if x > 5 else "small"
        return [kind, size, str(bool(x)), str(not x)]

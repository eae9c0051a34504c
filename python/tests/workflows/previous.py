"""Variables that are None first, and something else then."""

import dataclasses
from typing import Any, Dict, List, Optional

from pulley import Workflow, workflow
from toys import double

@dataclasses.dataclass
class Best:
    x: int
    at: Optional[int] = None


INPUTS = [{}, {"xs": []}, {"xs": [3, 1, 2, 9]}]


@workflow
class Previous(Workflow):
    async def run(self, xs: List[int] = [2, 5]) -> List[Any]:
        largest, previous, text, best = None, None, None, None
        steps = []
        for i, x in enumerate(xs):
            if largest is None or x > largest:
                largest = x
            if previous is not None:
                steps.append(x - previous)
                text = f"{previous}-{x}" + str(previous + 1)
            if text is not None and text.startswith("3"):
                text = text.strip() + "!"
            if best is None or best.x < await double(x):
                best = Best(x, at=i)
            previous = x
        cache: Dict[str, int] = {}
        found = []
        for k in ["a", "bb", "a"]:
            n = cache.get(k)
            if n is None:
                n = await double(len(k))
                cache[k] = n
            found.append(n)
        return [largest, previous, text, steps, best.x if best is not None else -1, found, cache]

"""What may fail before an action is awaited fails before it, and the other way round."""

from typing import Any, Dict, List

from pulley import Workflow, workflow
from toys import double, fail

INPUTS = [{}, {"xs": [1]}, {"kind": "ValueError"}, {"xs": [], "kind": "ValueError"}]


@workflow
class Ordered(Workflow):
    async def run(self, xs: List[int] = [1, 2, 3], kind: str = "", d: Dict[str, str] = {"a": "a,b"}) -> List[Any]:
        a, b = [], {}
        a.append(xs[1] + await self.fails(kind))
        b["k"] = [xs[0], await self.fails(kind)]
        c = d["a"].replace("a", str(await double(xs[2])))
        return [a, b, c, (xs[0], await double(1))[1], {"x": xs[0], "y": await double(2)}]

    async def fails(self, kind: str) -> int:
        if kind:
            await fail(kind, "from the action")
        return 1

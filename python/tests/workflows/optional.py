"""What may be None is used after it was checked."""

from typing import Any, Dict, List, Optional

from pulley import Workflow, workflow
from toys import double

INPUTS = [{"x": None, "d": {}}, {"x": 4, "d": {"a": None}}, {"x": 0, "d": {"a": 3}}]


@workflow
class Maybe(Workflow):
    async def run(self, x: Optional[int], d: Dict[str, Optional[int]]) -> List[Any]:
        said: List[Any] = []
        if x is not None:
            said.append(x + 1)
        if x is None or x > 3:
            said.append("none or large")
        if x is not None and x < 2:
            said.append("small")
        said.append(x * 2 if x is not None else -1)
        a = d.get("a")
        if a is None:
            return said + ["no a"]
        said.append(a + 1)
        b: Optional[int] = None
        while b is None:
            b = await double(a)
        said.append(b - 1)
        said += [v + 1 for v in d.values() if v is not None]
        return said

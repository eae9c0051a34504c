"""Objects with nested objects are compared, also in lists."""

import dataclasses
from typing import Dict, List, Optional

from pulley import Workflow, workflow

@dataclasses.dataclass
class Inner:
    x: Optional[int]
    tags: List[str]


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Inner
    many: Dict[str, Inner]


INPUTS = [{}, {"x": None}]


@workflow
class RecordsEqual(Workflow):
    async def run(self, x: Optional[int] = 1) -> List[bool]:
        a = Outer(Inner(x, ["t"]), {"k": Inner(2, [])})
        b = Outer(inner=Inner(1, ["t"]), many={"k": Inner(2, [])})
        c = dataclasses.replace(b, inner=Inner(3, []))
        return [a == b, a != c, a in [c, b], [a, c] == [b, c], a.inner == b.inner]

"""and and or give one of their operands."""

from typing import Any, List, Optional

from pulley import Workflow, workflow

INPUTS = [{}, {"name": "", "n": 0, "xs": []}, {"name": "x", "n": 3, "xs": [1]}]


@workflow
class Operands(Workflow):
    async def run(self, name: str = "", n: int = 0, xs: List[int] = [], note: Optional[str] = None) -> List[Any]:
        who = name or "nobody"
        count = n and 10 // n
        first = xs and xs[0]
        text = note or name or "none"
        return [who, count, first, text, bool(xs), note is None and n == 0]

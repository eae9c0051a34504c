"""Fields of dataclasses: read, made, changed, replaced, compared."""

import dataclasses
from typing import Any, List, Optional

from pulley import Workflow, workflow
from toys import double, total

@dataclasses.dataclass
class Line:
    sku: str
    count: int = 1
    tags: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Order:
    id: int
    lines: List[Line]
    note: Optional[str] = None


INPUTS = [{}, {"order": {"id": 2, "lines": [{"sku": "a", "count": 3, "tags": ["t"]}], "note": "n"}}]


@workflow
class Fields(Workflow):
    async def run(self, order: Order = Order(1, [Line("x")])) -> List[Any]:
        line = Line("q", tags=["new"])
        line.count += 4
        line.count = line.count + len(order.lines)
        more = dataclasses.replace(line, sku="r")
        made = Order(id=order.id + 1, lines=order.lines + [line, more], note=f"{order.note}")
        total = sum(x.count for x in made.lines)
        length = len(order.note) if order.note is not None else -1
        if order.note:
            length += len(order.note)
        again = Line("q", 5 + len(order.lines), ["new"])
        result = [total, length, made.lines[-1].sku, again == line, again == more, [x.sku for x in made.lines], made.note or ""]
        return result + [await double(x.count) for x in made.lines]

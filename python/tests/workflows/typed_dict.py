"""TypedDicts and plain JSON, whose types hints say."""

from typing import Any, Dict, List, TypedDict

from pulley import Workflow, workflow
from toys import echo

class Item(TypedDict):
    name: str
    price: int


INPUTS = [{}, {"raw": {"a": [1, 2], "b": {"c": "x"}}}]


@workflow
class Raw(Workflow):
    async def run(self, raw: Any = {"a": [], "b": {"c": "y"}}, item: Item = {"name": "n", "price": 3}) -> List[Any]:
        xs: List[int] = raw["a"]
        b: Dict[str, str] = await echo(raw["b"])
        made: Item = {"name": b["c"], "price": 1}
        other = Item(name="o", price=item["price"] + 1)
        return [len(xs) + sum(xs), b["c"] + "!", item["name"] * item["price"], made, other, raw, raw == "x", raw is None]

"""Dicts: order, get, views, merging, comprehension."""

from typing import Any, Dict, List

from pulley import Workflow, workflow
from toys import items

INPUTS = [{}, {"d": {}}, {"d": {"z": 1, "a": 2, "ö": 3}}]


@workflow
class Dicts(Workflow):
    async def run(self, d: Dict[str, int] = {"b": 1, "a": 2}) -> List[Any]:
        return [
            d, list(d), list(d.keys()), list(d.values()), [[k, v] for k, v in d.items()], sorted(d), len(d), "a" in d,
            d.get("a"), d.get("zz"), d.get("zz", -1), {**d, "a": 9, **{"c": 3}}, {"a": 0, **d}, dict(d, q=1), dict(d.items()),
            {k: v * 2 for k, v in d.items()}, {k.replace("a", "b"): v for k, v in d.items()}, d == {"a": 2, "b": 1},
            dict(zip(["x", "y"], [1, 2])), dict(), d.copy(), max(d.values(), default=0), sum(d.values()), {f"k{i}": i for i in range(3)},
            sorted(d.items(), key=lambda pair: pair[1]) == [],
        ]

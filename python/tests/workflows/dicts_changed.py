"""Dicts that are changed in place."""

from typing import Any, Dict, List

from pulley import Workflow, workflow

INPUTS = [{}, {"keys": []}, {"keys": ["a", "a", "b"]}]


@workflow
class DictsChanged(Workflow):
    async def run(self, keys: List[str] = ["x", "y", "x"]) -> Dict[str, Any]:
        count: Dict[str, int] = {}
        for k in keys:
            count[k] = count.get(k, 0) + 1
        for k in keys:
            count[k] += 10
        count["a"] = 5
        count.update({"z": 1, "a": 6})
        count.update(w=2)
        groups: Dict[str, List[int]] = {}
        for i, k in enumerate(keys):
            groups[k] = groups.get(k, []) + [i]
        return {"count": count, "groups": groups, "order": list(count)}

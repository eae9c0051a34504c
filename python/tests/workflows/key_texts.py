"""KeyErrors of odd keys."""

from typing import Dict

from pulley import Workflow, workflow

INPUTS = [{"k": k} for k in ("a b", "ü", 'say "x"', "")]


@workflow
class KeyTexts(Workflow):
    async def run(self, k: str) -> int:
        d: Dict[str, int] = {"x": 1}
        if k == 'say "x"':
            return 0
        return d[k]

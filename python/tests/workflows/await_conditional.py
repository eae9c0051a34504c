"""Actions in parts of expressions that may not be evaluated."""

from typing import Any, Dict, List, Optional

from pulley import Workflow, workflow
from toys import add, double

INPUTS = [{}, {"n": 0}, {"n": 5}, {"n": 5, "note": "x"}]


@workflow
class Lazy(Workflow):
    async def run(self, n: int = 2, note: Optional[str] = None, d: Dict[str, int] = {"2": 4}) -> List[Any]:
        said: List[Any] = []
        said.append(await double(n) if n > 2 else 0)
        said.append(n > 2 and await double(n))
        said.append(n or await self.noted(said, "or"))
        if n > 1 and await double(n) == 4 or await add(n, 1) == 6:
            said.append("if")
        elif n == 0 and await double(n) == 0:
            said.append("elif")
        while n < 8 and await double(n) < 14 and n > 1:
            n += 2
        said.append(n)
        said.append(note is not None and await self.noted(said, note + "!"))
        try:
            x = d["2"] if n == 8 else d["7"] + 1
            y = n > 2 and d["none"] > 1
        except KeyError as e:
            x, y = -1, str(e) == "'none'"
        return said + [x, y]

    async def noted(self, said: List[Any], text: str) -> int:
        return len(said) + len(text) + await double(1)

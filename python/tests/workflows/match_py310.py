"""match of values, which Python 3.10 and later have."""

import enum
from typing import List, Optional

from pulley import Workflow, workflow
from toys import double

class Size(enum.Enum):
    S = "s"
    L = "l"


INPUTS = [{"x": x, "size": s} for x in (0, 1, 2, 3, 10) for s in ("s", "l")] + [{"x": 5, "size": "l", "word": w} for w in ("a", "b", None)]


@workflow
class Match(Workflow):
    async def run(self, x: int, size: Size, word: Optional[str] = "a") -> List[str]:
        said: List[str] = []
        match x:
            case 0:
                said.append("none")
            case 1 | 2:
                said.append("few")
            case 3 if size == Size.L:
                said.append("three large")
            case _:
                said.append("many")
        match size:
            case Size.S:
                said.append("small")
            case Size.L:
                said.append("large")
        match await double(x):
            case 20:
                said.append("twenty")
            case other:
                said.append(str(other + 1))
        match word:
            case "a":
                return said
            case None:
                said.append("nothing")
        return said

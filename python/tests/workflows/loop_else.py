"""else of for and while, with and without break."""

from typing import List

from pulley import Workflow, workflow
from toys import items

INPUTS = [{}, {"wanted": 2}, {"wanted": 99}]


@workflow
class Else(Workflow):
    async def run(self, wanted: int = 0) -> List[str]:
        said = []
        for x in await items(4):
            if x == wanted:
                said.append("found")
                break
        else:
            said.append("missing")
        n = 5
        while n > wanted:
            n -= 2
        else:
            said.append(f"counted to {n}")
        while True:
            n += 1
            if n > 3:
                said.append("enough")
                break
        else:
            said.append("never")
        return said

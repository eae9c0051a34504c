"""Changes of elements that are not there."""

from typing import List

from pulley import Workflow, workflow

INPUTS = [{"how": h} for h in ("set", "add", "pop", "pop0", "caught")]


@workflow
class Missing(Workflow):
    async def run(self, how: str) -> List[int]:
        xs: List[int] = []
        if how == "set":
            xs[0] = 1
        elif how == "add":
            xs[-1] += 1
        elif how == "pop":
            xs.pop()
        elif how == "pop0":
            x = xs.pop(0)
            return [x]
        try:
            xs[5] = 1
        except IndexError as e:
            xs.append(len(str(e)))
        return xs

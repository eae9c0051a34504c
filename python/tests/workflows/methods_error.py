"""An error goes through a method to who catches it, one of an expression, too."""

from typing import List

from pulley import Workflow, workflow
from toys import double

INPUTS = [{"xs": [1, 2, 3]}, {"xs": [1]}, {"xs": []}]


@workflow
class Through(Workflow):
    async def run(self, xs: List[int]) -> List[str]:
        said: List[str] = []
        try:
            said.append(str(self.second(xs)))
        except IndexError as e:
            said.append(str(e))
        try:
            said.append(str(await self.checked(xs)))
        except ValueError as e:
            said.append(str(e))
        said.append(str(self.second(xs + [7, 8])))
        return said

    def second(self, xs: List[int]) -> int:
        return xs[1]

    async def checked(self, xs: List[int]) -> int:
        if not xs:
            raise ValueError("nothing there")
        return await double(xs[0])

"""A list of another length is not unpacked."""

from typing import List

from pulley import Workflow, workflow
from toys import add

INPUTS = [{"xs": xs} for xs in ([], [1], [1, 2], [1, 2, 3])]


@workflow
class Length(Workflow):
    async def run(self, xs: List[int]) -> int:
        a, b = xs
        return await add(a, b)

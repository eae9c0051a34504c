"""An error that nobody catches ends the workflow: IndexError."""

from pulley import Workflow, workflow
from toys import items

INPUTS = [{"i": 0}, {"i": 3}, {"i": -4}, {"i": -3}]


@workflow
class Index(Workflow):
    async def run(self, i: int) -> int:
        xs = await items(3)
        return xs[i]

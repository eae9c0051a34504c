"""An error that nobody catches ends the workflow, with Python's type and text: KeyError."""

from pulley import Workflow, workflow
from toys import double

INPUTS = [{"k": "a"}, {"k": "b"}, {"k": "it's"}]


@workflow
class Key(Workflow):
    async def run(self, k: str) -> int:
        prices = {"a": 1}
        return await double(prices[k])

"""Results that nobody reads, and statements without effect."""

import asyncio

from pulley import Workflow, workflow
from toys import double, noop

INPUTS = [{}]


@workflow
class Ignored(Workflow):
    """A workflow with a docstring."""

    async def run(self) -> None:
        """run has one, too."""
        await noop()
        await double(3)
        x = 1
        x
        ...
        pass
        "text"
        await asyncio.gather(noop(), double(2))

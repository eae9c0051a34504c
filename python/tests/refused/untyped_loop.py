"""Refused: going through what is not known."""

from typing import Any

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, untyped: Any = None) -> object:
        for x in untyped:  # refused: it is not known what this is; say it with a hint
            await noop()

"""Refused: a loop variable after its loop."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        for i in range(n):
            await noop()
        return i  # refused: i may have no value here; give it one

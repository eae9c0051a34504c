"""Refused: return through finally."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        try:
            return n  # refused: this leaves a try that has a finally; keep what is wanted in a variable
        finally:
            await noop()

"""Refused: an exception as a value."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        try:
            await noop()
        except ValueError as e:
            last = e  # refused: an exception is no JSON value; write str(e) for its text

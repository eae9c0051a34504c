"""Refused: fields of exceptions."""

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
            return e.args  # refused: only its text and its class travel; write str(e)

"""Refused: an exception after its handler."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        e = None
        try:
            await noop()
        except ValueError as e:
            pass
        return e is None  # refused: e may have no value here; give it one

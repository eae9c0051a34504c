"""Refused: except without class."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        try:
            await noop()
        except:  # refused: catches the cancelling of the workflow, too; write except Exception
            pass

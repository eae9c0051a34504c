"""Refused: except BaseException."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        try:
            await noop()
        except BaseException:  # refused: BaseException is no error of an action; write except Exception
            pass

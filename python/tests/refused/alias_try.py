"""Refused: a list that has another name since the middle of a try."""

from pulley import Workflow, action, workflow


@action
async def noop() -> None:
    return None


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        ys = [0]
        try:
            ys = xs
            await noop()
        except ValueError:
            xs.append(1)  # refused: the object of xs is known elsewhere; copy it first
        return ys

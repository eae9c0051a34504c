"""Refused: a signal whose name is no text."""

from pulley import Workflow, wait_signal, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return await wait_signal(n)  # refused: the name of a signal is a text, this is an int

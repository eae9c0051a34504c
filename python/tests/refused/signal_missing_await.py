"""Refused: a wait for a signal without await."""

from pulley import Workflow, wait_signal, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        x = wait_signal("approved")  # refused: await is missing
        return n

"""Refused: a timeout of a wait for a signal that is computed."""

from pulley import Workflow, wait_signal, workflow


@workflow
class Refused(Workflow):
    async def run(self, seconds: int = 1) -> object:
        return await wait_signal("approved", timeout=seconds)  # refused: the timeout of wait_signal is a literal

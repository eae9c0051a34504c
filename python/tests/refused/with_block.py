"""Refused: context managers."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        with open("x") as f:  # refused: with runs Python; do it in an action
            pass

"""Refused: assignment in expressions."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        if (x := n + 1) > 3:  # refused: an assignment inside an expression; write it as a statement
            return x

"""Refused: True == 1."""

from typing import Any

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, untyped: Any = None) -> object:
        return (n > 1) == untyped  # refused: it is not known what one side is, and True == 1 in Python only; say it with a hint

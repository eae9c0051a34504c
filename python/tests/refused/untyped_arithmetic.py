"""Refused: arithmetic with what is not known."""

from typing import Any

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, untyped: Any = None) -> object:
        return untyped + 1  # refused: it is not known what this is; say it with a hint

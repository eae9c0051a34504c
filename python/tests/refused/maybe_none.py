"""Refused: arithmetic with None."""

from typing import Optional

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1, maybe: Optional[int] = None) -> object:
        return maybe + 1  # refused: this may be None here; check it first: if maybe is not None:

"""Refused: reversed of what Python can go through forwards only."""

from typing import List

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, xs: List[int]) -> List[int]:
        return list(reversed(reversed(xs)))  # refused: Python cannot reverse a reversed; write reversed(list(...))

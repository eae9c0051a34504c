"""Refused: keys that are no texts."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        d = {1: "a"}  # refused: the keys of a dict are texts in JSON; write str(...)

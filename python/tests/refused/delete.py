"""Refused: del."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = {"a": n}
        del xs["a"]  # refused: del is not compiled; build a new list or dict

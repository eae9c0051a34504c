"""Refused: a change inside another object."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        d = {"a": [n]}
        d["a"].append(2)  # refused: append inside another object is not compiled; take the part out, change it, and put it back
        return d

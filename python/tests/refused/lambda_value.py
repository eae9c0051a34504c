"""Refused: a function as a value."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        f = lambda x: x + 1  # refused: a lambda is no value; write it as key=
        return f(n)

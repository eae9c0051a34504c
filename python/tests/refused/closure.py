"""Refused: a function inside."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        def f(x):  # refused: a function inside a function; write it as a method of the workflow
            return x + n
        return f(1)

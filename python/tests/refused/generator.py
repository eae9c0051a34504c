"""Refused: generators."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        g = (x for x in range(n))  # refused: a generator is no JSON value; write a list comprehension

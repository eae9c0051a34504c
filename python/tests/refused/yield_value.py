"""Refused: generators."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return sum(self.numbers())

    def numbers(self) -> object:
        yield 1  # refused: a workflow is no generator; build a list and return it

"""Refused: a list of the module that is changed."""

from pulley import Workflow, workflow


MUTATED = [1]
MUTATED.append(2)


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return n + len(MUTATED)  # refused: MUTATED is changed in the file; write a constant that never changes

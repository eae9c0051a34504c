"""Refused: a method that calls itself."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return self.again(n)

    def again(self, n: int) -> int:
        if n > 0:
            return self.again(n - 1)  # refused: again calls itself; a call is expanded in place, so write a loop
        return 0

"""A workflow with many mistakes."""

from pulley import Workflow, action, workflow


@action
async def get(n: int) -> int:
    return n


@workflow
class Mistakes(Workflow):
    async def run(self, n: int) -> int:
        print(n)  # wrong
        x = await get(m=n)  # wrong
        if n > {1: 2}:  # wrong
            y = get(n)
        for i in range("a"):  # wrong
            z = 1
        with x:  # wrong
            pass
        while n:
            n = n ^ 1  # wrong
        return self.helper(n)

    def helper(self, n: int) -> int:
        return n.bit_length()  # wrong

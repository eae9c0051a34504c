"""Refused: an argument of another type."""

from pulley import Workflow, action, workflow


@action
async def double(value: int) -> int:
    return value * 2


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return await double("x")  # refused: value of double is an int by its hint, this is a str; pass what it takes

"""Refused: formats of floats with exponents."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return f"{n / 2:10.3e}"  # refused: the format '10.3e' is not compiled; format the text in an action

"""Refused: letters of other alphabets."""

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        return "straße".upper()  # refused: the letters of other alphabets change otherwise; change them in an action

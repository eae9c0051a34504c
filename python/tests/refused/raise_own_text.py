"""Refused: an exception that makes its own text."""

from pulley import Workflow, workflow


class Coded(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        raise Coded(3)  # refused: the text of a Coded is made by Python; raise an error whose class has no __init__

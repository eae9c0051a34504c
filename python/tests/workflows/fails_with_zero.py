"""An error that nobody catches ends the workflow: ZeroDivisionError."""

from typing import Union

from pulley import Workflow, workflow

INPUTS = [{"kind": k, "n": n} for k in "abc" for n in (0, 3)]


@workflow
class Zero(Workflow):
    async def run(self, kind: str, n: int) -> Union[int, float]:
        if kind == "a":
            return 7 // n
        if kind == "b":
            return 7 % n
        return 7 / n

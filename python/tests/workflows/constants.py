"""Constants of the module and of the class."""

import asyncio
from typing import Any, List

from pulley import Workflow, workflow
from toys import fail

RATES = {"a": 1, "b": 2}
NAMES = ["x", "y"]
PAIR = (1, "one")
GREETING = "hello"
TIMEOUT_S = 0.001
ERRORS = (ValueError, LookupError)

INPUTS = [{}, {"kind": "IndexError"}, {"kind": "ValueError"}]


@workflow
class Constants(Workflow):
    RETRIES: int = 2
    LEVELS = [1, 2, 3]

    async def run(self, kind: str = "") -> List[Any]:
        n, word = PAIR
        await asyncio.sleep(TIMEOUT_S)
        try:
            if kind:
                await fail(kind, "k")
        except ERRORS as e:
            return [str(e)]
        return [RATES["a"], [k for k in RATES], NAMES + [GREETING], n, word, self.RETRIES, self.LEVELS[-1], Constants.RETRIES, -RATES["b"]]

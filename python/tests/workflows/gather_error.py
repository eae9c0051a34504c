"""An error of one of several calls."""

import asyncio

from pulley import Workflow, workflow
from toys import double, fail

INPUTS = [{"kind": "ValueError"}, {"kind": "Declined"}]


@workflow
class GatherError(Workflow):
    async def run(self, kind: str) -> str:
        try:
            await asyncio.gather(double(1), fail(kind, "second"), double(3))
        except ValueError as e:
            return str(e)
        return "not reached"

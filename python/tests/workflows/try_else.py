"""else of a try runs if nothing was raised, outside of the handlers."""

from typing import List

from pulley import Workflow, workflow
from toys import fail

INPUTS = [{"kind": k} for k in ("", "first", "second")]


@workflow
class TryElse(Workflow):
    async def run(self, kind: str) -> List[str]:
        said = ["begin"]
        try:
            if kind == "first":
                await fail("ValueError", "first")
            said.append("body")
        except ValueError:
            said.append("handler")
        else:
            said.append("else")
            if kind == "second":
                await fail("ValueError", "second")
        said.append("end")
        return said

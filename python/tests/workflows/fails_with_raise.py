"""raise ends the workflow, with a class of one's own."""

from pulley import Workflow, workflow
from toys import Declined, fail

INPUTS = [{"kind": k} for k in ("declined", "value", "bare", "key", "action", "assert", "assert text", "none")]


@workflow
class Raised(Workflow):
    async def run(self, kind: str) -> str:
        if kind == "declined":
            raise Declined(f"no {kind} here")
        if kind == "value":
            raise ValueError
        if kind == "bare":
            raise RuntimeError()
        if kind == "key":
            raise KeyError("it's")
        if kind == "action":
            await fail("Odd", "from outside")
        assert kind != "assert"
        assert kind != "assert text", "with text " + kind
        return kind

"""finally runs in any case."""

from typing import List

from pulley import Workflow, workflow
from toys import fail

INPUTS = [{"kind": k} for k in ("", "ValueError", "KeyError", "ZeroDivisionError")]


@workflow
class Finally(Workflow):
    async def run(self, kind: str) -> List[str]:
        said = []
        try:
            try:
                if kind == "ZeroDivisionError":
                    said.append(str(1 // len(said)))
                elif kind:
                    await fail(kind, "broken")
                said.append("body")
            except ValueError as e:
                said.append(str(e))
            finally:
                said.append("finally")
        except (LookupError, ArithmeticError) as e:
            said.append(type(e).__name__)
        return said

"""A handler may fail, an outer one takes it; raise gives it on."""

from typing import List

from pulley import Workflow, workflow
from toys import fail

INPUTS = [{"how": h} for h in ("again", "name", "other", "none")]


@workflow
class Outer(Workflow):
    async def run(self, how: str) -> List[str]:
        said: List[str] = []
        try:
            try:
                await fail("ValueError", "inner")
            except ValueError as e:
                said.append(str(e))
                if how == "again":
                    raise
                if how == "name":
                    raise e
                if how == "other":
                    raise KeyError("outer") from e
        except LookupError as e:
            said.append("lookup " + str(e))
        except Exception as e:
            said.append("any " + str(e))
        return said

"""A handler of a base class takes the classes that derive from it, Python's own, too."""

from pulley import Workflow, workflow
from toys import Declined, fail

INPUTS = [{"kind": k} for k in ("Declined", "Fraud", "KeyError", "IndexError", "NotFound", "ZeroDivisionError", "TimeoutError", "TypeError")]


@workflow
class Bases(Workflow):
    async def run(self, kind: str) -> str:
        try:
            await fail(kind, "it broke")
        except Declined:
            return "declined"
        except LookupError:
            return "lookup"
        except ArithmeticError:
            return "arithmetic"
        except OSError:
            return "system"
        return "not reached"

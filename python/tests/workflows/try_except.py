"""The first matching handler runs, with the class and the text of the error."""

from typing import List

from pulley import Workflow, workflow
from toys import PaymentError, Fraud, fail

INPUTS = [{"kind": k} for k in ("Declined", "Fraud", "PaymentError", "ValueError", "KeyError", "RuntimeError")]


@workflow
class Handlers(Workflow):
    async def run(self, kind: str) -> List[str]:
        try:
            await fail(type=kind, message="no money")
            return ["fine"]
        except Fraud as e:
            return ["fraud", str(e), type(e).__name__]
        except PaymentError as e:
            return ["payment", f"{e}!", type(e).__name__]
        except (ValueError, LookupError) as e:
            return ["other", type(e).__name__]

"""Actions that mean what the program's own of the same names do."""

import builtins
from typing import Any, List, Optional

from pulley import action


class PaymentError(Exception):
    pass


class Declined(PaymentError):
    pass


class Fraud(Declined):
    pass


class NotFound(LookupError):
    pass


@action
async def add(a: int, b: int) -> int:
    return a + b


@action
async def double(value: int) -> int:
    return value + value


@action
async def echo(value: Any) -> Any:
    return value


@action
async def items(count: int) -> List[int]:
    return list(range(count))


@action(name="sum")
async def total(values: List[int]) -> int:
    return sum(values)


@action
async def noop() -> None:
    return None


@action
async def fail(type: str, message: str) -> Optional[int]:
    made = globals().get(type) or getattr(builtins, type, None) or builtins.type(type, (Exception,), {})
    raise made(message)

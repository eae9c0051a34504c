"""What an action may know of the attempt that it is part of."""

import contextvars
import dataclasses
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One attempt at an action.

    key is the same for every attempt and every delivery of one call in a workflow, and no other call has it: use it to
    guard what must happen once.
    """

    key: str
    number: int  # from 1: one more than the retries so far


_current: "contextvars.ContextVar[Optional[Attempt]]" = contextvars.ContextVar("pulley_attempt", default=None)


def current_attempt() -> Optional[Attempt]:
    """The attempt that the caller is part of; None where no engine runs it."""
    return _current.get()


def set_current(attempt: Attempt) -> None:
    _current.set(attempt)

"""What printed workflows import: the errors of the language's generated programs, and what their actions do.

The bodies of actions run where CPython is the reference only.  The retries, of which plain Python knows nothing, are made here.
"""

import hashlib
from typing import Any, Callable, Dict, Sequence


class Boom(Exception):
    pass


class Flaky(Exception):
    pass


class Other(Exception):
    pass


def _fail(attempt: int, type: str, message: str) -> Any:
    raise {"Boom": Boom, "Flaky": Flaky, "Other": Other}[type](message)


def _flaky(attempt: int, times: int) -> int:
    if attempt <= times:
        raise Flaky(f"attempt {attempt} of {times} that fail")
    return attempt


def _hash(attempt: int, data: str, rounds: int) -> str:
    for _ in range(rounds):
        data = hashlib.sha256(data.encode()).hexdigest()
    return data


_BODIES: Dict[str, Callable[..., Any]] = {
    "add": lambda attempt, a, b: a + b,
    "double": lambda attempt, value: value + value,
    "echo": lambda attempt, value: value,
    "fail": _fail,
    "flaky": _flaky,
    "hash": _hash,
    "items": lambda attempt, count: list(range(count)),
    "noop": lambda attempt: None,
    "sum": lambda attempt, values: sum(values),
}


def attempts(action: str, retry: int, retry_on: Sequence[str], **arguments: Any) -> Any:
    """Runs an action until it succeeds or its retries are spent.  No errors in retry_on stands for all."""
    attempt = 1
    while True:
        try:
            return _BODIES[action](attempt, **arguments)
        except Exception as e:
            if attempt > retry or retry_on and type(e).__name__ not in retry_on:
                raise
        attempt += 1

"""Signals: values that others send to an instance while it runs.

``pulley signal ID NAME --value JSON`` sends one to an instance that an engine runs.  In plain Python there is one
receiver, this process: ``send_signal`` sends to it.
"""

import asyncio
import collections
from typing import Any, Deque, Dict, Optional

from .definitions import DefinitionError, Duration, milliseconds

#: What was sent in this process and not taken, and what waits for it, by the signal's name.
_sent: Dict[str, Deque[Any]] = collections.defaultdict(collections.deque)
_waiting: Dict[str, Deque["asyncio.Future[Any]"]] = collections.defaultdict(collections.deque)


async def wait_signal(name: str, *, timeout: Optional[Duration] = None) -> Any:
    """Waits for the next signal of a name, and gives its value.

    Signals of one name are taken in the order in which they were sent, each by one wait.  A wait takes no worker and
    no memory, for as long as it lasts.  It raises TimeoutError if no signal comes within timeout, which is written there
    as a literal: seconds, or a text such as "72h".
    """
    if not isinstance(name, str) or not name:
        raise DefinitionError(f"wait_signal: the name is {name!r}; write a text such as 'approved'")
    ms = milliseconds("wait_signal", "timeout", timeout)
    if _sent[name]:
        return _sent[name].popleft()
    future: "asyncio.Future[Any]" = asyncio.get_running_loop().create_future()
    _waiting[name].append(future)
    try:
        done, _ = await asyncio.wait([future], timeout=None if ms is None else ms / 1000)
        if done:
            return future.result()
    finally:
        if future in _waiting[name]:
            _waiting[name].remove(future)
    raise TimeoutError(f'no signal "{name}" came within the timeout')


def send_signal(name: str, value: Any = None) -> None:
    """Sends a signal to the workflow that runs in this process, without any engine: the first wait of that name takes it.

    It is for tests and for plain Python.  It must be called from the thread of the event loop.
    """
    while _waiting[name]:
        future = _waiting[name].popleft()
        if not future.done():
            future.set_result(value)
            return
    _sent[name].append(value)

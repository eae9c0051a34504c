"""The worker's side of the protocol."""

import asyncio
import functools
import inspect
import os
import sys
import threading
import traceback
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ..attempt import Attempt, set_current
from ..definitions import Action
from ..values import Mismatch, Signature
from .threads import Stopped, Threads
from .wire import KIND, VERSION, TooLong, Wire, encode

#: How often the worker says that it is alive, in seconds, unless the engine asks for another time.
HEARTBEAT = 1.0

#: How much of an error's message is passed on, in characters.
MESSAGE_MOST = 16_000


class Served(NamedTuple):
    """An action and how its values travel."""

    action: Action
    signature: Signature


class Service:
    """Runs attempts as the engine asks for them, and answers each once."""

    def __init__(self, wire: Wire, served: Dict[str, Served], slots: int, name: str) -> None:
        self._wire, self._served, self._slots, self._name = wire, served, slots, name
        self._threads = Threads(slots)
        self._running: Dict[Any, "asyncio.Task[Dict[str, Any]]"] = {}
        self._out: List[bytes] = []  # answers of this turn of the loop
        self._ending = False
        self._version = VERSION

    async def serve(self) -> int:
        """Says hello, works until the engine says bye or is gone, and gives the exit status."""
        self._loop = asyncio.get_running_loop()
        self._done: "asyncio.Future[int]" = self._loop.create_future()
        self._send_now(self._hello())
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        self._quiet = threading.Event()
        beats = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        beats.start()
        status = await self._done
        self._quiet.set()
        self._flush()
        return status

    def _hello(self) -> Dict[str, Any]:
        actions = []
        for name, s in sorted(self._served.items()):
            required = [p.name for p in s.signature.parameters if p.required]
            actions.append({"name": name, "args": s.signature.names, "required": required, "open": s.signature.others is not None})
        language = "python " + ".".join(map(str, sys.version_info[:3]))
        return {
            KIND: "hello", "version": VERSION, "name": self._name, "language": language, "pid": os.getpid(),
            "slots": self._slots, "heartbeat_ms": int(HEARTBEAT * 1000), "actions": actions,
        }

    # What comes in.

    def _read(self) -> None:
        """Passes messages to the loop; of the reader's thread."""
        try:
            try:
                for batch in self._wire.batches():
                    self._loop.call_soon_threadsafe(self._take, batch)
                why = ""
            except (TooLong, OSError) as e:
                why = str(e)
            self._loop.call_soon_threadsafe(self._finish, why)
        except RuntimeError:  # the loop has ended
            pass

    def _take(self, batch: List[Dict[str, Any]]) -> None:
        for message in batch:
            kind = message[KIND]
            if kind == "run":
                self._start(message)
            elif kind == "cancel":
                task = self._running.get(message.get("id"))
                if task is not None:
                    task.cancel()
            elif kind == "bye":
                self._finish("")
            elif kind == "hello" and message.get("version") != VERSION:
                self._finish(f"the engine speaks version {message.get('version')} of the protocol, and this worker version {VERSION}")

    def _start(self, message: Dict[str, Any]) -> None:
        number = message.get("id")
        if number in self._running:
            _log(f"attempt {number} is here already; it is not begun again")
            return
        task = self._running[number] = self._loop.create_task(self._answer(message))
        task.add_done_callback(functools.partial(self._settle, number, message))

    def _finish(self, why: str) -> None:
        """No more work comes: what runs is finished, and then the worker ends."""
        if why:
            _log(why)
        self._ending = True
        self._status = 1 if why else 0
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._ending and not self._running and not self._done.done():
            self._done.set_result(self._status)

    # Attempts.

    def _settle(self, number: Any, message: Dict[str, Any], task: "asyncio.Task[Dict[str, Any]]") -> None:
        """Answers an attempt that has ended, or was cancelled before it began."""
        del self._running[number]
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        answer = task.result() if error is None else _failure(error)
        first = {KIND: answer.pop(KIND), "id": number}  # where the engine looks for them in a line that it cannot read
        try:
            line = encode({**first, **answer})
        except (ValueError, RecursionError) as e:
            kind = "LimitExceeded" if isinstance(e, TooLong) else "ResultError"
            line = encode({KIND: "error", "id": number, "type": kind, "message": f"{message.get('action')}: result: {e}"})
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(line)
        self._end_if_idle()

    async def _answer(self, message: Dict[str, Any]) -> Dict[str, Any]:
        name = message.get("action")
        served = self._served.get(name)  # type: ignore[arg-type]
        if served is None:
            return _error("UnknownAction", f"this worker has no action {name}; it has {', '.join(sorted(self._served))}")
        try:
            positional, named = served.signature.decode_arguments(message.get("args") or {})
        except Mismatch as e:
            return _error("ArgumentError", str(e))
        set_current(Attempt(key=str(message.get("key", "")), number=int(message.get("attempt") or 1)))
        value, error = await self._call(served.action, positional, named)
        if error is not None:
            _log_error(name, message, error)
            return _failure(error)
        try:
            return {KIND: "result", "value": served.signature.encode_result(value)}
        except Mismatch as e:
            return _error("ResultError", str(e))

    async def _call(self, action: Action, positional: List[Any], named: Dict[str, Any]) -> Tuple[Any, Optional[BaseException]]:
        if not inspect.iscoroutinefunction(action.function):
            value, error = await self._threads.run(functools.partial(action.function, *positional, **named))
            if error is not None or not inspect.isawaitable(value):
                return value, error
            return await _wait_for(value)  # a plain function that gives a coroutine
        return await _wait_for(action.function(*positional, **named))

    # What goes out.

    def _flush(self) -> None:
        """Writes the answers of this turn of the loop at once."""
        lines, self._out = b"".join(self._out), []
        if lines:
            self._write(lines)

    def _send_now(self, message: Dict[str, Any]) -> None:
        self._write(encode(message))

    def _write(self, lines: bytes) -> None:
        try:
            self._wire.write(lines)
        except OSError:  # the engine is gone: nobody could be told anything any more
            os._exit(1)

    def _beat(self) -> None:
        """Says that the worker is alive; of the heartbeat's thread."""
        while not self._quiet.wait(HEARTBEAT):
            self._send_now({KIND: "heartbeat", "ids": list(self._running)})


async def _wait_for(awaitable: Any) -> Tuple[Any, Optional[BaseException]]:
    try:
        return await awaitable, None
    except asyncio.CancelledError:
        raise
    except BaseException as e:  # also SystemExit: it is the attempt's, not the worker's
        return None, e


def _failure(error: BaseException) -> Dict[str, Any]:
    """The answer to an attempt that raised something."""
    if isinstance(error, (asyncio.CancelledError, Stopped)):
        return _error("Cancelled", "the attempt was cancelled")
    try:
        text = str(error)
    except Exception as e:  # whatever a user's __str__ does
        text = f"({type(error).__name__}.__str__ fails: {type(e).__name__})"
    bases = [c.__name__ for c in type(error).__mro__ if c not in (object, BaseException)]
    return _error(type(error).__name__, text, bases)


def _error(kind: str, text: str, types: Optional[List[str]] = None) -> Dict[str, Any]:
    return {KIND: "error", "type": kind, "types": types or [kind], "message": text[:MESSAGE_MOST]}


def _log_error(name: Any, message: Dict[str, Any], error: BaseException) -> None:
    """Writes what an action raised to the log, without the frames that are ours."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(os.path.dirname(os.path.dirname(__file__)) + os.sep):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(error), error, tb))
    _log(f"action {name} failed in attempt {message.get('attempt', 1)} of {message.get('key', '?')}:\n{text.rstrip()}")


def _log(text: str) -> None:
    try:
        sys.stderr.write(f"pulley: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass

"""The worker's side of the protocol."""

import asyncio
import contextvars
import functools
import inspect
import os
import sys
import threading
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Union

from ..attempt import Attempt, set_current
from ..definitions import Action
from ..values import Mismatch, Signature
from .threads import Job, Stopped, Threads
from .wire import KIND, VERSION, TooLong, Wire, encode

#: How often the worker says that it is alive, in seconds, unless the engine asks for another time.
HEARTBEAT = 1.0

#: How much of an error's message is passed on, in characters.
MESSAGE_MOST = 16_000


#: A message, or what an answer has beside the id.
Message = Dict[str, Any]


class Served(NamedTuple):
    """An action and how its values travel."""

    action: Action
    signature: Signature


class Service:
    """Runs attempts as the engine asks for them, and answers each once.

    The reader's thread gives plain functions to threads, which answer by themselves.  All else is the event loop's.
    """

    def __init__(self, wire: Wire, served: Dict[str, Served], slots: int, name: str) -> None:
        self._wire, self._served, self._slots, self._name = wire, served, slots, name
        self._threads = Threads(slots)
        self._running: Dict[Any, Union[Job, "asyncio.Task[Message]"]] = {}
        self._sending: Set[Job] = set()  # of plain functions: their answers are being written
        self._out: List[bytes] = []  # answers of this turn of the loop
        self._ending = False

    async def serve(self) -> int:
        """Says hello, works until the engine says bye or exits, and gives the exit status."""
        self._loop = asyncio.get_running_loop()
        self._done: "asyncio.Future[int]" = self._loop.create_future()
        self._write(encode(self._hello()))
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        self._quiet = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()
        status = await self._done
        self._quiet.set()
        self._flush()
        return status

    def _hello(self) -> Message:
        actions = []
        for name, s in sorted(self._served.items()):
            required = [p.name for p in s.signature.parameters if p.required]
            actions.append({"name": name, "args": s.signature.names, "required": required, "open": s.signature.others is not None})
        language = "python " + ".".join(map(str, sys.version_info[:3]))
        return {
            KIND: "hello", "version": VERSION, "name": self._name, "language": language,
            "slots": self._slots, "heartbeat_ms": int(HEARTBEAT * 1000), "actions": actions,
        }

    # What comes in.

    def _read(self) -> None:
        """Takes messages until none come any more; of the reader's thread."""
        try:
            try:
                for batch in self._wire.batches():
                    rest = [m for m in batch if not self._take_plain(m)]
                    if rest:
                        self._loop.call_soon_threadsafe(self._take, rest)
                why = ""
            except (TooLong, OSError) as e:
                why = str(e)
            self._loop.call_soon_threadsafe(self._finish, why)
        except RuntimeError:  # the loop has ended
            pass

    def _take_plain(self, message: Message) -> bool:
        """Takes a message that concerns a plain function, and reports whether it was one; of the reader's thread."""
        number = message.get("id")
        if message[KIND] == "cancel":
            job = self._running.get(number)
            if isinstance(job, Job):
                job.stop()
                return True
        elif message[KIND] == "run" and number not in self._running:
            served = self._served.get(message.get("action"))  # type: ignore[arg-type]
            if served is not None and not inspect.iscoroutinefunction(served.action.function):
                job = self._running[number] = Job(functools.partial(self._attempt_plain, number, message, served))
                self._threads.submit(job)
                return True
        return False

    def _take(self, batch: List[Message]) -> None:
        for message in batch:
            kind = message[KIND]
            if kind == "run":
                self._start(message)
            elif kind == "cancel":
                running = self._running.get(message.get("id"))
                if running is not None and not isinstance(running, Job):
                    running.cancel()
            elif kind == "bye":
                self._finish("")
            elif kind == "hello" and message.get("version") != VERSION:
                self._finish(f"the engine speaks version {message.get('version')} of the protocol, and this worker version {VERSION}")

    def _start(self, message: Message) -> None:
        number = message.get("id")
        if number in self._running:
            _log(f"attempt {number} is here already; it is not begun again")
            return
        self._watch(number, message, self._loop.create_task(self._attempt(message)))

    def _watch(self, number: Any, message: Message, task: "asyncio.Task[Message]") -> None:
        self._running[number] = task
        task.add_done_callback(functools.partial(self._settle, number, message))

    def _finish(self, why: str) -> None:
        """No more work comes: what runs is finished, and then the worker ends."""
        if why:
            _log(why)
        self._ending = True
        self._status = 1 if why else 0
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._ending and not self._running and not self._sending and not self._done.done():
            self._done.set_result(self._status)

    # Attempts at coroutines.

    async def _attempt(self, message: Message) -> Message:
        served = self._served.get(message.get("action"))  # type: ignore[arg-type]
        if served is None:
            return _error("UnknownAction", f"this worker has no action {message.get('action')}; it has {', '.join(sorted(self._served))}")
        try:
            call = _prepare(served, message)
        except Mismatch as e:
            return _error("ArgumentError", str(e))
        return await _finished(served, message, call())

    def _settle(self, number: Any, message: Message, task: "asyncio.Task[Message]") -> None:
        """Answers an attempt that has ended, or was cancelled before it began."""
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        answer = task.result() if error is None else _failure(error)
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(_line(number, message, answer))
        del self._running[number]
        self._end_if_idle()

    # Attempts at plain functions; of their thread.

    def _attempt_plain(self, number: Any, message: Message, served: Served, job: Job) -> None:
        try:
            answer = contextvars.copy_context().run(self._answer_plain, number, message, served, job)
        except BaseException as e:  # a mistake of ours
            answer = _failure(e)
        if answer is None:
            return
        # Whoever has read the answer may give the id to another attempt.
        self._sending.add(job)
        del self._running[number]
        self._write(_line(number, message, answer))
        self._sending.discard(job)
        if self._ending:
            try:
                self._loop.call_soon_threadsafe(self._end_if_idle)
            except RuntimeError:  # the loop has ended
                pass

    def _answer_plain(self, number: Any, message: Message, served: Served, job: Job) -> Optional[Message]:
        """Gives the answer; None where the function gave a coroutine, which the loop is to run."""
        try:
            call = _prepare(served, message)
        except Mismatch as e:
            return _error("ArgumentError", str(e))
        try:
            value = job.call(call)
        except BaseException as e:  # also SystemExit: it is the attempt's, not the worker's
            _log_error(message, e)
            return _failure(e)
        if inspect.isawaitable(value):
            self._loop.call_soon_threadsafe(self._await, number, message, _finished(served, message, value))
            return None
        return _result(served, value)

    def _await(self, number: Any, message: Message, finished: Any) -> None:
        self._watch(number, message, self._loop.create_task(finished))

    # What goes out.

    def _flush(self) -> None:
        """Writes the answers of this turn of the loop at once."""
        lines, self._out = b"".join(self._out), []
        if lines:
            self._write(lines)

    def _write(self, lines: bytes) -> None:
        try:
            self._wire.write(lines)
        except OSError:  # the engine has exited: nobody reads an answer any more
            os._exit(1)

    def _beat(self) -> None:
        """Says that the worker is alive; of the heartbeat's thread."""
        while not self._quiet.wait(HEARTBEAT):
            self._write(encode({KIND: "heartbeat", "ids": list(self._running)}))


def _prepare(served: Served, message: Message) -> Callable[[], Any]:
    """Gives the call that an attempt is to make; Mismatch if its arguments do not fit."""
    positional, named = served.signature.decode_arguments(message.get("args") or {})
    set_current(Attempt(key=str(message.get("key", "")), number=int(message.get("attempt") or 1)))
    return functools.partial(served.action.function, *positional, **named)


async def _finished(served: Served, message: Message, awaitable: Any) -> Message:
    """Gives the answer to an attempt at a coroutine."""
    try:
        value = await awaitable
    except asyncio.CancelledError:
        raise
    except BaseException as e:  # also SystemExit: it is the attempt's, not the worker's
        _log_error(message, e)
        return _failure(e)
    return _result(served, value)


def _result(served: Served, value: Any) -> Message:
    try:
        return {KIND: "result", "value": served.signature.encode_result(value)}
    except Mismatch as e:
        return _error("ResultError", str(e))


def _line(number: Any, message: Message, answer: Message) -> bytes:
    """An answer as its line.  The id stands where the engine looks for it in a line that it cannot read."""
    first = {KIND: answer.pop(KIND), "id": number}
    try:
        return encode({**first, **answer})
    except (ValueError, RecursionError) as e:
        kind = "LimitExceeded" if isinstance(e, TooLong) else "ResultError"
        return encode({KIND: "error", "id": number, "type": kind, "message": f"{message.get('action')}: result: {e}"})


def _failure(error: BaseException) -> Message:
    """The answer to an attempt that raised something."""
    if isinstance(error, (asyncio.CancelledError, Stopped)):
        return _error("Cancelled", "the attempt was cancelled")
    try:
        text = str(error)
    except Exception as e:  # whatever a user's __str__ does
        text = f"({type(error).__name__}.__str__ fails: {type(e).__name__})"
    bases = [c.__name__ for c in type(error).__mro__ if c not in (object, BaseException)]
    return _error(type(error).__name__, text, bases)


def _error(kind: str, text: str, types: Optional[List[str]] = None) -> Message:
    return {KIND: "error", "type": kind, "types": types or [kind], "message": text[:MESSAGE_MOST]}


def _log_error(message: Message, error: BaseException) -> None:
    """Writes what an action raised to the log, without the frames that are ours."""
    if isinstance(error, Stopped):
        return
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(os.path.dirname(os.path.dirname(__file__)) + os.sep):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(error), error, tb))
    _log(f"action {message.get('action')} failed in attempt {message.get('attempt', 1)} of {message.get('key', '?')}:\n{text.rstrip()}")


def _log(text: str) -> None:
    try:
        sys.stderr.write(f"pulley: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass

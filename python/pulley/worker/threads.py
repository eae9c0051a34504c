"""Runs plain functions in threads, so that they do not hold up the event loop."""

import asyncio
import contextvars
import ctypes
import queue
import threading
from typing import Any, Callable, NamedTuple, Optional


class Stopped(BaseException):
    """Raised in a plain function whose attempt was cancelled."""


class Outcome(NamedTuple):
    """What a function gave, or raised.  It is not raised again: a coroutine could not raise a StopIteration."""

    value: Any = None
    error: Optional[BaseException] = None


class Threads:
    """At most as many threads as there are slots; they end with the process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: "queue.SimpleQueue[_Job]" = queue.SimpleQueue()
        self._threads = 0
        self._busy = 0  # both are of the event loop's thread

    async def run(self, function: Callable[[], Any]) -> "Outcome":
        """Runs a function to its end.  Where the caller is cancelled, the function is asked to stop by an exception between two
        of its instructions; this waits until it has ended, since nothing else could be said of it."""
        job = _Job(function, asyncio.get_running_loop())
        if self._busy == self._threads and self._threads < self._most:
            threading.Thread(target=self._work, name=f"action-{self._threads}", daemon=True).start()
            self._threads += 1
        self._busy += 1
        self._jobs.put(job)
        cancelled = False
        try:
            while not job.ended.done():
                try:
                    await asyncio.shield(job.ended)
                except asyncio.CancelledError:
                    cancelled = True
                    job.stop()
        finally:
            self._busy -= 1
        if cancelled:
            raise asyncio.CancelledError
        return job.outcome

    def _work(self) -> None:
        while True:
            self._jobs.get().run()


class _Job:
    def __init__(self, function: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.ended: "asyncio.Future[None]" = loop.create_future()
        self.outcome = Outcome()
        self._function, self._loop = function, loop
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._thread: Optional[int] = None  # that runs the function now
        self._stopped = False

    def run(self) -> None:
        try:
            with self._lock:
                self._thread = threading.get_ident()
                if self._stopped:
                    raise Stopped
            self.outcome = Outcome(self._context.run(self._function))
        except BaseException as e:  # it is the attempt's, whatever it is
            self.outcome = Outcome(None, e)
        while True:
            try:
                with self._lock:
                    self._thread = None
                    _raise_in(threading.get_ident(), None)
                break
            except Stopped:  # came between the function's end and here
                continue
        self._loop.call_soon_threadsafe(self._end)

    def stop(self) -> None:
        """Raises Stopped in the function.  A call that is outside of Python, such as time.sleep, returns first."""
        with self._lock:
            self._stopped = True
            if self._thread is not None:
                _raise_in(self._thread, Stopped)

    def _end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def _raise_in(thread: int, error: Optional[type]) -> None:
    """Has an exception raised in a thread, or with None takes back one that was not raised yet."""
    what = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)

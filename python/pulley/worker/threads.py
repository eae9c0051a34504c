"""Runs plain functions in threads, so that neither they nor the event loop hold up the other."""

import ctypes
import queue
import threading
from typing import Callable, Optional


class Stopped(BaseException):
    """Raised in a plain function whose attempt was cancelled."""


class Job:
    """What a thread is to do.  work is called once; it must not raise anything."""

    def __init__(self, work: "Callable[[Job], None]") -> None:
        self.work = work
        self._lock = threading.Lock()
        self._thread: Optional[int] = None  # that is in call now
        self._stopped = False

    def call(self, function: Callable[[], object]) -> object:
        """Calls a function that stop may end; of the job's thread."""
        try:
            with self._lock:
                self._thread = threading.get_ident()
                if self._stopped:
                    raise Stopped
            return function()
        finally:
            while True:
                try:
                    with self._lock:
                        self._thread = None
                        _raise_in(threading.get_ident(), None)
                    break
                except Stopped:  # came between the function's end and here
                    continue

    def stop(self) -> None:
        """Raises Stopped in the function.  A call that is outside of Python, such as time.sleep, returns first."""
        with self._lock:
            self._stopped = True
            if self._thread is not None:
                _raise_in(self._thread, Stopped)


class Threads:
    """At most as many threads as there are slots; they end with the process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: "queue.SimpleQueue[Job]" = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._open = 0  # jobs that have not ended

    def submit(self, job: Job) -> None:
        with self._lock:
            self._open += 1
            more = self._open > self._threads and self._threads < self._most
            if more:
                self._threads += 1
        self._jobs.put(job)
        if more:
            threading.Thread(target=self._work, name=f"action-{self._threads}", daemon=True).start()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            job.work(job)
            with self._lock:
                self._open -= 1


def _raise_in(thread: int, error: Optional[type]) -> None:
    """Has an exception raised in a thread, or with None takes back one that was not raised yet."""
    what = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)

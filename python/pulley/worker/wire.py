"""Messages of the worker protocol, a line each, over two descriptors."""

import os
import threading
from typing import Any, Dict, Iterator, List

from ..jsontext import dumps, loads
from ..streams import write_all

#: The key that makes a line a message; its value is the kind.
KIND = "pulley"
VERSION = 1

#: How long a line may be, in bytes.
LINE_MOST = 8 << 20
_CHUNK = 1 << 16


class TooLong(ValueError):
    """A message that the protocol does not take."""


class Wire:
    """Sends from any thread, and reads in one."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._lock = threading.Lock()

    def batches(self) -> Iterator[List[Dict[str, Any]]]:
        """Gives the messages that came, as many at once as were there.  It ends with the input."""
        rest = b""
        while True:
            try:
                chunk = os.read(self._source, _CHUNK)
            except InterruptedError:
                continue
            if not chunk:
                return
            lines = (rest + chunk if rest else chunk).split(b"\n")
            rest = lines.pop()
            while len(rest) > _CHUNK and len(rest) <= LINE_MOST:  # a long line: not copied for each chunk
                parts = [rest]
                while True:
                    chunk = os.read(self._source, _CHUNK)
                    parts.append(chunk)
                    if not chunk or b"\n" in chunk or sum(map(len, parts)) > LINE_MOST:
                        break
                more = b"".join(parts).split(b"\n")
                rest = more.pop()
                lines += more
                if not chunk:
                    break
            if len(rest) > LINE_MOST:
                raise TooLong(f"a line of more than {LINE_MOST} bytes came")
            found = [m for m in map(_message, lines) if m is not None]
            if found:
                yield found

    def send(self, messages: List[Dict[str, Any]]) -> None:
        """Writes messages, whole.  OSError: nobody reads."""
        self.write(b"".join(map(encode, messages)))

    def write(self, lines: bytes) -> None:
        with self._lock:
            write_all(self._sink, lines)


def encode(message: Dict[str, Any]) -> bytes:
    """A message as its line; TooLong if it is too long for one."""
    line = dumps(message).encode("utf-8", "backslashreplace") + b"\n"
    if len(line) > LINE_MOST:
        raise TooLong(f"it has {len(line)} bytes; at most {LINE_MOST} can be passed on")
    return line


def _message(line: bytes) -> Any:
    """Reads a line; None if it is no message."""
    try:
        message = loads(line)
    except ValueError:
        return None
    return message if type(message) is dict and type(message.get(KIND)) is str else None

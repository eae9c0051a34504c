"""Keeps a program's standard input and output for messages, whatever the user's code prints and reads."""

import os
import sys
from typing import Tuple


def take_stdio() -> Tuple[int, int]:
    """Gives descriptors of standard input and output that no child process inherits.  From then on the descriptors 0 and 1, and
    sys.stdin and sys.stdout with them, are an empty file and standard error."""
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def read_all(descriptor: int, most: int) -> bytes:
    """Reads to the end; ValueError if that is more than most bytes."""
    parts, size = [], 0
    while True:
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > most:
            raise ValueError(f"it is longer than {most} bytes")
        parts.append(part)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes all of the data."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]

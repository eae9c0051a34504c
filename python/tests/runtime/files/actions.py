"""Actions of the worker's tests."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from typing import Any, List

from pulley import action, current_attempt

barrier = threading.Barrier(3)


@dataclass
class Item:
    id: int


class Declined(LookupError):
    pass


@action
def double(x: int) -> int:
    return 2 * x


@action(name="later.double")
async def later(item: Item, times: int = 2) -> Item:
    await asyncio.sleep(0)
    return Item(item.id * times)


@action
def fails(message: str) -> None:
    raise Declined(message)


@action
async def exits() -> None:
    sys.exit(3)


@action
def stops() -> None:
    raise StopIteration("over")


@action
def prints(text: str) -> Any:
    print(text)
    sys.stdout.write('{"pulley":"result","id":1,"value":"from print"}\n')
    os.write(1, b"to descriptor 1\n")
    subprocess.run(["echo", "from a child"], check=True)
    return sys.stdin.read()


@action
def meets() -> bool:
    barrier.wait(30)
    return True


@action
async def waits(log: str) -> None:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        open(log, "w").close()
        raise


@action
async def blocks(path: str) -> bool:
    while not os.path.exists(path):  # holds up the event loop
        time.sleep(0.01)
    return True


@action
def spins(begun: str = "") -> None:
    if begun:
        open(begun, "w").close()
    while True:
        time.sleep(0.01)


@action
def returns(what: str) -> int:
    return {"text": "x", "set": {1}}[what]  # type: ignore[return-value]


@action
def large(size: int) -> str:
    return "x" * size


@action
def who() -> List[Any]:
    attempt = current_attempt()
    assert attempt is not None
    return [attempt.key, attempt.number]


@action
def gives(x: int) -> int:
    async def later() -> int:
        if x < 0:
            raise ValueError("x is below 0")
        return 2 * x

    return later()  # type: ignore[return-value]

"""Signals in plain Python."""

import asyncio
import unittest
from typing import Any, List

from pulley import DefinitionError, Workflow, send_signal, wait_signal, workflow


@workflow
class Order(Workflow):
    async def run(self, waits: int) -> List[Any]:
        return [await wait_signal("approved") for _ in range(waits)]


class TestSignals(unittest.TestCase):
    def test_order(self) -> None:
        """Signals are taken in order, those that came before the wait, too, and each once."""

        async def play() -> List[Any]:
            send_signal("approved", 1)
            send_signal("other", "not this")
            running = asyncio.ensure_future(Order().run(3))
            await asyncio.sleep(0)
            send_signal("approved", {"by": "Ada"})
            send_signal("approved")
            return await running

        self.assertEqual(asyncio.run(play()), [1, {"by": "Ada"}, None])
        self.assertEqual(asyncio.run(self.other()), "not this")

    async def other(self) -> Any:
        return await wait_signal("other")

    def test_timeout(self) -> None:
        async def play() -> Any:
            with self.assertRaisesRegex(TimeoutError, 'no signal "late" came within the timeout'):
                await wait_signal("late", timeout="10ms")
            send_signal("late", 2)  # no wait that is over takes it
            return await wait_signal("late", timeout=60)

        self.assertEqual(asyncio.run(play()), 2)

    def test_mistakes(self) -> None:
        for name, timeout in (("", None), (7, None), ("x", "soon"), ("x", -1)):
            with self.subTest(name=name, timeout=timeout), self.assertRaises(DefinitionError):
                asyncio.run(wait_signal(name, timeout=timeout))  # type: ignore[arg-type]

"""Waits for signals that nobody sends, and that time out."""

import asyncio
from typing import List

from pulley import Workflow, wait_signal, workflow

INPUTS = [{}, {"name": "é"}]


@workflow
class Signals(Workflow):
    async def run(self, name: str = "approved") -> List[str]:
        out: List[str] = []
        try:
            by: str = await wait_signal(name, timeout="20ms")
            out.append(by)
        except TimeoutError:
            out.append("nobody")
        for who in ["a", "b"]:
            try:
                await asyncio.gather(wait_signal(name="for " + who, timeout=0.02), wait_signal("other", timeout=3600))
            except TimeoutError:
                out.append(who)
        return out

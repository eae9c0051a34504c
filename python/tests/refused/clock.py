"""Refused: the time of day."""

import time

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        started = time.time()  # refused: gives another value each time; call it in an action

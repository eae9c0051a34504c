"""Refused: another value each time."""

import random

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        x = random.random()  # refused: gives another value each time; call it in an action

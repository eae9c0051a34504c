"""Refused: what surrounds the process."""

import os

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        home = os.environ["HOME"]  # refused: no JSON form; write it in an action

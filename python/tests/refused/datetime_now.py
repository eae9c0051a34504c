"""Refused: the time of day."""

import datetime

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        now = datetime.datetime.now()  # refused: gives another value each time; call it in an action

"""Refused: functions of libraries."""

import math

from pulley import Workflow, workflow


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        x = math.sqrt(n)  # refused: math.sqrt runs Python; call it in an action

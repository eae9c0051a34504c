"""Refused: a change of what an action may have kept."""

from typing import List

from pulley import Workflow, action, workflow


@action
async def echo(value: List[int]) -> List[int]:
    return value


@workflow
class Refused(Workflow):
    async def run(self, n: int = 1) -> object:
        xs = [n]
        kept = await echo(xs)
        xs.append(2)  # refused: the object of xs is known elsewhere; copy it first
        return kept

"""A condition that runs an action each time."""

from typing import List

from pulley import Workflow, workflow
from toys import double

INPUTS = [{}, {"goal": 0}, {"goal": 100}]


@workflow
class Until(Workflow):
    async def run(self, goal: int = 10) -> List[int]:
        x, rounds = 1, 0
        while await double(x) < goal and rounds < 50:
            x *= 2
            rounds += 1
        return [x, rounds]

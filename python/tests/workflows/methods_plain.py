"""Methods and functions without actions."""

from typing import List

from pulley import Workflow, workflow

LIMIT = 4


def clipped(x: int, most: int = LIMIT) -> int:
    if x > most:
        return most
    return x


INPUTS = [{}, {"x": 9}]


@workflow
class Plain(Workflow):
    UNIT = "kg"

    async def run(self, x: int = 2) -> List[str]:
        a = self.written(clipped(x))
        b = self.written(clipped(x=x, most=10), unit="t")
        if self.is_large(x):
            return [a, b, "large"]
        return [a, b] + [self.written(i) for i in range(x)]

    def written(self, x: int, unit: str = "") -> str:
        return f"{x} {unit or self.UNIT}"

    @staticmethod
    def is_large(x: int) -> bool:
        return x > LIMIT

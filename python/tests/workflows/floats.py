"""Floats as texts, with places, and rounded to places."""

from typing import Any, List, Optional

from pulley import Workflow, workflow
from toys import total

INPUTS = [
    {},
    {"xs": [1e-5, 1.5e-7, 123456.0, 1234567.0, 123456789.123, 1e15, 1e16, 1.5e16, 123456789012345678.0, 1e22, 1e100, -2.5e15, 0.0001, 100000.0, 1000000.0, 1e6, 9007199254740993.0]},
    {"xs": [0.5, 1.5, 2.5, 0.125, 0.375, 2.675, 1.005, -0.5, -0.001, -0.0, 0.05, 0.25, 99.995, 1e10, 12345.6789, 3, -7]},
]


@workflow
class Floats(Workflow):
    async def run(self, xs: List[float] = [0.1, 0.2, 3.0, -1.25]) -> List[List[Any]]:
        rows: List[List[Any]] = []
        for x in xs:
            row: List[Any] = [str(x), f"{x}", f"{x + 0.0}|{x:.2f}|{x:.0f}|{x:.1f}|{x:.15f}|{x:.1%}"]
            if -1e12 < x < 1e12:
                row.append([round(x + 0.0, 2), round(x * 1.0, 0), round(x / 3, 4), str(round(x, 1)), f"{round(x * 1.0, 3):.3f}"])
            rows.append(row)
        total = 0.0
        for x in xs[:3]:
            total += x
        maybe: Optional[float] = xs[0] if len(xs) > 3 else None
        return rows + [[f"{total:.2f}", f"{maybe}", f"{3:.1f}", f"{len(xs) / 2:.3f}"]]

"""Errors that expressions raise are caught as in Python."""

from typing import Dict, List

from pulley import Workflow, workflow

INPUTS = [
    {"d": {"a": 1}, "xs": [1, 2], "k": "a", "i": 0, "n": 1},
    {"d": {"a": 1}, "xs": [1, 2], "k": "b", "i": 5, "n": 0},
    {"d": {}, "xs": [], "k": "", "i": -1, "n": 0},
]


@workflow
class Expressions(Workflow):
    async def run(self, d: Dict[str, int], xs: List[int], k: str, i: int, n: int) -> List[str]:
        said = []
        try:
            said.append(str(d["a"]))
        except KeyError as e:
            said.append(f"key {e}")
        try:
            said.append(str(d[k]))
        except KeyError:
            said.append("no key")
        try:
            said.append(str(xs[i]))
        except IndexError as e:
            said.append(str(e))
        try:
            said.append(str(10 // n))
        except ZeroDivisionError as e:
            said.append(str(e))
        try:
            said.append(str(10 % n))
        except ArithmeticError as e:
            said.append(type(e).__name__)
        try:
            said.append(str(max(xs)))
        except Exception as e:
            said.append(str(e))
        return said

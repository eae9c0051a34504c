"""NamedTuples: fields, indices, unpacking."""

from typing import NamedTuple

from pulley import Workflow, workflow

class Pair(NamedTuple):
    left: int
    right: str = "r"


INPUTS = [{}, {"p": [4, "z"]}]


@workflow
class NamedTuples(Workflow):
    async def run(self, p: Pair = Pair(1, "q")) -> Pair:
        q = Pair(p.left + 1)
        n, s = p
        pairs = [q, Pair(right=s, left=n)]
        return Pair(pairs[1].left + q[0], pairs[0].right + p[1])

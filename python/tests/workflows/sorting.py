"""sorted, min and max with keys, stable in both directions."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}, {"words": ["b"]}, {"words": ["ccc", "a", "bb", "aa", "Z", "ä"]}]


@workflow
class Sorting(Workflow):
    async def run(self, words: List[str] = ["bb", "a", "aa", "b"]) -> List[Any]:
        return [
            sorted(words), sorted(words, reverse=True), sorted(words, key=len), sorted(words, key=len, reverse=True),
            sorted(words, key=lambda w: (-len(w), w)), min(words), max(words), min(words, key=len), max(words, key=len),
            max(3, 1, 2), min(2.5, 1), max([len(w) for w in words]), min([], default=7), max(words, key=lambda w: w == "a"),
            [p[1] for p in sorted([(2, 1), (1, 5), (2, 0)])], [p[0] for p in sorted([(2, "b"), (1, "z"), (2, "a")])], sorted([3, 1.5, 2]), sorted(range(3), reverse=True), [len(w) for w in sorted(words, key=lambda w: w[-1:])],
        ]

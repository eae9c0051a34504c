"""Lists that are changed in place."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}, {"n": 1}, {"n": 6}]


@workflow
class Changed(Workflow):
    async def run(self, n: int = 3) -> List[Any]:
        xs = [n]
        xs.append(n * 2)
        xs.extend([1, 0])
        xs.extend(range(2))
        xs += [9, 8]
        xs.insert(1, -1)
        xs.insert(-1, 50)
        xs.insert(100, 60)
        xs[0] = 77
        xs[-1] = xs[1] + 1
        xs[2] += 5
        last = xs.pop()
        xs.pop(0)
        copy = list(xs)
        copy.sort()
        copy.reverse()
        first = copy.pop(0)
        words = ["bb", "a", "ccc"]
        words.sort(key=len, reverse=True)
        other = xs[:]
        other.clear()
        other.append(4)
        return [xs, last, copy, first, words, other]

"""f-strings of texts, ints, bools and None, with widths."""

from typing import List, Optional

from pulley import Workflow, workflow

INPUTS = [{}, {"n": -42, "name": "Zoë"}, {"n": 123456, "name": ""}]


@workflow
class Formats(Workflow):
    async def run(self, n: int = 7, name: str = "Ada", b: bool = True, note: Optional[str] = None) -> List[str]:
        return [
            f"{n} {name} {b} {note}",
            f"{n:5}|{n:05}|{n:<5}|{n:>5}|{n:d}",
            f"{name:6}|{name:>6}|{name:<6}|{name!s}",
            f"{{{n}}} {n + 1} {'x' + name}",
            f"",
            f"plain" + "concatenated " f"{n}",
            str(n) + str(b) + str(note) + str(name),
        ]

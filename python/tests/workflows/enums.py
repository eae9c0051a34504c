"""Members of enums: compared, gone through, by name and value."""

import enum
from typing import Any, List

from pulley import Workflow, workflow

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(str, enum.Enum):
    FAST = "fast"
    SLOW = "slow"


INPUTS = [{}, {"color": "blue", "level": 2}]


@workflow
class Enums(Workflow):
    DEFAULT = Color.RED

    async def run(self, color: Color = Color.RED, level: Level = Level.LOW) -> List[Any]:
        is_red = color == Color.RED
        same = color is self.DEFAULT
        names = [c.name for c in Color]
        known = color in (Color.RED, Color.BLUE)
        mode = Mode.FAST if is_red else Mode.SLOW
        if color is not Color.BLUE and level == Level.LOW:
            names.append("low")
        return [is_red, same, names, known, color.value, color.name, level.value, mode.value, mode == Mode.FAST, Color.BLUE.value]

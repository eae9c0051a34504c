"""Literals of all kinds, with odd characters."""

from typing import Any, List

from pulley import Workflow, workflow

INPUTS = [{}]


@workflow
class Literals(Workflow):
    async def run(self) -> List[Any]:
        return [
            'quote " and \' and \\ and \n\t\r',
            "\x00\x07\x7f\u2028\ufeff\U0001F600 \N{SNOWMAN} ß",
            r"raw \d",
            "{braces} %d",
            1_000_000, 0xFF, 0b101, 0o17, 123456789012345678901234567890, -5,
            1.5, 1e100, 1e-7, -0.0, 2.0, 0.1, .5,
            True, False, None, [], {}, [[]], {"a": {"b": [1]}},
        ]

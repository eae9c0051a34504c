"""JSON as it travels: one line, short, and nothing in it that only Python takes for JSON."""

import json
from typing import Any


def loads(text: Any) -> Any:
    """Reads JSON; ValueError says what is wrong."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def dumps(value: Any) -> str:
    """Writes JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")

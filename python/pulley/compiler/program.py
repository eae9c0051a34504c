"""The text of a program, with its map of positions and what else is known of the workflow."""

import inspect
from typing import Any, Dict, List

from ..definitions import Action
from ..values import HintError, Signature
from . import types as t
from .errors import translations
from .text import INDENT, name as name_of
from .unit import Made, Unit


def render(unit: Unit) -> "tuple[str, List[List[Any]]]":
    """Gives the text of the program, and for places in it those of the Python text: [line, column, file, line, column]."""
    out: List[str] = []
    positions: List[List[Any]] = []
    for made in unit.order:
        if out:
            out.append("")
        inputs = ", ".join(name_of(n) for n in made.parameters)
        out.append(f"fn {made.label}(input: [{inputs}], output: []):")
        positions.append([len(out), 1, *made.module.place(made.node)])
        for line in made.lines:
            _line(made, line, out, positions)
    return "\n".join(out) + "\n", positions


def _line(made: Made, line: Any, out: List[str], positions: List[List[Any]]) -> None:
    text = INDENT * line.depth
    number = len(out) + 1
    node = line.node or made.node
    positions.append([number, len(text) + 1, *made.module.place(node)])
    for segment, at in line.segments:
        if at is not None and at is not node and hasattr(at, "lineno"):
            entry = [number, len(text) + 1, *made.module.place(at)]
            if positions[-1][:2] == entry[:2]:
                positions[-1] = entry
            else:
                positions.append(entry)
        text += segment
    out.append(text)


def document(unit: Unit, main: Made, workflow: str) -> Dict[str, Any]:
    """What python3 -m pulley compile --json prints."""
    text, positions = render(unit)
    return {
        "program": text,
        "positions": positions,
        "workflow": workflow,
        "actions": [_action(a) for a in unit.actions.values()],
        "input": _inputs(unit),
        "errors": translations(),
    }


def _action(action: Action) -> Dict[str, Any]:
    return {
        "name": action.name,
        "args": [n for n in inspect.signature(action.function).parameters],
        "retry": action.retry,
        "backoff_ms": action.backoff_ms,
        "timeout_ms": action.timeout_ms,
        "retry_on": list(action.retry_on),
    }


def _inputs(unit: Unit) -> List[Dict[str, Any]]:
    run = inspect.getattr_static(unit.cls, "run")
    try:
        signature = Signature("run", run, skip_self=True)
    except HintError:
        return []
    rows = []
    for p in signature.parameters:
        row: Dict[str, Any] = {"name": p.name, "required": p.required, "type": schema(t.of_codec(p.codec))}
        if not p.required:
            try:
                row["default"] = p.codec.encode(p.default)
            except ValueError:
                row["required"] = True
        rows.append(row)
    return rows


def schema(kind: t.Type, depth: int = 0) -> Dict[str, Any]:
    """A type in the words of JSON Schema."""
    names = {t.NONE: "null", t.BOOL: "boolean", t.INT: "integer", t.FLOAT: "number", t.STR: "string"}
    if kind in names:
        return {"type": names[kind]}
    if depth > 8:
        return {}
    if isinstance(kind, t.List):
        return {"type": "array", "items": schema(kind.element, depth + 1)}
    if isinstance(kind, t.Tuple_):
        if kind.rest is not None:
            return {"type": "array", "items": schema(kind.rest, depth + 1)}
        return {"type": "array", "prefixItems": [schema(p, depth + 1) for p in kind.parts]}
    if isinstance(kind, t.Dict_):
        return {"type": "object", "additionalProperties": schema(kind.value, depth + 1)}
    if isinstance(kind, t.Record):
        return {"type": "object", "title": kind.cls.__name__, "properties": {n: schema(f, depth + 1) for n, f in t.fields_of(kind.cls).items()}}
    if isinstance(kind, t.Keys):
        return {"type": "object", "title": kind.cls.__name__, "properties": {n: schema(f, depth + 1) for n, (f, _) in t.keys_of(kind.cls).items()}}
    if isinstance(kind, t.Union):
        return {"anyOf": [schema(m, depth + 1) for m in kind.members]}
    if isinstance(kind, t.Enum_):
        return {"title": kind.cls.__name__}
    return {} if kind == t.ANY else {"title": str(kind)}

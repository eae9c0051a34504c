"""The form of codecs, their errors, and how these show values."""

import json
import math
from typing import Any, Callable

#: How much of a value an error shows, in characters.
SHOWN = 60


class HintError(TypeError):
    """A type hint says nothing of how its values become JSON."""


class Mismatch(ValueError):
    """A value is not what its hint says.  Containers add the place while the error passes through them."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    def within(self, step: str) -> "Mismatch":
        """Says that the value is in another one, as its .field or [element]."""
        self.path = step + self.path
        return self

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')}: {self.why}" if self.path else self.why


class Codec:
    """Writes the values of one type as JSON values, and reads them.

    name is what errors call the type.  rank orders the members of a union: those that accept few JSON values come
    before those that accept many.
    """

    name = "value"
    rank = 5

    def encode(self, value: Any) -> Any:
        """Gives the JSON value; Mismatch if it could not come back."""
        raise NotImplementedError

    def decode(self, data: Any) -> Any:
        """Gives the Python value; Mismatch if the JSON value is not one of the type."""
        raise NotImplementedError

    def owns(self, value: Any) -> bool:
        """Says whether encode accepts the value."""
        try:
            self.encode(value)
        except Mismatch:
            return False
        return True

    def wants(self, data: Any) -> Mismatch:
        """The error of a JSON value of another kind."""
        return Mismatch(f"expected {self.name}, got {show_json(data)}")

    def differs(self, value: Any, hint: str = "") -> Mismatch:
        """The error of a Python value of another type."""
        return Mismatch(f"expected {self.name}, got {show(value)}{hint}")


def show_json(data: Any) -> str:
    """A JSON value, cut short."""
    try:
        text = json.dumps(data, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(data).__name__
    return cut(text)


def show(value: Any) -> str:
    """A Python value, cut short; one that is no JSON value with its type."""
    if value is None or isinstance(value, (bool, int, float, str)) and type(value).__module__ == "builtins":
        return cut(repr(value) if not isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    try:
        text = repr(value)
    except Exception:  # whatever a user's __repr__ does
        return article(type(value).__name__)
    return f"{article(type(value).__name__)}, {cut(text)}"


def cut(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def article(name: str) -> str:
    return ("an " if name[:1] in "aeiouAEIOU" else "a ") + name


class Anything(Codec):
    """JSON values as they are."""

    name = "a JSON value"
    rank = 9

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is int:
            return value
        if kind is str:
            return checked_text(value)
        if kind is float:
            return finite(value)
        if kind is list:
            return [step(self.encode, v, f"[{i}]") for i, v in enumerate(value)]
        if kind is dict:
            out = {}
            for k, v in value.items():
                if type(k) is not str:
                    raise Mismatch(f"the key {show(k)} is no text, as keys of JSON are; give the dict a type hint, such as Dict[int, str]")
                out[checked_text(k)] = step(self.encode, v, f"[{json.dumps(k)}]")
            return out
        if kind is tuple:
            raise self.differs(value, ", which would come back as a list; write a list, or a type hint such as Tuple[int, str]")
        raise self.differs(value, f"; write a type hint that says {kind.__name__}")

    def decode(self, data: Any) -> Any:
        return data


def step(do: Callable[[Any], Any], part: Any, place: str) -> Any:
    """Does something with a part of a value; an error names its place."""
    try:
        return do(part)
    except Mismatch as e:
        raise e.within(place)


def finite(value: float) -> float:
    if not math.isfinite(value):
        raise Mismatch(f"{value!r} is not a number that JSON has; give None or a text instead")
    return value


def checked_text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Mismatch(f"the text {ascii(cut(value))} is not Unicode: it has half of a surrogate pair") from None
    return value

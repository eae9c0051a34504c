"""Codecs of what has fields: dataclasses, TypedDicts and pydantic models."""

import dataclasses
import difflib
from typing import Any, Callable, Dict, List, Optional, Tuple

from .codec import Anything, Codec, Mismatch, article, show_json, step

#: What stands for a value that is not there.
MISSING: Any = object()


@dataclasses.dataclass
class Field:
    """A field of a record."""

    name: str
    codec: Codec
    required: bool  # the JSON object must have it
    key: str = ""  # what the constructor calls it; empty: it does not take it


class Record(Codec):
    """Objects of a class whose state is its fields.

    An object is made again by calling its class.  Where that runs code of the user's (checks is true), a value is
    written only if the object that would be made of it is written in the same way.
    """

    rank = 4

    def __init__(self, cls: type) -> None:
        self.cls, self.name = cls, cls.__name__
        self.fields: List[Field] = []  # filled in by the one who makes it: a field may be of the same type
        self.checks = False
        self.extra: Optional[Callable[[Any], Dict[str, Any]]] = None  # gives the fields beyond those; None: there are none

    def takes(self, value: Any) -> bool:
        """Says whether the value is of the class, and not of one with more fields."""
        return type(value) is self.cls

    def encode(self, value: Any) -> Dict[str, Any]:
        if not self.takes(value):
            raise self.differs(value, self._subclass(value))
        out = self.write(value)
        if self.checks:
            self._check_again(out)
        return out

    def decode(self, data: Any) -> Any:
        if type(data) is not dict:
            raise self.wants(data)
        values = self.read(data)
        return self.make(values)

    def write(self, value: Any) -> Dict[str, Any]:
        out = {}
        for f in self.fields:
            part = getattr(value, f.name, MISSING)
            if part is not MISSING:
                out[f.name] = step(f.codec.encode, part, "." + f.name)
            elif f.required:
                raise Mismatch(f"its field {f.name} has no value")
        if self.extra is not None:
            for name, part in self.extra(value).items():
                out[name] = step(Anything().encode, part, "." + name)
        return out

    def read(self, data: Dict[str, Any]) -> Dict[str, Any]:
        values = {}
        for f in self.fields:
            if f.name in data:
                values[f.name] = step(f.codec.decode, data[f.name], "." + f.name)
            elif f.required:
                raise Mismatch(f"field {f.name} of {self.name} is missing in {show_json(data)}")
        unknown = [k for k in data if k not in values]
        if unknown and self.extra is None:
            raise Mismatch(f"{self.name} has no field {unknown[0]}; {meant(unknown[0], [f.name for f in self.fields])}")
        values.update((k, data[k]) for k in unknown)
        return values

    def make(self, values: Dict[str, Any]) -> Any:
        """Makes the object by calling its class."""
        keys = {f.name: f.key for f in self.fields}
        try:
            made = self.cls(**{keys.get(n, n): v for n, v in values.items() if keys.get(n, n)})
        except Exception as e:  # whatever a user's constructor does
            raise Mismatch(f"expected {self.name}, which refuses it: {first_lines(e)}") from e
        for name, value in values.items():
            if keys.get(name) == "":  # a field that the constructor does not take
                object.__setattr__(made, name, value)
        return made

    def _subclass(self, value: Any) -> str:
        if not isinstance(value, self.cls):
            return ""
        return f", of which only {article(self.name)} would come back; write {type(value).__name__} in the hint"

    def _check_again(self, out: Dict[str, Any]) -> None:
        made = self.make(self.read(out))
        again = self.write(made)
        if again != out:
            changed = [k for k in out if out[k] != again.get(k, MISSING)] or list(again)
            raise Mismatch(
                f"a {self.name} made from {show_json(out)} is another one: its constructor changes {changed[0]}; "
                f"let it leave alone what it made itself"
            )


class Keys(Codec):
    """A TypedDict."""

    rank = 5

    def __init__(self, cls: type) -> None:
        self.cls, self.name = cls, cls.__name__
        self.fields: Dict[str, Tuple[Codec, bool]] = {}  # and whether it must be there

    def encode(self, value: Any) -> Dict[str, Any]:
        if type(value) is not dict:
            raise self.differs(value)
        return self._all(value, lambda c: c.encode)

    def decode(self, data: Any) -> Dict[str, Any]:
        if type(data) is not dict:
            raise self.wants(data)
        return self._all(data, lambda c: c.decode)

    def _all(self, values: Dict[str, Any], do: Callable[[Codec], Callable[[Any], Any]]) -> Dict[str, Any]:
        out = {}
        for name, value in values.items():
            if name not in self.fields:
                raise Mismatch(f"{self.name} has no key {name!r}; {meant(str(name), list(self.fields))}")
            out[name] = step(do(self.fields[name][0]), value, "." + name)
        for name, (_, required) in self.fields.items():
            if required and name not in out:
                raise Mismatch(f"key {name} of {self.name} is missing")
        return out


def meant(word: str, known: List[str]) -> str:
    """Names the known word that was probably meant, or all of them."""
    close = difflib.get_close_matches(word, known, 1)
    if close:
        return f"did you mean {close[0]}?"
    return "it has " + ", ".join(known) if known else "it has none"


def first_lines(error: BaseException) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split()) or type(error).__name__

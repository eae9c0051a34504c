"""Codecs of lists, tuples, sets, dicts and unions."""

import json
import re
from typing import Any, Dict, List, Optional, Tuple

from .codec import Codec, Mismatch, checked_text, show, show_json, step

#: Texts that are ints as Python writes them.
_INT = re.compile(r"(0|-?[1-9]\d*)\Z")


class ListOf(Codec):
    rank = 5

    def __init__(self, element: Codec) -> None:
        self.element = element
        self.name = "list"

    def encode(self, value: Any) -> List[Any]:
        if type(value) is not list:
            raise self.differs(value, "; write list(…), or another hint" if isinstance(value, (tuple, set, frozenset, range)) else "")
        return _encode_all(self.element, value)

    def decode(self, data: Any) -> List[Any]:
        if type(data) is not list:
            raise self.wants(data)
        return _decode_all(self.element, data)


class TupleOf(Codec):
    """Tuples: of elements of their own each, or of any number of equal ones."""

    rank = 4

    def __init__(self, elements: Tuple[Codec, ...], cls: type = tuple, names: Tuple[str, ...] = (), rest: Optional[Codec] = None) -> None:
        self.elements, self.cls, self.names, self.rest = elements, cls, names, rest
        self.name = cls.__name__

    def encode(self, value: Any) -> List[Any]:
        if type(value) is not self.cls:
            raise self.differs(value)
        if self.rest is not None:
            return _encode_all(self.rest, value)
        if len(value) != len(self.elements):
            raise self.differs(value, f"; the hint says {len(self.elements)} elements")
        return [step(c.encode, v, self._step(i)) for i, (c, v) in enumerate(zip(self.elements, value))]

    def decode(self, data: Any) -> Any:
        if type(data) is not list:
            raise self.wants(data)
        if self.rest is not None:
            return tuple(_decode_all(self.rest, data))
        if len(data) != len(self.elements):
            raise Mismatch(f"expected a list of {len(self.elements)} elements, got {show_json(data)}")
        parts = [step(c.decode, v, self._step(i)) for i, (c, v) in enumerate(zip(self.elements, data))]
        return self.cls(*parts) if self.names else tuple(parts)

    def _step(self, i: int) -> str:
        return f".{self.names[i]}" if self.names else f"[{i}]"


class SetOf(Codec):
    """Sets, in the order of their elements' JSON texts, so that equal sets have equal JSON."""

    rank = 4

    def __init__(self, element: Codec, cls: type) -> None:
        self.element, self.cls, self.name = element, cls, cls.__name__

    def encode(self, value: Any) -> List[Any]:
        if type(value) is not self.cls:
            raise self.differs(value)
        return sorted(_encode_all(self.element, value), key=lambda v: json.dumps(v, sort_keys=True))

    def decode(self, data: Any) -> Any:
        if type(data) is not list:
            raise self.wants(data)
        elements = _decode_all(self.element, data)
        try:
            made = self.cls(elements)
        except TypeError as e:
            raise Mismatch(f"expected {self.name}, got {show_json(data)}: {e}") from None
        if len(made) != len(elements):
            raise Mismatch(f"expected {self.name}, got {show_json(data)}, in which an element is there twice")
        return made


class DictOf(Codec):
    rank = 6

    def __init__(self, key: Codec, value: Codec, cls: type = dict) -> None:
        self.key, self.value, self.cls, self.name = key, value, cls, cls.__name__

    def encode(self, value: Any) -> Dict[str, Any]:
        if type(value) is not self.cls:
            raise self.differs(value)
        out: Dict[str, Any] = {}
        for k, v in value.items():
            text = self._encode_key(k)
            if text in out:
                raise Mismatch(f"two of its keys become the text {show(text)}")
            out[text] = step(self.value.encode, v, f"[{show(text)}]")
        return out

    def decode(self, data: Any) -> Any:
        if type(data) is not dict:
            raise self.wants(data)
        return self.cls((self._decode_key(k), step(self.value.decode, v, f"[{show(k)}]")) for k, v in data.items())

    def _encode_key(self, key: Any) -> str:
        written = step(self.key.encode, key, f"[key {show(key)}]")
        if type(written) is str:
            return checked_text(written)
        if type(written) is int:
            return str(written)
        raise Mismatch(f"the key {show(key)} has no text, as keys of JSON are; use a list of pairs")

    def _decode_key(self, text: str) -> Any:
        try:
            return self.key.decode(text)
        except Mismatch as e:
            if _INT.match(text):
                try:
                    return self.key.decode(int(text))
                except Mismatch:
                    pass
            raise e.within(f"[key {show(text)}]")


class UnionOf(Codec):
    """One of several types.  Members that accept few JSON values are asked first, in an order that does not depend on
    how the hint is written."""

    def __init__(self, members: List[Codec]) -> None:
        self.members = sorted(members, key=lambda c: (c.rank, c.name))
        self.rank = max((c.rank for c in members), default=0)
        plain = [c.name for c in members if c.name != "None"]
        self.name = " or ".join(plain + ["None"] if len(plain) < len(members) else plain)

    def encode(self, value: Any) -> Any:
        errors = []
        for i, member in enumerate(self.members):
            try:
                written = member.encode(value)
            except Mismatch as e:
                errors.append(e)
                continue
            self._check_unmistakable(value, written, i)
            return written
        raise _closest(errors) or self.differs(value)

    def decode(self, data: Any) -> Any:
        errors = []
        for member in self.members:
            try:
                return member.decode(data)
            except Mismatch as e:
                errors.append(e)
        raise _closest(errors) or self.wants(data)

    def _check_unmistakable(self, value: Any, written: Any, chosen: int) -> None:
        """Refuses a value that an earlier member would read as something else."""
        for member in self.members[:chosen]:
            try:
                read = member.decode(written)
            except Mismatch:
                continue
            if type(read) is not type(value) or read != value:
                raise Mismatch(
                    f"{show(value)} is written as {show_json(written)}, which would come back as {show(read)}; "
                    f"write a hint in which {member.name} and {self.members[chosen].name} cannot be mistaken, such as a Literal field in each"
                )
            return


def _closest(errors: List[Mismatch]) -> Optional[Mismatch]:
    """The error of the one member that took the value for its own, and found something wrong in it."""
    inside = [e for e in errors if e.path]
    return inside[0] if len(inside) == 1 else None


def _encode_all(codec: Codec, values: Any) -> List[Any]:
    encode = codec.encode
    out = []
    for i, v in enumerate(values):
        try:
            out.append(encode(v))
        except Mismatch as e:
            raise e.within(f"[{i}]")
    return out


def _decode_all(codec: Codec, values: List[Any]) -> List[Any]:
    decode = codec.decode
    out = []
    for i, v in enumerate(values):
        try:
            out.append(decode(v))
        except Mismatch as e:
            raise e.within(f"[{i}]")
    return out

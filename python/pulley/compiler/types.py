"""What the compiler knows of values: types, made of the codecs by which values travel.

A type says which operations mean the same in Python and in the language.  ANY is a JSON value about which nothing
is known.
"""

import dataclasses
from typing import Any, Dict, Iterable, Tuple

from ..values import codec as codecs
from ..values import containers, records, scalars


class Type:
    """The base of all types."""


@dataclasses.dataclass(frozen=True)
class Scalar(Type):
    name: str

    def __str__(self) -> str:
        return self.name


NONE, BOOL, INT, FLOAT, STR = (Scalar(n) for n in ("None", "bool", "int", "float", "str"))
ANY = Scalar("value of unknown type")

#: The type of the elements of an empty list, and of what cannot be where it stands: nothing is ever done with such a value.
NEVER = Scalar("value that cannot be here")

#: The type of what was refused already: nothing else is said of it.
BROKEN = Scalar("broken")


@dataclasses.dataclass(frozen=True)
class List(Type):
    element: Type

    def __str__(self) -> str:
        return "list" if self.element in (ANY, NEVER) else f"list of {self.element}"


@dataclasses.dataclass(frozen=True)
class Dict_(Type):
    value: Type

    def __str__(self) -> str:
        return "dict"


@dataclasses.dataclass(frozen=True)
class Tuple_(Type):
    """A tuple; a list in the language.  parts are its elements' types; rest, if it is set, is that of each of any number."""

    parts: Tuple[Type, ...]
    rest: Any = None
    names: Tuple[str, ...] = ()

    def __str__(self) -> str:
        return "tuple"


@dataclasses.dataclass(frozen=True)
class Record(Type):
    """An object of a class with fields; a dict in the language."""

    cls: type

    def __str__(self) -> str:
        return self.cls.__name__


@dataclasses.dataclass(frozen=True)
class Keys(Type):
    """A TypedDict."""

    cls: type

    def __str__(self) -> str:
        return self.cls.__name__


@dataclasses.dataclass(frozen=True)
class Enum_(Type):
    """A member of an Enum; its written form in the language."""

    cls: type

    def __str__(self) -> str:
        return self.cls.__name__


@dataclasses.dataclass(frozen=True)
class Opaque(Type):
    """A value that is another one in the language than in Python, and can only be passed on."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class Series(Type):
    """What range, enumerate, zip, reversed and a dict's views give: a list in the language, but none in Python."""

    element: Type
    name: str

    def __str__(self) -> str:
        return self.name


@dataclasses.dataclass(frozen=True)
class Caught(Type):
    """The exception that an except clause binds."""

    def __str__(self) -> str:
        return "exception"


@dataclasses.dataclass(frozen=True)
class Union(Type):
    members: Tuple[Type, ...]

    def __str__(self) -> str:
        return " or ".join(str(m) for m in self.members)


def join(types: Iterable[Type]) -> Type:
    """Gives the type of a value that is of one of these."""
    members: Dict[Type, None] = {}
    for t in types:
        for m in t.members if isinstance(t, Union) else (t,):
            members[m] = None
    if BROKEN in members:
        return BROKEN
    if ANY in members:
        return ANY
    members.pop(NEVER, None)
    lists = [m for m in members if isinstance(m, List)]
    if len(lists) > 1:
        for m in lists:
            del members[m]
        members[List(join(m.element for m in lists))] = None
    dicts = [m for m in members if isinstance(m, Dict_)]
    if len(dicts) > 1:
        for m in dicts:
            del members[m]
        members[Dict_(join(m.value for m in dicts))] = None
    if FLOAT in members:
        members.pop(INT, None)  # a float may be an int: nothing that tells them apart is compiled
    if not members:
        return NEVER
    ordered = sorted(members, key=lambda m: (m == NONE, str(m)))
    return ordered[0] if len(ordered) == 1 else Union(tuple(ordered))


def without_none(t: Type) -> Type:
    """Gives the type of a value that is known not to be None: NEVER if there is no such value."""
    if t == NONE:
        return NEVER
    if isinstance(t, Union):
        return join(m for m in t.members if m != NONE)
    return t


def may_be_none(t: Type) -> bool:
    return t in (NONE, ANY) or isinstance(t, Union) and NONE in t.members


def is_number(t: Type) -> bool:
    return t in (INT, FLOAT)


def parts_of(t: Type) -> Tuple[Type, ...]:
    """The types that a value of this type holds."""
    if isinstance(t, (List, Series)):
        return (t.element,)
    if isinstance(t, Dict_):
        return (t.value,)
    if isinstance(t, Tuple_):
        return t.parts + ((t.rest,) if t.rest is not None else ())
    if isinstance(t, Union):
        return t.members
    if isinstance(t, Record):
        return tuple(fields_of(t.cls).values())
    if isinstance(t, Keys):
        return tuple(part for part, _ in keys_of(t.cls).values())
    return ()


def mutables_in(t: Type) -> Tuple[Type, ...]:
    """The types of objects that can be changed in place and that a value of this type is or holds."""
    seen, todo, found = set(), [t], []
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if isinstance(at, (List, Dict_, Record, Keys)) or at == ANY:
            found.append(at)
        todo.extend(parts_of(at))
    return tuple(found)


def may_share(a: Type, b: Type) -> bool:
    """Says whether one object that can be changed may be in a value of either type."""
    return any(_alike(x, y) for x in mutables_in(a) for y in mutables_in(b))


def _alike(a: Type, b: Type) -> bool:
    if ANY in (a, b) or a == b:
        return True
    if isinstance(a, Record) and isinstance(b, Record):
        return issubclass(a.cls, b.cls) or issubclass(b.cls, a.cls)
    if isinstance(a, List) and isinstance(b, List):
        return fits(a.element, b.element) or fits(b.element, a.element)
    if isinstance(a, (Dict_, Keys)) and isinstance(b, (Dict_, Keys)):
        return True
    return False


def fits(t: Type, wanted: Type) -> bool:
    """Says whether a value of one type may be taken for the other: ANY is taken at its word."""
    if t == wanted or ANY in (t, wanted) or t == NEVER:
        return True
    if isinstance(t, Union):
        return all(fits(m, wanted) for m in t.members)
    if isinstance(wanted, Union):
        return any(fits(t, m) for m in wanted.members)
    if t == INT and wanted == FLOAT:
        return True
    if isinstance(t, List) and isinstance(wanted, List):
        return fits(t.element, wanted.element)
    if isinstance(t, Dict_) and isinstance(wanted, Dict_):
        return fits(t.value, wanted.value)
    if isinstance(t, Dict_) and isinstance(wanted, Keys):
        return True
    if isinstance(t, Keys) and isinstance(wanted, Dict_):
        return all(fits(part, wanted.value) for part, _ in keys_of(t.cls).values())
    if isinstance(t, Tuple_) and isinstance(wanted, Tuple_):
        if wanted.rest is not None:
            return all(fits(p, wanted.rest) for p in parts_of(t))
        return t.rest is None and len(t.parts) == len(wanted.parts) and all(map(fits, t.parts, wanted.parts))
    return False


def refine(t: Type, hint: Type) -> Type:
    """Gives what is known of a value of type t for which a hint stands in the text."""
    if hint == ANY:
        return t
    if t == ANY or any(m in (ANY, NEVER) for m in _all_parts(t)):
        return hint
    return hint if fits(t, hint) else t


def lost(t: Type, wanted: Type) -> Any:
    """Gives what of a value would not come back, where a hint says less than what the value is; None if all does."""
    if isinstance(t, Union):
        return next((x for x in (lost(m, wanted) for m in t.members) if x is not None), None)
    if isinstance(wanted, Union):
        found = [lost(t, m) for m in wanted.members if fits(t, m)]
        return found[0] if found and None not in found else None
    if wanted == ANY:
        if isinstance(t, (Tuple_, Record, Enum_, Opaque)):
            return t
        return next((x for x in (lost(p, ANY) for p in parts_of(t)) if x is not None), None) if isinstance(t, (List, Dict_, Keys)) else None
    if isinstance(t, List) and isinstance(wanted, List):
        return lost(t.element, wanted.element)
    if isinstance(t, Dict_) and isinstance(wanted, Dict_):
        return lost(t.value, wanted.value)
    if isinstance(t, Tuple_) and isinstance(wanted, Tuple_):
        pairs = zip(parts_of(t), wanted.parts if wanted.rest is None else [wanted.rest] * len(parts_of(t)))
        return next((x for x in (lost(a, b) for a, b in pairs) if x is not None), None)
    return None


def _all_parts(t: Type) -> Tuple[Type, ...]:
    seen, todo = [], [t]
    while todo:
        at = todo.pop()
        if at not in seen and not isinstance(at, (Record, Keys)):
            seen.append(at)
            todo.extend(parts_of(at))
    return tuple(seen)


_SCALARS = {scalars.Null: NONE, scalars.Bool: BOOL, scalars.Int: INT, scalars.Float: FLOAT, scalars.Text: STR, codecs.Anything: ANY}
_fields: Dict[type, Dict[str, Type]] = {}
_keys: Dict[type, Dict[str, Tuple[Type, bool]]] = {}


def of_codec(c: Any) -> Type:
    """Gives the type of the values that a codec writes."""
    if type(c) in _SCALARS:
        return _SCALARS[type(c)]
    if isinstance(c, containers.ListOf):
        return List(of_codec(c.element))
    if isinstance(c, containers.TupleOf):
        rest = None if c.rest is None else of_codec(c.rest)
        return Tuple_(tuple(of_codec(e) for e in c.elements), rest, tuple(c.names))
    if isinstance(c, containers.DictOf):
        return Dict_(of_codec(c.value)) if c.cls is dict and type(c.key) is scalars.Text else Opaque("dict whose keys are no texts")
    if isinstance(c, containers.UnionOf):
        return join(of_codec(m) for m in c.members)
    if isinstance(c, records.Keys):
        if c.cls not in _keys:
            _keys[c.cls] = {}
            _keys[c.cls].update((n, (of_codec(part), required)) for n, (part, required) in c.fields.items())
        return Keys(c.cls)
    if isinstance(c, records.Record):
        return _of_record(c)
    if isinstance(c, scalars.Enumeration):
        return Enum_(c.cls)
    if isinstance(c, scalars.OneOf):
        return join(_of_literal(v) for _, v in c.written)
    if hasattr(c, "_codec") and hasattr(c, "_make"):  # an alias that may stand for itself
        return ANY
    return Opaque(c.name)


def _of_record(c: Any) -> Type:
    if type(c).__name__.startswith("Root") or c.extra is not None:
        return Opaque(c.name)
    if c.cls not in _fields:
        _fields[c.cls] = {}
        _fields[c.cls].update((f.name, of_codec(f.codec)) for f in c.fields)
    return Record(c.cls)


def _of_literal(value: Any) -> Type:
    for kind, t in ((bool, BOOL), (int, INT), (float, FLOAT), (str, STR), (type(None), NONE)):
        if type(value) is kind:
            return t
    return Enum_(type(value))


def compares_fields(cls: type) -> bool:
    """Says whether two objects of a class are equal if all their fields are."""
    method: Any = cls.__eq__
    if (getattr(method, "__module__", "") or "").startswith("pydantic"):
        return True
    made = getattr(method, "__code__", None)
    generated = made is not None and made.co_filename.startswith("<")
    return generated and dataclasses.is_dataclass(cls) and all(f.compare for f in dataclasses.fields(cls))


def fields_of(cls: type) -> Dict[str, Type]:
    """The fields of the class of a Record."""
    return _fields[cls]


def keys_of(cls: type) -> Dict[str, Tuple[Type, bool]]:
    """The keys of a TypedDict, and which of them must be there."""
    return _keys[cls]

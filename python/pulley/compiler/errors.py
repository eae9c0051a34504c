"""Exceptions: which names an except clause stands for, and what Python calls the language's own errors.

An error travels by the name of its class alone, so that ``except LookupError`` becomes a list of names: that of the class and of
those that derive from it, as far as they are Python's own, come from modules that the workflow's file
imports, or stand in it.
"""

import builtins
import os
import re
import sys
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Type

#: Modules whose errors actions raise without naming them.
_USUAL = {"builtins", "json.decoder", "asyncio.exceptions"}

#: What the engine calls an attempt that took too long.
TIMEOUT = "Timeout"


def _message(function: Callable[[], Any]) -> str:
    try:
        function()
    except Exception as e:
        return str(e)
    raise AssertionError("it did not fail")


ZERO: Any = [0]

#: What Python says, in the version that compiles.
MESSAGES = {
    "/": _message(lambda: 1 / ZERO[0]),
    "f/": _message(lambda: 1.5 / ZERO[0]),
    "//": _message(lambda: 1 // ZERO[0]),
    "%": _message(lambda: 1 % ZERO[0]),
    "list index": _message(lambda: ZERO[1]),
    "list assignment": _message(lambda: ZERO.__setitem__(1, 0)),
    "tuple index": _message(lambda: tuple(ZERO)[1]),
    "string index": _message(lambda: ""[ZERO[0]]),
    "min": _message(lambda: min([])),
    "max": _message(lambda: max([])),
    "range step": _message(lambda: range(1, 1, ZERO[0])),
    "slice step": _message(lambda: ZERO[:: ZERO[0]]),
    "empty separator": _message(lambda: "".split("")),
}


#: The key that no dict has, where ints are divided that are too large.
TOO_LARGE = "numbers above 2**53 are rounded in an action"


#: The same, for an exponent that is negative: the result is no int then.
NEGATIVE_POWER = "negative exponents are computed in an action"


def translations() -> List[Dict[str, str]]:
    """What the message of an ExpressionError that ends a run means in Python: the first pattern that matches all of it
    gives type and message, in which $1 stands for the first group."""
    rows = [
        ('key "' + NEGATIVE_POWER + '" not in dict', "ValueError", NEGATIVE_POWER),
        ('key "' + re.escape(TOO_LARGE) + '" not in dict', "OverflowError", TOO_LARGE),
        (r"real division by zero|floating-point division by zero", "ZeroDivisionError", MESSAGES["/"]),
        (r"floored division by zero", "ZeroDivisionError", MESSAGES["//"]),
        (r"integer modulo by zero", "ZeroDivisionError", MESSAGES["%"]),
        (r"(?:list )?index -?\d+ out of range.*", "IndexError", MESSAGES["list index"]),
        (r'key "([^"\\\']*)" not in dict', "KeyError", "'$1'"),
        (r'key "([^"\\]*)" not in dict', "KeyError", '"$1"'),
        (r'key (".*") not in dict', "KeyError", "$1"),
        (r"list index: .*", "IndexError", MESSAGES["list index"]),
        (r"min: argument is an empty sequence", "ValueError", MESSAGES["min"]),
        (r"max: argument is an empty sequence", "ValueError", MESSAGES["max"]),
        (r"range: step argument must not be zero|range: a step of 0 leads nowhere", "ValueError", MESSAGES["range step"]),
        (r"zero is not a valid slice step", "ValueError", MESSAGES["slice step"]),
        (r"split: empty separator", "ValueError", MESSAGES["empty separator"]),
    ]
    return [{"pattern": p, "type": t, "message": m} for p, t, m in rows]


def translate(typ: str, message: str) -> Tuple[str, str]:
    """Gives type and message of an error that ended a run as Python has them."""
    if typ == "ExpressionError":
        for row in translations():
            m = re.fullmatch(row["pattern"], message)
            if m is not None:
                return row["type"], row["message"].replace("$1", m.group(1) if m.groups() else "")
    return typ, message


def names_of(cls: Type[BaseException], modules: Iterable[str], further: Iterable[str] = ()) -> List[str]:
    """The names of the errors that ``except cls`` catches, the class's own first.

    modules are the names of those, beside Python's own, from which errors may come: they, and what is below them. further ones
    are known to those alone: their errors are caught unless another one has the name.
    """
    if cls in (Exception, BaseException):
        return ["Exception"]
    wanted = _USUAL | {m for m in modules if m and m.split(".")[0] != "pulley"}
    may_come = _of_modules(wanted)

    taken = {c.__name__ for c in _below(Exception) if c.__module__ == "builtins"}  # asyncio's TimeoutError is another one in Python 3.9
    others = {c.__name__: c for c in _below(Exception) if not issubclass(c, cls) and may_come(c) and not (c.__module__ in _USUAL and c.__name__ in taken)}
    found = set()
    for c in _below(cls):
        if not may_come(c) or c.__name__.startswith("_") or not c.__name__.isidentifier():
            continue
        other = others.get(c.__name__)
        if other is None:
            found.add(c.__name__)
        elif c is cls or not _is_library(c) and not _is_library(other):
            raise Ambiguous(f"{c.__module__} and {other.__module__} have each an error {c.__name__}, and errors travel by their names; rename one")
    comes = _of_modules(wanted | {m for m in further if m and m.split(".")[0] != "pulley"})
    known = {c.__name__ for c in _below(Exception) if not issubclass(c, cls) and comes(c)}
    found |= {c.__name__ for c in _below(cls) if comes(c) and c.__name__.isidentifier() and not c.__name__.startswith("_")} - known
    found -= {cls.__name__}
    names = [cls.__name__] + sorted(found)
    if "TimeoutError" in names:
        names.append(TIMEOUT)
    return names


def _of_modules(names: Set[str]) -> Callable[[type], bool]:
    """Says of a class whether it is of one of the modules, or of what is below one."""

    def is_of(c: type) -> bool:
        parts = c.__module__.split(".")
        return any(".".join(parts[: i + 1]) in names for i in range(len(parts)))

    return is_of


class Ambiguous(Exception):
    """Two classes of errors have one name, and only one is to be caught."""


def _is_library(cls: type) -> bool:
    """Says whether a class is Python's own, or of a package that is installed."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return not isinstance(file, str) or "site-packages" in file or os.path.dirname(os.path.realpath(os.__file__)) in os.path.realpath(file)


def _below(cls: Type[BaseException]) -> Set[Type[BaseException]]:
    found: Set[Type[BaseException]] = set()
    todo = [cls]
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo.extend(type.__subclasses__(at))
    return found


def is_plain(cls: Type[BaseException]) -> bool:
    """Says whether an exception's text is the one argument that it was made with."""
    own = [c for c in cls.__mro__ if c.__module__ != "builtins"]
    if any("__init__" in c.__dict__ or "__str__" in c.__dict__ or "__new__" in c.__dict__ for c in own):
        return False
    return not issubclass(cls, (KeyError, UnicodeError, BaseExceptionGroup_))


BaseExceptionGroup_: Any = getattr(builtins, "BaseExceptionGroup", ())


def unpack_messages(count: int) -> "tuple[tuple[str, Optional[str]], tuple[str, Optional[str]]]":
    """What Python says where too few and too many values are unpacked: what stands before and after their number, or all
    of it and None."""
    targets = "".join(f"a{i}, " for i in range(count))

    def split(length: int) -> "tuple[str, Optional[str]]":
        text = _message(lambda: exec(f"{targets} = values", {"values": [0] * length}))
        before, found, after = text.rpartition(f"got {length}")
        return (before + "got ", after) if found else (text, None)

    return split(0), split(count + 1)

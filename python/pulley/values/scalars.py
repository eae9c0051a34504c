"""Codecs of values without parts."""

import base64
import binascii
import datetime
import decimal
import enum
import pathlib
import re
import uuid
from typing import Any, Callable, Dict, List, Tuple, Type

from .codec import Anything, Codec, Mismatch, article, checked_text, finite, show_json


class Null(Codec):
    name = "None"
    rank = 0

    def encode(self, value: Any) -> Any:
        if value is not None:
            raise self.differs(value)
        return None

    def decode(self, data: Any) -> Any:
        if data is not None:
            raise self.wants(data)
        return None


class Bool(Codec):
    name = "bool"
    rank = 0

    def encode(self, value: Any) -> Any:
        if type(value) is not bool:
            raise self.differs(value)
        return value

    def decode(self, data: Any) -> Any:
        if type(data) is not bool:
            raise self.wants(data)
        return data


class Int(Codec):
    name = "int"
    rank = 6

    def encode(self, value: Any) -> Any:
        if type(value) is not int and type(value) is not bool:
            raise self.differs(value, _rather(value, int))
        return value

    def decode(self, data: Any) -> Any:
        if type(data) is not int and type(data) is not bool:
            raise self.wants(data)
        return data


class Float(Codec):
    name = "float"
    rank = 7

    def encode(self, value: Any) -> Any:
        if type(value) is float:
            return finite(value)
        if type(value) is not int:
            raise self.differs(value, _rather(value, float))
        return value

    def decode(self, data: Any) -> Any:
        if type(data) is not float and type(data) is not int:
            raise self.wants(data)
        return data


class Text(Codec):
    name = "str"
    rank = 8

    def encode(self, value: Any) -> Any:
        if type(value) is not str:
            raise self.differs(value, _rather(value, str))
        return checked_text(value)

    def decode(self, data: Any) -> Any:
        if type(data) is not str:
            raise self.wants(data)
        return data


def _rather(value: Any, base: type) -> str:
    """What to write where a value of a subclass would come back as one of its base."""
    if isinstance(value, enum.Enum):
        return f"; write {type(value).__name__} in the hint, or pass its .value"
    return f", which would come back as {article(base.__name__)}; pass {base.__name__}(…)" if isinstance(value, base) else ""


class Written(Codec):
    """Values of one class that have a text from which they can be made again."""

    rank = 3

    def __init__(self, cls: type, write: Callable[[Any], str], read: Callable[[str], Any], form: str) -> None:
        self.cls, self.write, self.read = cls, write, read
        self.name = cls.__name__
        self.form = form

    def encode(self, value: Any) -> Any:
        if not self.takes(value):
            raise self.differs(value)
        return self.write(value)

    def takes(self, value: Any) -> bool:
        return type(value) is self.cls

    def decode(self, data: Any) -> Any:
        if type(data) is str:
            try:
                return self.read(data)
            except (ValueError, ArithmeticError):
                pass
        raise Mismatch(f"{self.wants(data).why}; write {self.form}")


class _Path(Written):
    def takes(self, value: Any) -> bool:
        return isinstance(value, self.cls) and type(value) in (self.cls, pathlib.PosixPath, pathlib.WindowsPath)


def _write_datetime(value: Any) -> str:
    zone = value.tzinfo
    if getattr(value, "fold", 0):
        raise Mismatch(f"{value!r} has fold=1, which has no JSON form; pass it in UTC")
    if zone is not None and zone.utcoffset(None) is None:
        raise Mismatch(f"its zone {zone} would come back as an offset only; pass it .astimezone(timezone.utc)")
    return value.isoformat()


def _read_datetime(text: str) -> datetime.datetime:
    if "T" not in text and " " not in text:
        raise ValueError(text)
    return datetime.datetime.fromisoformat(_offset(text))


def _read_time(text: str) -> datetime.time:
    return datetime.time.fromisoformat(_offset(text))


def _offset(text: str) -> str:
    """Writes the zone Z as Python 3.9 and 3.10 read it, and fractions of a second, too."""
    text = re.sub(r"[zZ]\Z", "+00:00", text)
    return re.sub(r"\.(\d{1,6})(?=\D|\Z)", lambda m: "." + m.group(1).ljust(6, "0"), text)


_PERIOD = re.compile(r"([+-]?)P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,6}))?S)?)?\Z")


def _write_timedelta(value: datetime.timedelta) -> str:
    sign, value = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    fraction = f".{value.microseconds:06}" if value.microseconds else ""
    return f"{sign}P{value.days}DT{value.seconds}{fraction}S"


def _read_timedelta(text: str) -> datetime.timedelta:
    m = _PERIOD.match(text)
    if m is None or text[-1] in "PT":
        raise ValueError(text)
    sign, weeks, days, hours, minutes, seconds, micros = m.groups()
    span = datetime.timedelta(
        weeks=int(weeks or 0), days=int(days or 0), hours=int(hours or 0), minutes=int(minutes or 0),
        seconds=int(seconds or 0), microseconds=int((micros or "").ljust(6, "0")),
    )
    return -span if sign == "-" else span


def _write_decimal(value: decimal.Decimal) -> str:
    if not value.is_finite():
        raise Mismatch(f"{value!r} is not a number that JSON has; give None or a text instead")
    return str(value)


def _read_decimal(text: str) -> decimal.Decimal:
    value = decimal.Decimal(text)
    if not value.is_finite():
        raise ValueError(text)
    return value


def _read_bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as e:
        raise ValueError(str(e)) from None


#: Codecs of classes that are neither JSON's own nor have parts.
WRITTEN: Dict[type, Codec] = {
    datetime.datetime: Written(datetime.datetime, _write_datetime, _read_datetime, 'a text such as "2024-05-01T12:30:00+00:00"'),
    datetime.date: Written(datetime.date, datetime.date.isoformat, datetime.date.fromisoformat, 'a text such as "2024-05-01"'),
    datetime.time: Written(datetime.time, _write_datetime, _read_time, 'a text such as "12:30:00"'),
    datetime.timedelta: Written(datetime.timedelta, _write_timedelta, _read_timedelta, 'a text such as "P1DT2.5S"'),
    decimal.Decimal: Written(decimal.Decimal, _write_decimal, _read_decimal, 'a text such as "12.50"'),
    uuid.UUID: Written(uuid.UUID, str, uuid.UUID, 'a text such as "12345678-1234-5678-1234-567812345678"'),
    bytes: Written(bytes, lambda v: base64.b64encode(v).decode(), _read_bytes, "base64"),
}
for _cls in (pathlib.Path, pathlib.PurePath, pathlib.PosixPath, pathlib.PurePosixPath):
    WRITTEN[_cls] = _Path(_cls, str, _cls, "a text")

#: Codecs of JSON's own values.
NATIVE: Dict[Any, Codec] = {
    None: Null(), type(None): Null(), bool: Bool(), int: Int(), float: Float(), str: Text(), object: Anything(), Any: Anything(),
}


class Enumeration(Codec):
    """Members of an Enum: their values, or their names if some value is not a JSON scalar."""

    rank = 2

    def __init__(self, cls: Type[enum.Enum]) -> None:
        self.cls, self.name = cls, cls.__name__
        by_value = all(m.value is None or type(m.value) in (bool, int, float, str) for m in cls)
        self.written = {m.name: m.value if by_value else m.name for m in cls}
        self.members = {(type(w), w): cls[n] for n, w in self.written.items()}

    def encode(self, value: Any) -> Any:
        if type(value) is not self.cls:
            raise self.differs(value)
        return self.written[value.name]

    def decode(self, data: Any) -> Any:
        try:
            return self.members[type(data), data]
        except (KeyError, TypeError):
            raise Mismatch(f"expected one of {_list(list(self.written.values()))}, got {show_json(data)}") from None


class Flags(Codec):
    """Members of a Flag and what they are combined to: an int."""

    rank = 2

    def __init__(self, cls: Type[enum.Flag]) -> None:
        self.cls, self.name = cls, cls.__name__

    def encode(self, value: Any) -> Any:
        if type(value) is not self.cls:
            raise self.differs(value)
        return value.value

    def decode(self, data: Any) -> Any:
        if type(data) is int:
            try:
                return self.cls(data)
            except ValueError:
                pass
        raise self.wants(data)


class OneOf(Codec):
    """A Literal."""

    rank = 1

    def __init__(self, values: Tuple[Any, ...], parts: Dict[type, Codec]) -> None:
        pairs = [(v, parts[type(v)].encode(v)) for v in values]
        self.written = {(type(v), v): w for v, w in pairs}
        self.read = {(type(w), w): v for v, w in pairs}
        self.name = "one of " + _list([w for _, w in pairs])

    def encode(self, value: Any) -> Any:
        return self._look_up(self.written, value, self.differs)

    def decode(self, data: Any) -> Any:
        return self._look_up(self.read, data, self.wants)

    def _look_up(self, table: Dict[Any, Any], key: Any, error: Callable[[Any], Mismatch]) -> Any:
        try:
            return table[type(key), key]
        except (KeyError, TypeError):
            raise error(key) from None


def _list(values: List[Any], most: int = 10) -> str:
    texts = [show_json(v) for v in values[:most]]
    return ", ".join(texts + ["…"] if len(values) > len(texts) else texts)

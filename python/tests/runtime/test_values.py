"""Values become JSON and come back as they were, or are refused with their place."""

import collections
import datetime
import decimal
import enum
import json
import pathlib
import typing
import unittest
import uuid
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Generic, List, Literal, NamedTuple, NewType, Optional, Sequence, Set, Tuple, TypedDict, TypeVar, Union

from pulley.values import HintError, Mismatch, Signature, codec_of
from pulley.values.hints import Namespace

T = TypeVar("T")
UserID = NewType("UserID", int)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Shape(enum.Enum):
    POINT = (0, 0)
    LINE = (0, 1)


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Movie(TypedDict):
    title: str
    year: int


class Extended(Movie, total=False):
    rating: float


@dataclass(frozen=True)
class Item:
    id: int
    value: str = "none"


@dataclass
class Order:
    items: List[Item]
    when: Optional[datetime.datetime] = None
    tags: Dict[str, Color] = field(default_factory=dict)
    total: int = field(init=False, default=7)


@dataclass
class Tree:
    label: str
    children: "List[Tree]" = field(default_factory=list)


@dataclass
class Box(Generic[T]):
    content: T


@dataclass
class Circle:
    kind: Literal["circle"]
    size: int


@dataclass
class Square:
    kind: Literal["square"]
    size: int


@dataclass
class One:
    size: int


@dataclass
class Two:
    size: int


@dataclass(frozen=True)
class Sub(Item):
    more: int = 1


@dataclass
class Steady:
    text: str

    def __post_init__(self):
        self.text = self.text.upper()


@dataclass
class Growing:
    n: int

    def __post_init__(self):
        self.n += 1


@dataclass
class Picky:
    n: int

    def __post_init__(self):
        if self.n < 0:
            raise ValueError("n is below 0")


def total_of_order():
    order = Order([Item(1)], datetime.datetime(2024, 5, 1, 12, 30, 0, 5, datetime.timezone.utc), {"a": Color.RED})
    order.total = 9
    return order


UTC2 = datetime.timezone(datetime.timedelta(hours=2, minutes=30))

ROUND_TRIPS = [
    (None, None, None),
    (bool, True, True),
    (int, 10**30, 10**30),
    (int, True, True),
    (float, 1.0, 1.0),
    (float, 3, 3),
    (str, "é\u2028\x00", "é\u2028\x00"),
    (Any, {"a": [1, 1.5, None, True, "x"]}, {"a": [1, 1.5, None, True, "x"]}),
    (list, [1, [2]], [1, [2]]),
    (dict, {"a": {"b": 1}}, {"a": {"b": 1}}),
    (List[int], [1, 2], [1, 2]),
    (Sequence[int], [1], [1]),
    (tuple, (1, "a"), [1, "a"]),
    (Tuple[int, str], (1, "a"), [1, "a"]),
    (Tuple[int, ...], (1, 2, 3), [1, 2, 3]),
    (Tuple[()], (), []),
    (Set[int], {10, 9}, [10, 9]),
    (FrozenSet[str], frozenset({"b", "a"}), ["a", "b"]),
    (Dict[str, List[int]], {"b": [1], "a": []}, {"b": [1], "a": []}),
    (Dict[int, str], {1: "x", -2: "y"}, {"1": "x", "-2": "y"}),
    (Dict[Color, int], {Color.RED: 1}, {"red": 1}),
    (Dict[Level, int], {Level.LOW: 1}, {"1": 1}),
    (Dict[datetime.date, int], {datetime.date(2024, 1, 2): 1}, {"2024-01-02": 1}),
    ("collections.OrderedDict", collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (Color, Color.BLUE, "blue"),
    (Level, Level.HIGH, 2),
    (Shape, Shape.LINE, "LINE"),
    (Mode, Mode.READ | Mode.WRITE, 3),
    (Literal["a", 1, True, None], True, True),
    (Literal[Color.RED], Color.RED, "red"),
    (Optional[int], None, None),
    (Optional[Item], Item(1, "x"), {"id": 1, "value": "x"}),
    (Union[int, str], "1", "1"),
    (Union[int, float], 1.5, 1.5),
    (Union[Circle, Square], Square("square", 2), {"kind": "square", "size": 2}),
    (Union[List[int], Dict[str, int]], {"a": 1}, {"a": 1}),
    (Union[datetime.date, int], datetime.date(2024, 1, 1), "2024-01-01"),
    (UserID, 5, 5),
    (Point, Point(1), [1, 0.5]),
    (Movie, {"title": "x", "year": 1}, {"title": "x", "year": 1}),
    (Extended, {"title": "x", "year": 1}, {"title": "x", "year": 1}),
    (Extended, {"title": "x", "year": 1, "rating": 2.0}, {"title": "x", "year": 1, "rating": 2.0}),
    (Item, Item(3), {"id": 3, "value": "none"}),
    (Order, total_of_order(), {"items": [{"id": 1, "value": "none"}], "when": "2024-05-01T12:30:00.000005+00:00", "tags": {"a": "red"}, "total": 9}),
    (Tree, Tree("a", [Tree("b")]), {"label": "a", "children": [{"label": "b", "children": []}]}),
    (Box[int], Box(1), {"content": 1}),
    (Box[List[Item]], Box([Item(1)]), {"content": [{"id": 1, "value": "none"}]}),
    (Sub, Sub(1, "x", 2), {"id": 1, "value": "x", "more": 2}),
    (Steady, Steady("ab"), {"text": "AB"}),
    (Picky, Picky(1), {"n": 1}),
    (datetime.datetime, datetime.datetime(2024, 5, 1, tzinfo=UTC2), "2024-05-01T00:00:00+02:30"),
    (datetime.datetime, datetime.datetime(2024, 5, 1), "2024-05-01T00:00:00"),
    (datetime.date, datetime.date(2024, 5, 1), "2024-05-01"),
    (datetime.time, datetime.time(1, 2, 3, 4), "01:02:03.000004"),
    (datetime.timedelta, datetime.timedelta(days=1, seconds=2, microseconds=3), "P1DT2.000003S"),
    (datetime.timedelta, -datetime.timedelta(microseconds=1), "-P0DT0.000001S"),
    (decimal.Decimal, decimal.Decimal("1.50"), "1.50"),
    (uuid.UUID, uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (bytes, b"\x00\xff", "AP8="),
    (pathlib.Path, pathlib.Path("a/b"), "a/b"),
]

#: What is refused when it is written, and what the error says.
UNWRITTEN = [
    (int, "x", 'expected int, got "x"'),
    (int, 1.0, "expected int, got 1.0"),
    (int, Level.LOW, "expected int, got a Level, .*; write Level in the hint, or pass its .value"),
    (float, float("nan"), "nan is not a number that JSON has"),
    (float, True, "expected float, got True"),
    (str, "\ud800", "half of a surrogate"),
    (bool, 1, "expected bool, got 1"),
    (Any, (1, 2), "would come back as a list"),
    (Any, {1, 2}, "write a type hint that says set"),
    (Any, [Item(1)], r"\[0\]: expected a JSON value, got an Item, .*write a type hint that says Item"),
    (Any, {1: 2}, "the key 1 is no text"),
    (list, (1,), r"write list\(…\)"),
    (List[int], [1, "x"], r'\[1\]: expected int, got "x"'),
    (Tuple[int, str], (1,), "the hint says 2 elements"),
    (Dict[Tuple[int, int], str], {(1, 2): "x"}, "has no text"),
    (Item, Sub(1), "of which only an Item would come back; write Sub in the hint"),
    (Item, {"id": 1}, "expected Item, got a dict"),
    (Item, Item("x"), 'id: expected int, got "x"'),
    (Order, Order([Item(1), Item(None)]), r"items\[1\].id: expected int, got None"),
    (Growing, Growing(1), "its constructor changes n"),
    (Union[One, Two], Two(1), "would come back as an? One"),
    (Union[datetime.date, str], "2024-01-01", "would come back as a date"),
    (Union[int, str], 1.5, "expected int or str, got 1.5"),
    (Optional[Item], Item("x"), "id: expected int"),
    (Color, "red", 'expected Color, got "red"'),
    (Literal["a"], "b", 'expected one of "a", got "b"'),
    (datetime.date, datetime.datetime(2024, 1, 1), "expected date, got a datetime"),
    (decimal.Decimal, decimal.Decimal("nan"), "not a number"),
    (Movie, {"title": "x"}, "key year of Movie is missing"),
    (Movie, {"title": "x", "year": 1, "yaer": 2}, "Movie has no key 'yaer'; did you mean year?"),
    (Set[Any], {(1, 2)}, "come back as a list"),
]

#: What is refused when it is read.
UNREAD = [
    (int, "x", 'expected int, got "x"'),
    (int, 1.5, "expected int, got 1.5"),
    (str, None, "expected str, got null"),
    (None, 0, "expected None, got 0"),
    (Item, {}, "field id of Item is missing"),
    (Item, {"id": 1, "valeu": 2}, "Item has no field valeu; did you mean value?"),
    (Item, [1], r"expected Item, got \[1\]"),
    (Order, {"items": [{"id": 1}, {"id": "2"}]}, r'items\[1\].id: expected int, got "2"'),
    (Order, {"items": [], "tags": {"a": "green"}}, r'tags\["a"\]: expected one of "red", "blue", got "green"'),
    (Picky, {"n": -1}, "expected Picky, which refuses it: n is below 0"),
    (datetime.datetime, "soon", 'expected datetime, got "soon"; write a text such as'),
    (datetime.timedelta, "P", "expected timedelta"),
    (datetime.date, 3, "expected date, got 3"),
    (decimal.Decimal, "1,5", "expected Decimal"),
    (bytes, "é", "expected bytes"),
    (uuid.UUID, "x", "expected UUID"),
    (Dict[int, str], {"x": "y"}, r'\[key "x"\]: expected int'),
    (Set[int], [1, 1], "in which an element is there twice"),
    (Tuple[int, str], [1], "expected a list of 2 elements"),
    (Optional[int], "x", 'expected int or None, got "x"'),
    (Mode, 8, "expected Mode, got 8"),
    (Literal[1], True, "expected one of 1, got true"),
]


date = datetime.date


@dataclass
class Named:
    date: "Optional[date]" = None


class ValuesTest(unittest.TestCase):
    def test_round_trips(self):
        where = Namespace({"collections": collections}, {}, {})
        for hint, value, written in ROUND_TRIPS:
            with self.subTest(hint=hint, value=value):
                codec = codec_of(hint, where)
                got = codec.encode(value)
                self.assertEqual(json.dumps(got), json.dumps(written))
                back = codec.decode(json.loads(json.dumps(got)))
                self.assertEqual(back, value)
                self.assertIs(type(back), type(value))

    def test_refused_when_written(self):
        for hint, value, says in UNWRITTEN:
            with self.subTest(hint=hint, value=value):
                with self.assertRaisesRegex(Mismatch, says):
                    codec_of(hint).encode(value)

    def test_refused_when_read(self):
        for hint, data, says in UNREAD:
            with self.subTest(hint=hint, data=data):
                with self.assertRaisesRegex(Mismatch, says):
                    codec_of(hint).decode(data)

    def test_a_field_may_have_the_name_of_its_type(self):
        self.assertEqual(codec_of(Named).encode(Named(date(2024, 5, 1))), {"date": "2024-05-01"})

    def test_other_texts_that_are_read(self):
        for hint, text, value in [
            (datetime.datetime, "2024-05-01T12:30:00Z", datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.timezone.utc)),
            (datetime.datetime, "2024-05-01 12:30:00.5", datetime.datetime(2024, 5, 1, 12, 30, 0, 500_000)),
            (datetime.timedelta, "P1W", datetime.timedelta(weeks=1)),
            (datetime.timedelta, "PT1H30M0.25S", datetime.timedelta(minutes=90, milliseconds=250)),
        ]:
            self.assertEqual(codec_of(hint).decode(text), value)

    def test_zones_with_summer_time_are_refused(self):
        class Summer(datetime.tzinfo):
            def utcoffset(self, when):
                return None if when is None else datetime.timedelta(hours=2)

            def __str__(self):
                return "Summer"

        with self.assertRaisesRegex(Mismatch, "its zone Summer would come back as an offset only"):
            codec_of(datetime.datetime).encode(datetime.datetime(2024, 5, 1, tzinfo=Summer()))

    def test_hints_without_a_form(self):
        for hint, says in [
            (complex, "complex has no JSON form; make it a dataclass"),
            (typing.Callable[[int], int], "has no JSON form"),
            (typing.Iterator[int], "has no JSON form"),
            ("Nowhere", "name 'Nowhere' is not defined; define it in the module"),
            ("int +", "is no type hint"),
            (3, "has no JSON form"),
            (List["Nowhere"], "Nowhere"),
        ]:
            with self.subTest(hint=hint):
                with self.assertRaisesRegex(HintError, says):
                    codec_of(hint)

    def test_values_that_contain_themselves(self):
        def loops(x: Any) -> Any:
            pass

        value = []
        value.append(value)
        with self.assertRaisesRegex(Mismatch, "loops: result: it is nested too deeply"):
            Signature("loops", loops).encode_result(value)


def process_item(item: Item, factor: float = 2.0, *, order: "Optional[Order]" = None) -> "int | None":
    pass


class SignatureTest(unittest.TestCase):
    def setUp(self):
        self.signature = Signature("process_item", process_item)

    def test_arguments(self):
        self.assertEqual(self.signature.names, ["item", "factor", "order"])
        self.assertEqual(self.signature.decode_arguments({"item": {"id": 1}}), ([], {"item": Item(1)}))
        self.assertEqual(self.signature.complete({"item": {"id": 1}}), {"item": {"id": 1, "value": "none"}, "factor": 2.0, "order": None})
        self.assertEqual(self.signature.encode_result(None), None)
        self.assertEqual(self.signature.encode_result(5), 5)

    def test_errors(self):
        for data, says in [
            ({}, "process_item: argument item is missing"),
            ({"item": {"id": "x"}}, 'process_item: argument item.id: expected int, got "x"'),
            ({"item": 3}, "process_item: argument item: expected Item, got 3"),
            ({"item": {"id": 1}, "fcator": 2}, "process_item: there is no argument fcator; did you mean factor?"),
            ({"item": {"id": 1}, "order": {"items": [{"id": 1}, {}]}}, r"process_item: argument order.items\[1\]: field id of Item is missing"),
        ]:
            with self.assertRaisesRegex(Mismatch, says):
                self.signature.decode_arguments(data)
        with self.assertRaisesRegex(Mismatch, 'process_item: result: expected int or None, got "x"'):
            self.signature.encode_result("x")

    def test_other_kinds_of_parameters(self):
        def f(a, b=1, /, c: int = None, **more: str):  # noqa: RUF013
            pass

        signature = Signature("f", f)
        self.assertEqual(signature.decode_arguments({"a": 5, "c": None, "d": "x"}), ([5, 1], {"c": None, "d": "x"}))
        self.assertEqual(signature.complete({"a": 5, "z": "y"}), {"a": 5, "b": 1, "c": None, "z": "y"})
        with self.assertRaisesRegex(Mismatch, "f: argument d: expected str, got 1"):
            signature.decode_arguments({"a": 5, "d": 1})

    def test_hints_are_looked_up_where_the_function_is(self):
        @dataclass
        class Local:
            x: int

        def f(a: "Local") -> Local:
            return Local(a.x)  # the name is in the function, so it is in its closure

        self.assertEqual(Signature("f", f).decode_arguments({"a": {"x": 1}}), ([], {"a": Local(1)}))

        def g(a: complex):
            pass

        with self.assertRaisesRegex(HintError, "g: the hint of argument a: complex has no JSON form"):
            Signature("g", g)


if __name__ == "__main__":
    unittest.main()

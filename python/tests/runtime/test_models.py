"""pydantic models of both versions, where pydantic is installed."""

import datetime
import importlib
import unittest
from typing import Any, Dict, Generic, List, Optional, TypeVar, Union

from pulley.values import Mismatch, Signature, codec_of

T = TypeVar("T")


def version(major):
    """The module of a version of pydantic, or None."""
    try:
        found = importlib.import_module("pydantic")
    except ImportError:
        return None
    if found.VERSION.startswith(f"{major}."):
        return found
    try:
        return importlib.import_module("pydantic.v1") if major == 1 else None
    except ImportError:
        return None


class Both:
    """What holds for both versions."""

    pydantic: Any

    def models(self):
        class Item(self.pydantic.BaseModel):
            id: int
            value: str = "none"
            score: float = 0.5

        class Order(self.pydantic.BaseModel):
            items: List[Item]
            when: Optional[datetime.datetime] = None
            links: Dict[str, self.pydantic.HttpUrl] = {}

        return Item, Order

    def test_round_trip(self):
        Item, Order = self.models()
        order = Order(items=[Item(id=1), Item(id=2, value="x")], when=datetime.datetime(2024, 5, 1), links={"a": "http://example.com/"})
        codec = codec_of(List[Order])
        written = codec.encode([order])
        self.assertEqual(written, [{
            "items": [{"id": 1, "value": "none", "score": 0.5}, {"id": 2, "value": "x", "score": 0.5}],
            "when": "2024-05-01T00:00:00", "links": {"a": "http://example.com/"},
        }])
        self.assertEqual(codec.decode(written), [order])

    def test_errors(self):
        Item, Order = self.models()

        def f(order: Order) -> Item:
            pass

        signature = Signature("f", f)
        for data, says in [
            ({"items": [{"id": "x"}]}, r'f: argument order.items\[0\].id: expected int, got "x"'),
            ({"items": [{}]}, r"f: argument order.items\[0\]: field id of Item is missing"),
            ({"items": [], "links": {"a": "::"}}, r'f: argument order.links\["a"\]: expected \w+, got "::": '),
            ({"items": [], "itmes": []}, "f: argument order: Order has no field itmes; did you mean items?"),
        ]:
            with self.assertRaisesRegex(Mismatch, says):
                signature.decode_arguments({"order": data})
        with self.assertRaisesRegex(Mismatch, "f: result: expected Item, got a dict"):
            signature.encode_result({"id": 1})

    def test_a_value_of_a_subclass_is_refused(self):
        Item, _ = self.models()

        class More(Item):
            more: int = 1

        with self.assertRaisesRegex(Mismatch, "only an Item would come back; write More"):
            codec_of(Item).encode(More(id=1))
        codec = codec_of(Union[More, Item])
        for value in (More(id=1), Item(id=1)):
            back = codec.decode(codec.encode(value))
            self.assertEqual((back, type(back)), (value, type(value)))

    def test_a_model_of_itself(self):
        class Tree(self.pydantic.BaseModel):
            label: str
            children: "List[Tree]" = []

        self.resolve(Tree, Tree=Tree)
        tree = Tree(label="a", children=[Tree(label="b")])
        codec = codec_of(Tree)
        self.assertEqual(codec.decode(codec.encode(tree)), tree)

    def test_constraints_hold_when_read(self):
        class Small(self.pydantic.BaseModel):
            n: int = self.pydantic.Field(lt=10)

        with self.assertRaisesRegex(Mismatch, "expected Small, which refuses it: .*n"):
            codec_of(Small).decode({"n": 10})


@unittest.skipIf(version(2) is None, "pydantic 2 is not installed")
class Version2Test(Both, unittest.TestCase):
    pydantic = version(2)

    def resolve(self, model, **names):
        model.model_rebuild(_types_namespace={"List": List, **names})

    def test_aliases(self):
        class Item(self.pydantic.BaseModel):
            item_id: int = self.pydantic.Field(alias="itemId")

        codec = codec_of(Item)
        self.assertEqual(codec.encode(Item(itemId=1)), {"item_id": 1})
        self.assertEqual(codec.decode({"item_id": 1}), Item(itemId=1))

    def test_validators(self):
        pydantic = self.pydantic

        class Steady(pydantic.BaseModel):
            text: str

            @pydantic.field_validator("text")
            @classmethod
            def upper(cls, text):
                return text.upper()

        class Growing(pydantic.BaseModel):
            n: int

            @pydantic.field_validator("n")
            @classmethod
            def grow(cls, n):
                return n + 1

        self.assertEqual(codec_of(Steady).encode(Steady(text="a")), {"text": "A"})
        with self.assertRaisesRegex(Mismatch, "its constructor changes n"):
            codec_of(Growing).encode(Growing(n=1))

    def test_generic_models(self):
        class Box(self.pydantic.BaseModel, Generic[T]):
            content: T

        codec = codec_of(Box[int])
        self.assertEqual(codec.encode(Box[int](content=1)), {"content": 1})
        self.assertEqual(codec.decode({"content": 1}), Box[int](content=1))
        with self.assertRaisesRegex(Mismatch, "content: expected int"):
            codec.decode({"content": "x"})

    def test_roots_extras_and_computed_fields(self):
        pydantic = self.pydantic

        class Names(pydantic.RootModel[List[str]]):
            pass

        class Open(pydantic.BaseModel):
            model_config = {"extra": "allow"}
            a: int

        class Area(pydantic.BaseModel):
            model_config = {"extra": "forbid"}
            side: int

            @pydantic.computed_field
            @property
            def area(self) -> int:
                return self.side**2

        for value, written in [(Names(["a"]), ["a"]), (Open(a=1, b=[2]), {"a": 1, "b": [2]}), (Area(side=2), {"side": 2})]:
            codec = codec_of(type(value))
            self.assertEqual(codec.encode(value), written)
            self.assertEqual(codec.decode(written), value)

    def test_pydantic_dataclasses(self):
        dataclasses = importlib.import_module("pydantic.dataclasses")

        @dataclasses.dataclass
        class Pair:
            a: int
            b: float = 1.5

        codec = codec_of(Pair)
        self.assertEqual(codec.decode(codec.encode(Pair(1))), Pair(1))


@unittest.skipIf(version(1) is None, "no API of pydantic 1 is installed")
class Version1Test(Both, unittest.TestCase):
    pydantic = version(1)

    def resolve(self, model, **names):
        model.update_forward_refs(List=List, **names)

    def test_aliases(self):
        class Item(self.pydantic.BaseModel):
            item_id: int = self.pydantic.Field(alias="itemId")

        codec = codec_of(Item)
        self.assertEqual(codec.encode(Item(itemId=1)), {"item_id": 1})
        self.assertEqual(codec.decode({"item_id": 1}), Item(itemId=1))

    def test_validators(self):
        pydantic = self.pydantic

        class Growing(pydantic.BaseModel):
            n: int

            @pydantic.validator("n", allow_reuse=True)
            def grow(cls, n):
                return n + 1

        with self.assertRaisesRegex(Mismatch, "its constructor changes n"):
            codec_of(Growing).encode(Growing(n=1))

    def test_roots_and_extras(self):
        class Names(self.pydantic.BaseModel):
            __root__: List[str]

        class Open(self.pydantic.BaseModel):
            a: int

            class Config:
                extra = "allow"

        class Limited(self.pydantic.BaseModel):
            n: self.pydantic.conint(gt=1)

        for value, written in [(Names(__root__=["a"]), ["a"]), (Open(a=1, b=[2]), {"a": 1, "b": [2]}), (Limited(n=2), {"n": 2})]:
            codec = codec_of(type(value))
            self.assertEqual(codec.encode(value), written)
            self.assertEqual(codec.decode(written), value)


if __name__ == "__main__":
    unittest.main()

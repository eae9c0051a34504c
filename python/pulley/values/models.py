"""pydantic models, of version 1 and 2, and types that only pydantic knows.  pydantic is never imported here: a class that
comes from it brings it along."""

import importlib
import json
import sys
from typing import Any, Callable, Dict, List, Tuple

from .codec import Codec, HintError, Mismatch
from .records import Field, Record, first_lines

#: Makes a codec of a hint that stands in a class.
Build = Callable[[Any, Any], Codec]


def is_model(cls: Any) -> bool:
    """Says whether a class is a pydantic model, of either version."""
    return isinstance(cls, type) and (_version(cls) == 2 and hasattr(cls, "model_fields") or _version(cls) == 1 and hasattr(cls, "__fields__"))


def is_known_to_pydantic(hint: Any) -> bool:
    """Says whether pydantic knows how to read and write a type."""
    return hasattr(hint, "__get_pydantic_core_schema__") or hasattr(hint, "__get_validators__")


def _version(cls: type) -> int:
    if hasattr(cls, "__pydantic_core_schema__") or hasattr(cls, "__pydantic_fields__"):
        return 2
    return 1 if hasattr(cls, "__get_validators__") and hasattr(cls, "__fields__") else 0


def part_codec(build: Build, cls: type, name: str, hint: Any, where: Any) -> Codec:
    """The codec of a field; an error names it."""
    try:
        return build(hint, where)
    except HintError as e:
        raise HintError(f"field {name} of {cls.__name__}: {e}") from None


class Model(Record):
    """A pydantic model: its fields under their Python names, whatever their aliases are."""

    def takes(self, value: Any) -> bool:
        if type(value) is self.cls:
            return True
        generic = getattr(self.cls, "__pydantic_generic_metadata__", None)  # Box[int] takes what Box(…) made
        return bool(generic and generic["origin"] is not None and type(value) is generic["origin"])


class Root(Model):
    """A model of one value that has no name: RootModel, or one with __root__."""

    rank = 5
    root = "root"

    def encode(self, value: Any) -> Any:
        if not self.takes(value):
            raise self.differs(value)
        return self.fields[0].codec.encode(getattr(value, self.root))

    def decode(self, data: Any) -> Any:
        return self.make({self.root: self.fields[0].codec.decode(data)})


class Root1(Root):
    root = "__root__"


def model_codec(cls: type) -> Record:
    """An empty codec of a model; fill_model gives it its fields."""
    if _version(cls) == 1:
        return Root1(cls) if "__root__" in cls.__fields__ else Model(cls)  # type: ignore[attr-defined]
    return Root(cls) if getattr(cls, "__pydantic_root_model__", False) else Model(cls)


def fill_model(codec: Record, build: Build, hints: Dict[str, Tuple[Any, Any]]) -> None:
    """Gives a model's codec its fields.  hints are the annotations in the class, each with where it is to be read."""
    if _version(codec.cls) == 1:
        _fill_1(codec, build, hints)
    else:
        _fill_2(codec, build)


def _fill_2(codec: Record, build: Build) -> None:
    cls: Any = codec.cls
    if not getattr(cls, "__pydantic_complete__", True):
        try:
            cls.model_rebuild()
        except Exception as e:
            raise HintError(f"the model {cls.__name__} is not complete: {first_lines(e)}") from e
    config = cls.model_config
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    for name, info in cls.model_fields.items():
        alias = info.validation_alias if info.validation_alias is not None else info.alias
        if hasattr(alias, "choices"):
            alias = next((c for c in alias.choices if isinstance(c, str)), None)
        if by_name or alias is None:
            alias = name
        if not isinstance(alias, str):
            raise HintError(f"field {name} of {cls.__name__} has an alias that is a path; set populate_by_name in its model_config")
        codec.fields.append(Field(name, part_codec(build, cls, name, info.annotation, cls), info.is_required(), alias))
    if config.get("extra") == "allow":
        codec.extra = lambda value: value.__pydantic_extra__ or {}
    made = cls.__pydantic_decorators__
    codec.checks = any((made.validators, made.field_validators, made.root_validators, made.model_validators)) or _has_own_init(cls)


def _fill_1(codec: Record, build: Build, hints: Dict[str, Tuple[Any, Any]]) -> None:
    cls: Any = codec.cls
    try:
        cls.update_forward_refs()
    except NameError as e:
        raise HintError(f"the model {cls.__name__} is not complete: {e}") from e
    known = set(cls.__fields__)
    for name, field in cls.__fields__.items():
        hint, where = hints.get(name, (field.outer_type_, cls))
        alias = name if cls.__config__.allow_population_by_field_name else field.alias
        codec.fields.append(Field(name, part_codec(build, cls, name, hint, where), bool(field.required), alias))
    if cls.__config__.extra == "allow" or getattr(cls.__config__.extra, "value", None) == "allow":
        codec.extra = lambda value: {k: v for k, v in value.__dict__.items() if k not in known}
    codec.checks = bool(cls.__validators__ or cls.__pre_root_validators__ or cls.__post_root_validators__) or _has_own_init(cls)


def _has_own_init(cls: type) -> bool:
    """Says whether making an object runs code of the user's."""
    inits: List[type] = [c for c in cls.__mro__ if "__init__" in c.__dict__ or "model_post_init" in c.__dict__]
    return bool(inits) and not inits[0].__module__.startswith("pydantic")


class Foreign(Codec):
    """A type that only pydantic knows, such as HttpUrl."""

    rank = 6

    def __init__(self, hint: Any) -> None:
        self.name = getattr(hint, "__name__", str(hint))
        try:
            self._write, self._read = _adapt_2(hint) if hasattr(hint, "__get_pydantic_core_schema__") else _adapt_1(hint)
        except Exception as e:
            raise HintError(f"pydantic knows no JSON form of {self.name}: {first_lines(e)}") from e

    def encode(self, value: Any) -> Any:
        try:
            written = self._write(value)
            read = self._read(written)
        except Exception as e:
            raise self.differs(value, f": {first_lines(e)}") from None
        if type(read) is not type(value) or read != value:
            raise self.differs(value, f", which is written as {json.dumps(written)} and would come back as {read!r}")
        return written

    def decode(self, data: Any) -> Any:
        try:
            return self._read(data)
        except Exception as e:
            raise Mismatch(f"{self.wants(data).why}: {first_lines(e)}") from None


def _adapt_2(hint: Any) -> Tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    adapter = importlib.import_module("pydantic").TypeAdapter(hint)
    return lambda v: adapter.dump_python(v, mode="json", warnings=False), adapter.validate_python


def _adapt_1(hint: Any) -> Tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    name = "pydantic.v1" if hint.__module__.startswith("pydantic.v1") else "pydantic"
    pydantic = importlib.import_module(name)
    if name == "pydantic" and not pydantic.VERSION.startswith("1."):
        pydantic = sys.modules.get("pydantic.v1", pydantic)
    encoder = importlib.import_module(pydantic.__name__ + ".json").pydantic_encoder
    return lambda v: json.loads(json.dumps(v, default=encoder)), lambda v: pydantic.parse_obj_as(hint, v)

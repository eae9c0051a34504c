"""From type hints to codecs."""

import ast
import collections
import collections.abc
import dataclasses
import enum
import sys
import types
import typing
from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

from .codec import Anything, Codec, HintError
from .containers import DictOf, ListOf, SetOf, TupleOf, UnionOf
from .models import Foreign, fill_model, is_known_to_pydantic, is_model, model_codec, part_codec
from .records import Field, Keys, Record
from .scalars import NATIVE, WRITTEN, Enumeration, Flags, OneOf


class Namespace(NamedTuple):
    """Where the names in a hint are looked up, and what its type variables stand for."""

    names: Dict[str, Any]
    own: Dict[str, Any]
    variables: Dict[Any, Any]

    @classmethod
    def of_class(cls, owner: type, variables: Optional[Dict[Any, Any]] = None) -> "Namespace":
        names = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
        own = {n: v for n, v in {owner.__name__: owner, **vars(owner)}.items() if n not in names}  # a default may be named like its type
        return cls(names, own, variables or {})

    @classmethod
    def of_function(cls, function: Any) -> "Namespace":
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        own = {n: c.cell_contents for n, c in zip(function.__code__.co_freevars, function.__closure__ or ()) if _is_filled(c)}
        return cls(function.__globals__, own, {})


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


NOWHERE = Namespace({}, {}, {})

#: Codecs of classes and of generic classes with their arguments: one that is being made is in it, for types that
#: contain themselves.
_records: Dict[Any, Codec] = {}

_LISTS = (list, collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Iterable, collections.abc.Collection)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS = tuple(u for u in (Union, getattr(types, "UnionType", None)) if u is not None)
_WRAPPERS = {getattr(typing, n, None) for n in ("Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly")} - {None}


def codec_of(hint: Any, where: Namespace = NOWHERE) -> Codec:
    """Gives the codec of a hint; HintError if there is none."""
    hint = _strip(hint, where)
    if isinstance(hint, typing.TypeVar):
        return _of_variable(hint, where)
    try:
        if hint in NATIVE:
            return NATIVE[hint]
    except TypeError:
        raise HintError(f"{hint!r} is no type hint") from None
    origin = typing.get_origin(hint)
    if origin is not None:
        return _of_generic(hint, origin, typing.get_args(hint), where)
    if isinstance(hint, type):
        return _of_class(hint, {}, hint)
    if hasattr(hint, "__value__"):  # type X = …
        return _lazily(hint, lambda: codec_of(hint.__value__, _module(hint, where)))
    raise HintError(f"{_named(hint)} has no JSON form; use a class with fields, or a type that JSON has")


def _strip(hint: Any, where: Namespace) -> Any:
    """Follows texts, names and wrappers to the type that they stand for."""
    for _ in range(100):
        if isinstance(hint, typing.ForwardRef):
            if getattr(hint, "__forward_module__", None) in sys.modules:
                where = where._replace(names=vars(sys.modules[hint.__forward_module__]))
            hint = hint.__forward_arg__
        if isinstance(hint, str):
            hint = evaluate(hint, where)
        elif hasattr(hint, "__supertype__"):  # NewType
            hint = hint.__supertype__
        elif isinstance(hint, dataclasses.InitVar):
            raise HintError("InitVar: such a value is not kept, and could not be passed on; make it a field")
        elif hint in (typing.Final,):
            return Any
        elif typing.get_origin(hint) in _WRAPPERS or hasattr(hint, "__metadata__"):
            hint = typing.get_args(hint)[0]
        else:
            return hint
    raise HintError(f"{_named(hint)} stands for itself")


class _OldUnions(ast.NodeTransformer):
    """Writes X | Y as Union[X, Y], which Python 3.9 can read."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.BitOr):
            return node
        both = ast.Tuple(elts=[node.left, node.right], ctx=ast.Load())
        return ast.Subscript(value=ast.Name(id="__Union__", ctx=ast.Load()), slice=both, ctx=ast.Load())


def evaluate(text: str, where: Namespace) -> Any:
    """Evaluates a hint that is written as a text."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
        if sys.version_info < (3, 10):
            tree = ast.fix_missing_locations(_OldUnions().visit(tree))
        names = collections.ChainMap(where.own, where.names, {"__Union__": Union})
        return eval(compile(tree, "<hint>", "eval"), dict(where.names), names)
    except NameError as e:
        raise HintError(f"{text!r}: {e}; define it in the module, outside of functions and of if TYPE_CHECKING") from None
    except Exception as e:
        raise HintError(f"{text!r} is no type hint: {e}") from None


def annotations_of_class(cls: type, variables: Optional[Dict[Any, Any]] = None) -> Dict[str, Tuple[Any, Namespace]]:
    """The annotations of a class and its bases, each with where its names are."""
    found = {}
    for base in reversed(cls.__mro__):
        own = base.__annotations__ if "__annotations__" in base.__dict__ or sys.version_info >= (3, 14) else {}
        if own:
            where = Namespace.of_class(base, variables)
            found.update((name, (hint, where)) for name, hint in own.items())
    return found


def _of_variable(hint: Any, where: Namespace) -> Codec:
    if hint in where.variables:
        return codec_of(where.variables[hint], where._replace(variables={}))
    if hint.__constraints__:
        return UnionOf([codec_of(c, where) for c in hint.__constraints__])
    return codec_of(hint.__bound__, where) if hint.__bound__ is not None else Anything()


def _of_generic(hint: Any, origin: Any, arguments: Tuple[Any, ...], where: Namespace) -> Codec:
    if origin in _UNIONS:
        return UnionOf([codec_of(a, where) for a in arguments])
    if origin is typing.Literal:
        kinds = {type(v) for v in arguments}
        return OneOf(arguments, {k: NATIVE[k] if k in NATIVE else codec_of(k) for k in kinds})
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return TupleOf((), rest=codec_of(arguments[0], where))
        return TupleOf(tuple(codec_of(a, where) for a in arguments if a != ()))
    if origin in _LISTS:
        return ListOf(codec_of(arguments[0], where))
    if origin in (set, frozenset, collections.abc.Set, collections.abc.MutableSet):
        return SetOf(codec_of(arguments[0], where), frozenset if origin is frozenset else set)
    if origin in _DICTS or origin is collections.OrderedDict:
        cls = collections.OrderedDict if origin is collections.OrderedDict else dict
        return DictOf(codec_of(arguments[0], where), codec_of(arguments[1], where), cls)
    if hasattr(origin, "__value__"):  # type X[T] = …
        bound = dict(zip(origin.__type_params__, arguments))
        return _lazily(hint, lambda: codec_of(origin.__value__, _module(origin, where)._replace(variables=bound)))
    if isinstance(origin, type):
        variables = {v: where.variables.get(a, a) for v, a in zip(getattr(origin, "__parameters__", ()), arguments)}
        return _of_class(origin, variables, hint)
    raise HintError(f"{_named(hint)} has no JSON form")


def _of_class(cls: type, variables: Dict[Any, Any], hint: Any) -> Codec:
    key = (cls, tuple(variables.values()))
    try:
        if key in _records:
            return _records[key]
    except TypeError:
        raise HintError(f"{hint!r} is no type hint") from None
    made = _plain_class(cls)
    if made is not None:
        _records[key] = made
        return made
    if typing.is_typeddict(cls) if hasattr(typing, "is_typeddict") else _is_typed_dict(cls):
        keys = _records[key] = Keys(cls)
        _filling(key, lambda: _fill_keys(keys, variables))
        return keys
    if is_model(cls):
        record = _records[key] = model_codec(cls)
        _filling(key, lambda: fill_model(record, _in_class, annotations_of_class(cls)))
        return record
    if dataclasses.is_dataclass(cls):
        record = _records[key] = Record(cls)
        _filling(key, lambda: _fill_dataclass(record, variables))
        return record
    if is_known_to_pydantic(cls):
        made = _records[key] = Foreign(cls)
        return made
    raise HintError(f"{_named(cls)} has no JSON form; make it a dataclass or a pydantic model, or pass its parts")


def _plain_class(cls: type) -> Optional[Codec]:
    """The codec of a class that has no fields of other types, or None."""
    if cls in WRITTEN:
        return WRITTEN[cls]
    if issubclass(cls, enum.Flag):
        return Flags(cls)
    if issubclass(cls, enum.Enum):
        return Enumeration(cls)
    if cls is tuple:
        return TupleOf((), rest=Anything())
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        hints = annotations_of_class(cls)
        parts = tuple(codec_of(*hints[n]) if n in hints else Anything() for n in cls._fields)
        return TupleOf(parts, cls, tuple(cls._fields))
    if cls in _LISTS:
        return ListOf(Anything())
    if cls in (set, frozenset, collections.abc.Set, collections.abc.MutableSet):
        return SetOf(Anything(), frozenset if cls is frozenset else set)
    if cls in _DICTS:
        return DictOf(NATIVE[str], Anything())
    if cls is collections.OrderedDict:
        return DictOf(NATIVE[str], Anything(), cls)
    return None


def _filling(key: Any, fill: Any) -> None:
    """Fills a codec that is in _records already, and takes it out again if that fails."""
    try:
        fill()
    except BaseException:
        _records.pop(key, None)
        raise


def _in_class(hint: Any, where: Any) -> Codec:
    return codec_of(hint, where if isinstance(where, Namespace) else Namespace.of_class(where))


def _is_typed_dict(cls: type) -> bool:
    return type(cls).__name__ == "_TypedDictMeta"


def _fill_keys(codec: Keys, variables: Dict[Any, Any]) -> None:
    optional = getattr(codec.cls, "__optional_keys__", frozenset())
    where = Namespace.of_class(codec.cls, variables)
    for name, hint in codec.cls.__annotations__.items():
        required = name not in optional
        for _ in range(3):  # NotRequired may stand in a text, where the class does not see it
            if isinstance(hint, (str, typing.ForwardRef)):
                hint = evaluate(hint if isinstance(hint, str) else hint.__forward_arg__, where)
            origin = getattr(typing.get_origin(hint), "_name", "")
            if origin in ("NotRequired", "Required"):
                required, hint = origin == "Required", typing.get_args(hint)[0]
        codec.fields[name] = (codec_of(hint, where), required)


def _fill_dataclass(codec: Record, variables: Dict[Any, Any]) -> None:
    cls: Any = codec.cls
    hints = annotations_of_class(cls, variables)
    for f in dataclasses.fields(cls):
        hint, where = hints.get(f.name, (f.type, NOWHERE))
        part = part_codec(codec_of, cls, f.name, hint, where)
        has_default = f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING
        codec.fields.append(Field(f.name, part, f.init and not has_default, f.name if f.init else ""))
    for name, (hint, where) in hints.items():
        if _strip_init_var(hint, where):
            raise HintError(f"field {name} of {cls.__name__} is an InitVar: it is not kept, and could not be passed on; make it a field")
    generated = getattr(cls, "__dataclass_params__").init and "__init__" in cls.__dict__
    codec.checks = hasattr(cls, "__post_init__") or not generated or hasattr(cls, "__pydantic_validator__")


def _strip_init_var(hint: Any, where: Namespace) -> bool:
    if isinstance(hint, str):
        return "InitVar" in hint and isinstance(evaluate(hint, where), dataclasses.InitVar)
    return isinstance(hint, dataclasses.InitVar)


class _Lazy(Codec):
    """The codec of an alias that may stand for itself inside."""

    def __init__(self, name: str, make: Any) -> None:
        self.name, self._make, self._made = name, make, None

    def _codec(self) -> Codec:
        if self._made is None:
            self._made = self._make()
        return self._made

    def encode(self, value: Any) -> Any:
        return self._codec().encode(value)

    def decode(self, data: Any) -> Any:
        return self._codec().decode(data)


def _lazily(alias: Any, make: Any) -> Codec:
    if alias not in _records:
        _records[alias] = _Lazy(_named(alias), make)
    return _records[alias]


def _module(alias: Any, where: Namespace) -> Namespace:
    module = sys.modules.get(getattr(alias, "__module__", None) or "")
    return where._replace(names=vars(module)) if module else where


def _named(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else repr(hint).replace("typing.", "")

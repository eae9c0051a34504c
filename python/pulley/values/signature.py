"""Arguments and result of a function as JSON."""

import inspect
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from .codec import Anything, Codec, HintError, Mismatch
from .hints import Namespace, codec_of
from .containers import UnionOf
from .records import meant
from .scalars import Null

_NO_DEFAULT = inspect.Parameter.empty


class Parameter(NamedTuple):
    name: str
    codec: Codec
    default: Any  # inspect.Parameter.empty: there is none
    by_position: bool  # it has no name that a caller could use

    @property
    def required(self) -> bool:
        return self.default is _NO_DEFAULT


class Signature:
    """What a function takes and gives, for messages under a name."""

    def __init__(self, name: str, function: Callable[..., Any], skip_self: bool = False) -> None:
        self.name = name
        self.parameters: List[Parameter] = []
        self.others: Optional[Codec] = None  # of **kwargs
        where = Namespace.of_function(function)
        for p in list(inspect.signature(function).parameters.values())[skip_self:]:
            if p.kind is p.VAR_POSITIONAL:
                raise HintError(f"{name}: arguments travel by name; give *{p.name} a name and a list as its type")
            codec = self._codec(f"argument {p.name}", p.annotation, where)
            if p.kind is p.VAR_KEYWORD:
                self.others = codec
                continue
            if p.default is None and not codec.owns(None):
                codec = UnionOf([codec, Null()])
            self.parameters.append(Parameter(p.name, codec, p.default, p.kind is p.POSITIONAL_ONLY))
        self.result = self._codec("result", inspect.signature(function).return_annotation, where)

    def _codec(self, what: str, hint: Any, where: Namespace) -> Codec:
        if hint is inspect.Parameter.empty:
            return Anything()
        try:
            return codec_of(hint, where)
        except HintError as e:
            raise HintError(f"{self.name}: the hint of {what}: {e}") from None

    @property
    def names(self) -> List[str]:
        return [p.name for p in self.parameters]

    def decode_arguments(self, data: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """Gives the positional and the named arguments of a call; Mismatch names the argument that does not fit."""
        known = {p.name: p for p in self.parameters}
        positional, named = [], {}
        for p in self.parameters:
            if p.name not in data:
                if p.required:
                    raise Mismatch(f"{self.name}: argument {p.name} is missing")
                if p.by_position:
                    positional.append(p.default)
                continue
            value = self._do(f"argument {p.name}", p.codec.decode, data[p.name])
            if p.by_position:
                positional.append(value)
            else:
                named[p.name] = value
        for name in data:
            if name in known:
                continue
            if self.others is None:
                raise Mismatch(f"{self.name}: there is no argument {name}; {meant(name, self.names)}")
            named[name] = self._do(f"argument {name}", self.others.decode, data[name])
        return positional, named

    def complete(self, data: Dict[str, Any]) -> Dict[str, Any]:
        """Checks arguments in JSON, and gives them as they are after a way through Python, with the defaults."""
        positional, named = self.decode_arguments(data)
        values = dict(zip((p.name for p in self.parameters if p.by_position), positional))
        values.update(named)
        out = {}
        for p in self.parameters:
            value = values.pop(p.name) if p.name in values else p.default
            out[p.name] = self._do(f"argument {p.name}", p.codec.encode, value)
        for name, value in values.items():
            assert self.others is not None
            out[name] = self._do(f"argument {name}", self.others.encode, value)
        return out

    def encode_result(self, value: Any) -> Any:
        """Gives a result in JSON; Mismatch if it is not what the hint says."""
        return self._do("result", self.result.encode, value)

    def _do(self, what: str, convert: Callable[[Any], Any], value: Any) -> Any:
        try:
            return convert(value)
        except Mismatch as e:
            raise Mismatch(f"{self.name}: {what}{e.path}: {e.why}") from e.__cause__
        except RecursionError:
            raise Mismatch(f"{self.name}: {what}: it is nested too deeply") from None

"""Parts of values: x[i], x[a:b], x.name."""

import ast
import enum
from typing import Optional

from . import types as t
from .errors import MESSAGES
from .operators import Operators
from .problems import Refused
from .scope import PRIMARY, UNARY, Value
from .text import quote


class Access(Operators):
    """Translates what takes a part of a value."""

    def expr_Attribute(self, node: ast.Attribute) -> Value:
        found, value = self.unit.static(self, node)
        if found:
            if isinstance(value, type) or callable(value) and not isinstance(value, enum.Enum):
                raise Refused(node, f"{ast.unparse(node)} is no JSON value; call it")
            return self.constant(node, value)
        if node.attr in ("__name__", "__qualname__") and isinstance(node.value, ast.Call) and self.unit.static(self, node.value.func) == (True, type):
            return self.class_name(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == self.source.self_name:
            raise Refused(node, f"{ast.unparse(node)} is no constant of the class; write it there, or pass it as an argument of run")
        v = self.expr(node.value)
        self.refuse_none(node.value, v)
        if v.type == t.NEVER:
            return Value(f"{v.bound(PRIMARY)}[{quote(node.attr)}]", t.NEVER, PRIMARY, v.raises)
        if isinstance(v.type, t.Record):
            return self.field(node, v, v.type)
        if isinstance(v.type, t.Enum_):
            return self.of_member(node, v, v.type.cls)
        if isinstance(v.type, t.Tuple_) and node.attr in v.type.names:
            i = v.type.names.index(node.attr)
            return Value(f"{v.bound(PRIMARY)}[{i}]", v.type.parts[i], PRIMARY, v.raises)
        if v.type == t.Caught():
            raise Refused(node, "of an exception only its text and its class travel; write str(e), type(e).__name__ or isinstance(e, ...)")
        if v.type == t.ANY:
            raise Refused(node, f"it is not known what this is; say it with a hint: x: SomeClass = ... (the hint of an action's result does the same)")
        raise Refused(node, f"{self.article(v.type)} has no field {node.attr} that travels; pass what is needed of it")

    def class_name(self, call: ast.Call) -> Value:
        """type(e).__name__"""
        v = self.expr(call.args[0]) if len(call.args) == 1 else None
        if v is None or v.type != t.Caught():
            raise Refused(call, "type(...).__name__ is compiled for caught exceptions; what other values are is known from their hints")
        return Value(f'{v.bound(PRIMARY)}["type"]', t.STR, PRIMARY)

    def field(self, node: ast.Attribute, v: Value, kind: t.Record) -> Value:
        fields = t.fields_of(kind.cls)
        if node.attr in fields:
            return Value(f"{v.bound(PRIMARY)}[{quote(node.attr)}]", fields[node.attr], PRIMARY, v.raises)
        if hasattr(kind.cls, node.attr):
            raise Refused(node, f"{node.attr} of {kind} runs Python, or is no field; write it as a method of the workflow, or in an action")
        raise Refused(node, f"{kind} has no field {node.attr}; it has {', '.join(fields) or 'none'}")

    def of_member(self, node: ast.Attribute, v: Value, cls: type) -> Value:
        """Translates .value and .name of a member of an Enum."""
        members = list(cls)  # type: ignore[call-overload]
        written = [self.unit.written(node, m) for m in members]
        wanted = {"value": "value", "_value_": "value", "name": "name", "_name_": "name"}.get(node.attr)
        if wanted is None:
            raise Refused(node, f"{node.attr} of {cls.__name__} runs Python; write it as a method of the workflow, or in an action")
        results = [getattr(m, wanted) for m in members]
        parts = [self.constant(node, r) for r in results]
        kind = t.join(p.type for p in parts)
        if results == written and list(map(type, results)) == list(map(type, written)):
            return Value(v.text, kind, v.binding, v.raises)
        if all(type(w) is str for w in written):
            table = ", ".join(f"{quote(w, node)}: {p.text}" for w, p in zip(written, parts))
            return Value(f"{{{table}}}[{v.text}]", kind, PRIMARY, v.raises)
        pairs = ", ".join(f"[{self.constant(node, w).text}, {p.text}]" for w, p in zip(written, parts))
        name = self.temporary()
        return Value(f"[{name}[1] for {name} in [{pairs}] if {name}[0] == {v.bound(UNARY)}][0]", kind, PRIMARY, v.raises)

    def expr_Subscript(self, node: ast.Subscript) -> Value:
        index = node.slice
        if type(index).__name__ == "Index":  # Python 3.8's tree
            index = index.value  # type: ignore[attr-defined]
        if isinstance(index, ast.Slice):
            return self.slice(node, index)
        base, at = self.sequence([node.value, index], self.expr)
        self.refuse_none(node.value, base)
        self.need_value(index, at)
        if base.type == t.NEVER:
            return Value(f"{base.bound(PRIMARY)}[{at.text}]", t.NEVER, PRIMARY, base.raises | at.raises)
        if isinstance(base.type, (t.Dict_, t.Keys)) or base.type == t.ANY:
            return self.by_key(node, base, index, at)
        if isinstance(base.type, t.Record):
            raise Refused(node, f"a {base.type} has fields; write x.{index.value if isinstance(index, ast.Constant) else 'name'}")
        if at.type == t.BOOL:
            at = self.as_int(at)
        if at.type != t.INT:
            self.refuse_none(index, at)
            raise Refused(index, f"an index is an int, this is {self.article(at.type)}; say it with a hint: i: int = ...")
        return self.by_index(node, base, index, at)

    def by_index(self, node: ast.Subscript, base: Value, index: ast.expr, at: Value) -> Value:
        kind, raises = base.type, base.raises | at.raises
        if isinstance(kind, t.Tuple_) and kind.rest is None and at.literal:
            i = int(at.text)
            if not -len(kind.parts) <= i < len(kind.parts):
                raise Refused(node, f"a tuple of {len(kind.parts)} has no element {i}")
            return Value(f"{base.bound(PRIMARY)}[{at.text}]", kind.parts[i], PRIMARY, raises)
        if isinstance(kind, t.List) or kind == t.STR or isinstance(kind, t.Tuple_) or isinstance(kind, t.Series) and kind.name == "range":
            text = kind == t.STR
            if text:
                base = Value(f"{base.bound(PRIMARY)}.codepoints()", kind, PRIMARY, base.raises)
            what = "string index" if text else "tuple index" if isinstance(kind, t.Tuple_) else "list index"
            if self.is_caught("IndexError") is not None or what != "list index" and not self.conditional:
                base, at = self.simple(node, base), self.simple(index, at)
                condition = f"{at.text} >= len({base.text}) or {at.text} < -len({base.text})"
                if not self.guard(node, "IndexError", condition, quote(MESSAGES[what])):
                    self.always(node, "IndexError", condition, quote(MESSAGES[what]))
                return Value(f"{base.text}[{at.text}]", t.STR if text else self.element_of(kind), PRIMARY)
            return Value(f"{base.bound(PRIMARY)}[{at.text}]", t.STR if text else self.element_of(kind), PRIMARY, raises | {"IndexError"})
        raise Refused(node, f"{self.article(kind)} has no elements by number; write list(...)")

    def always(self, node: ast.AST, error: str, condition: str, message: str) -> None:
        """Writes a check whether a try may catch the error or not."""
        self.writer.line(node, "if ", (condition, node), ":")
        self.writer.depth += 1
        self.fail(node, quote(error), message)
        self.writer.depth -= 1

    def by_key(self, node: ast.Subscript, base: Value, index: ast.expr, at: Value) -> Value:
        if at.type != t.STR:
            self.refuse_none(index, at)
            if base.type == t.ANY:
                raise Refused(node, "it is not known what this is; say it with a hint: xs: List[int] = ...")
            raise Refused(index, f"the keys of a dict are texts in JSON, this is {self.article(at.type)}; say it with a hint: k: str = ...")
        kind: t.Type = t.ANY
        if isinstance(base.type, t.Dict_):
            kind = base.type.value
        elif isinstance(base.type, t.Keys):
            keys = t.keys_of(base.type.cls)
            if not isinstance(index, ast.Constant):
                kind = t.join(part for part, _ in keys.values())
            elif index.value not in keys:
                raise Refused(index, f"{base.type} has no key {index.value!r}; it has {', '.join(keys)}")
            else:
                kind, required = keys[index.value]
                if required:
                    return Value(f"{base.bound(PRIMARY)}[{at.text}]", kind, PRIMARY, base.raises)
        if self.is_caught("KeyError") is not None:
            if base.type == t.ANY:
                raise Refused(node, "it is not known what this is, and whether this raises KeyError, which a try catches; say it with a hint: d: Dict[str, int] = ...")
            base, at = self.simple(node, base), self.simple(index, at)
            self.guard(node, "KeyError", f"{at.text} not in {base.text}", self.key_message(index, at))
            return Value(f"{base.text}[{at.text}]", kind, PRIMARY)
        return Value(f"{base.bound(PRIMARY)}[{at.text}]", kind, PRIMARY, base.raises | at.raises | {"KeyError"})

    def key_message(self, index: ast.expr, at: Value) -> str:
        """The text of a KeyError: the key as Python writes it in quotes."""
        if isinstance(index, ast.Constant):
            return quote(repr(index.value))
        if self.message_matters("KeyError"):
            raise Refused(index, 'the text of this KeyError has the key as Python prints it; write if key in d: before, or except KeyError: without "as"')
        return f'"\'" + {at.text} + "\'"'

    def message_matters(self, error: str) -> bool:
        """Says whether a handler may look at the text of an error."""
        for around in reversed(self.tries):
            if error in around.catches:
                return around.observed
        return True

    def slice(self, node: ast.Subscript, index: ast.Slice) -> Value:
        parts = [p for p in (index.lower, index.upper, index.step) if p is not None]
        base, *bounds = self.sequence([node.value] + parts, self.expr)
        self.refuse_none(node.value, base)
        texts, raises = iter([]), base.raises
        for p, b in zip(parts, bounds):
            if b.type not in (t.INT, t.NONE) and not (isinstance(b.type, t.Union) and set(b.type.members) == {t.INT, t.NONE}):
                raise Refused(p, f"a slice has ints, this is {self.article(b.type)}; say it with a hint: i: int = ...")
            raises |= b.raises
        if index.step is not None and not (bounds[-1].literal and bounds[-1].text not in ("0", "None")):
            raise Refused(index.step, "the step of a slice must be a number in the text, other than 0")
        texts = iter(b.text for b in bounds)
        lower = next(texts) if index.lower is not None else ""
        upper = next(texts) if index.upper is not None else ""
        step = ":" + next(texts) if index.step is not None else ""
        if base.type == t.STR:
            return Value(f'"".join({base.bound(PRIMARY)}.codepoints()[{lower}:{upper}{step}])', t.STR, PRIMARY, raises)
        kind = self.sliced(node, base.type, index)
        return Value(f"{base.bound(PRIMARY)}[{lower}:{upper}{step}]", kind, PRIMARY, raises, True)

    def sliced(self, node: ast.Subscript, kind: t.Type, index: ast.Slice) -> t.Type:
        if isinstance(kind, t.List):
            return kind
        if isinstance(kind, t.Tuple_):
            if kind.rest is not None:
                return t.Tuple_((), kind.rest)
            ends = [self.fixed(p) for p in (index.lower, index.upper, index.step)]
            return t.Tuple_(kind.parts[slice(*ends)])
        raise Refused(node, f"{self.article(kind)} has no slices; say with a hint what it is: xs: List[int] = ...")

    def fixed(self, node: Optional[ast.expr]) -> Optional[int]:
        if node is None:
            return None
        try:
            value = ast.literal_eval(node)
        except ValueError:
            value = ...
        if value is not None and type(value) is not int:
            raise Refused(node, "the bounds of a tuple's slice must be numbers in the text; use a list")
        return value

"""Expressions: names, constants, displays, f-strings, comprehensions.

What an expression needs done before it (an awaited action, a call of the workflow's own functions, a check whose
error a try may catch) becomes a statement before the one at hand.
"""

import ast
import enum
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import floats
from . import types as t
from .function import Function
from .problems import Refused
from .scope import CONDITIONAL, PRIMARY, SUM, Value
from .text import literal, quote

#: What to write instead of what is no value of the language.
_INSTEAD = {
    ast.Lambda: "a lambda is no value; write it as key= of sorted, min or max, or a method of the workflow",
    ast.SetComp: "a set is no JSON value; write a list comprehension",
    ast.Set: "a set is no JSON value; write a list",
    ast.GeneratorExp: "a generator is no JSON value; write a list comprehension",
    ast.NamedExpr: "an assignment inside an expression; write it as a statement of its own before",
    ast.Yield: "a workflow is no generator; build a list and return it",
    ast.YieldFrom: "a workflow is no generator; build a list and return it",
    ast.Starred: "* is compiled in lists, tuples and asyncio.gather only; write the arguments one by one",
    ast.Slice: "a slice without a list; write xs[a:b]",
}


class Expressions(Function):
    """Translates expressions."""

    def expr(self, node: ast.expr) -> Value:
        """Translates an expression; its value may be one that can only be used in some places."""
        if type(node) in _INSTEAD:
            raise Refused(node, _INSTEAD[type(node)])
        method = getattr(self, "expr_" + type(node).__name__, None)
        if method is None:
            raise Refused(node, f"{type(node).__name__} is not compiled; write it with simpler expressions, or in an action")
        value = method(node)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and self.scope is not None and ast.unparse(node) in self.scope.facts:
            value = self.retyped(value, t.without_none(value.type))
        return value

    def value(self, node: ast.expr) -> Value:
        """Translates an expression whose value is kept or passed on."""
        made = self.expr(node)
        self.need_value(node, made)
        return made

    def need_value(self, node: ast.AST, made: Value) -> None:
        if isinstance(made.type, t.Series):
            raise Refused(node, f"{made.type} is no JSON value; write list(...) around it")
        if made.type == t.Caught():
            raise Refused(node, "an exception is no JSON value; write str(e) for its text, or type(e).__name__")

    @staticmethod
    def retyped(v: Value, kind: t.Type) -> Value:
        return Value(v.text, kind, v.binding, v.raises, v.fresh, v.names, v.parts, v.literal)

    def sequence(self, nodes: Sequence[ast.expr], compile: Optional[Callable[[ast.expr], Value]] = None) -> List[Value]:
        """Translates expressions that Python evaluates one after the other."""
        values = []
        for i, node in enumerate(nodes):
            v = (compile or self.value)(node)
            later = nodes[i + 1 :]
            if v.raises and any(self.has_effect(n) or self.all_caught() and not isinstance(n, (ast.Name, ast.Constant)) for n in later):
                v = self.simple(node, v)
            values.append(v)
        return values

    def has_effect(self, node: ast.AST) -> bool:
        """Says whether an expression needs statements before it that do something."""
        return any(isinstance(n, ast.Await) or isinstance(n, ast.Call) and self.unit.is_invocation(self, n) for n in ast.walk(node))

    # Names and constants

    def expr_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node, node.value)

    def constant(self, node: ast.AST, value: Any) -> Value:
        """Gives a value of Python's as an expression of the language."""
        for kind, of in ((bool, t.BOOL), (int, t.INT), (float, t.FLOAT), (str, t.STR), (type(None), t.NONE)):
            if type(value) is kind:
                negative = kind in (int, float) and str(value).startswith("-")
                return Value(literal(value, node), of, PRIMARY - 1 if negative else PRIMARY, literal=True)
        if isinstance(value, enum.Enum):
            made = self.constant(node, self.unit.written(node, value))
            return self.retyped(made, t.Enum_(type(value)))
        if type(value) in (list, tuple):
            parts = [self.constant(node, v) for v in value]
            kinds = tuple(p.type for p in parts)
            text = "[" + ", ".join(p.text for p in parts) + "]"
            return Value(text, t.Tuple_(kinds) if type(value) is tuple else t.List(t.join(kinds)))
        if type(value) is dict and all(type(k) is str for k in value):
            items = [(quote(k, node), self.constant(node, v)) for k, v in value.items()]
            return Value("{" + ", ".join(f"{k}: {v.text}" for k, v in items) + "}", t.Dict_(t.join(v.type for _, v in items)))
        what = "..." if value is ... else f"a value of type {type(value).__name__}"
        raise Refused(node, f"{what} has no JSON form that the compiler knows; write it in an action, or pass its parts")

    def expr_Name(self, node: ast.Name) -> Value:
        for names in reversed(self.inner):
            if node.id in names:
                known = node.id in self.known().facts
                return self.retyped(names[node.id], t.without_none(names[node.id].type)) if known else names[node.id]
        if node.id == self.source.self_name:
            raise Refused(node, f"{node.id} is no JSON value; pass what is needed of it")
        if node.id in self.locals:
            variable = self.known().variables.get(node.id)
            if variable is None:
                if node.id in self.killed:
                    raise Rewrite(self.killed[node.id])
                raise Refused(node, f"{node.id} may have no value here; give it one on every way that leads here")
            if variable.type == t.BROKEN:
                raise Refused(node, "")
            names = frozenset([node.id]) if t.mutables_in(variable.type) else frozenset()
            return Value(self.name(node.id), variable.type, names=names)
        return self.constant_of(node)

    def constant_of(self, node: ast.expr) -> Value:
        found, value = self.unit.static(self, node)
        if not found:
            raise Refused(node, f"{ast.unparse(node)} is not known here; define it in the function, or as a constant of the module")
        if isinstance(value, type) or callable(value) and not isinstance(value, enum.Enum):
            raise Refused(node, f"{ast.unparse(node)} is no JSON value; call it")
        return self.constant(node, value)

    # Displays

    def expr_List(self, node: ast.List) -> Value:
        return self.elements(node, node.elts, lambda parts: t.List(t.join(parts)))

    def expr_Tuple(self, node: ast.Tuple) -> Value:
        return self.elements(node, node.elts, t.Tuple_)

    def elements(self, node: ast.expr, elts: Sequence[ast.expr], of: Callable[[Tuple[t.Type, ...]], t.Type]) -> Value:
        starred = [e for e in elts if isinstance(e, ast.Starred)]
        values = self.sequence(elts, lambda e: self.iterable(e.value) if isinstance(e, ast.Starred) else self.value(e))
        names = self.hold(v for e, v in zip(elts, values) if not isinstance(e, ast.Starred))
        raises = frozenset().union(*(v.raises for v in values))
        if not starred:
            kinds = tuple(v.type for v in values)
            return Value("[" + ", ".join(v.text for v in values) + "]", of(kinds), PRIMARY, raises, True, names, kinds)
        if isinstance(node, ast.Tuple):
            raise Refused(starred[0], "* in a tuple is not compiled; write a list")
        pieces: List[Tuple[bool, List[str]]] = []  # lists that are written out, and others
        for e, v in zip(elts, values):
            if isinstance(e, ast.Starred):
                pieces.append((False, [v.bound(SUM)]))
            elif pieces and pieces[-1][0]:
                pieces[-1][1].append(v.text)
            else:
                pieces.append((True, [v.text]))
        kind = t.join(self.element_of(v.type) if isinstance(e, ast.Starred) else v.type for e, v in zip(elts, values))
        text = " + ".join(f"[{', '.join(texts)}]" if written else texts[0] for written, texts in pieces)
        if len(pieces) == 1:
            return Value(f"list({text})", t.List(kind), PRIMARY, raises, True, names)
        return Value(text, t.List(kind), SUM, raises, True, names)

    def expr_Dict(self, node: ast.Dict) -> Value:
        order: List[ast.expr] = []
        for k, v in zip(node.keys, node.values):
            order += [v] if k is None else [k, v]
        values = iter(self.sequence(order))
        keys: List[Tuple[Optional[Value], Value]] = [(None if k is None else next(values), next(values)) for k in node.keys]
        for k_node, (k, v) in zip(node.keys, keys):
            if k is not None and k.type != t.STR:
                raise Refused(k_node, f"the keys of a dict are texts in JSON, this one is {self.article(k.type)}; write str(...), or a list of pairs")
        raises = frozenset().union(*(v.raises | (k.raises if k else frozenset()) for k, v in keys))
        names = self.hold(v for k, v in keys if k is not None)
        kind: t.Type = t.Dict_(t.join([v.type if k is not None else self.dict_value(node, v) for k, v in keys]))
        texts = [k.text for k, _ in keys if k is not None]
        fixed = all(k is None or k.literal for k, _ in keys) and len(set(texts)) == len(texts) or len(keys) == 1
        if fixed and all(k is not None for k, _ in keys):
            text = "{" + ", ".join(f"{k.text}: {v.text}" for k, v in keys if k is not None) + "}"
            return Value(text, kind, PRIMARY, raises, True, names)
        pieces = [f"[[{k.text}, {v.text}]]" if k is not None else f"{v.bound(PRIMARY)}.items()" for k, v in keys]
        return Value(f"dict({' + '.join(pieces)})", kind, PRIMARY, raises, True, names)

    def dict_value(self, node: ast.AST, v: Value) -> t.Type:
        """The type of the values of a dict."""
        if isinstance(v.type, t.Dict_):
            return v.type.value
        if isinstance(v.type, t.Keys):
            return t.join(part for part, _ in t.keys_of(v.type.cls).values())
        raise Refused(node, f"this is {self.article(v.type)}, not a dict with a type; say it with a hint: d: Dict[str, int] = ...")

    @staticmethod
    def article(kind: t.Type) -> str:
        text = str(kind)
        return text if kind in (t.NONE, t.ANY) and kind == t.NONE else ("an " if text[:1] in "aeiouAEIOU" else "a ") + text

    # f-strings

    def expr_JoinedStr(self, node: ast.JoinedStr) -> Value:
        fields = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
        values = iter(self.sequence(fields, self.expr))
        pieces, raises = [], frozenset()
        for part in node.values:
            if isinstance(part, ast.Constant):
                pieces.append(quote(part.value, node))
                continue
            assert isinstance(part, ast.FormattedValue)
            v = self.formatted(part, next(values))
            raises |= v.raises
            pieces.append(v.bound(SUM))
        return Value(" + ".join(pieces) or '""', t.STR, SUM if pieces else PRIMARY, raises)

    def formatted(self, node: ast.FormattedValue, v: Value) -> Value:
        if node.conversion not in (-1, ord("s")):
            raise Refused(node.value, f"!{chr(node.conversion)} prints as Python does; format the text in an action")
        text = self.text_of(node.value, v, "an f-string")
        if node.format_spec is None:
            return text
        spec = node.format_spec
        written = "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in spec.values) if isinstance(spec, ast.JoinedStr) else ""
        if written == "" and t.FLOAT in (v.type, *getattr(v.type, "members", ())):
            return text
        if written in ("", "s") and v.type == t.STR or written in ("", "d") and v.type == t.INT:
            return text
        places = written[1:-1]
        if v.type in (t.FLOAT, t.INT) and written[:1] == "." and written[-1:] in ("f", "%") and places.isascii() and places.isdecimal() and int(places) <= floats.PLACES_MOST:
            x = v.text if written[-1] == "f" else f"float({v.text}) * 100"
            number = floats.fixed(x, int(places), self.temporary)
            return Value(number + (' + "%"' if written[-1] == "%" else ""), t.STR, SUM, v.raises)
        plain = written[:-1] if written.endswith("d") and v.type == t.INT or written.endswith("s") and v.type == t.STR else written
        if v.type in (t.INT, t.STR):
            return self.padded(node, v, text, plain)
        raise Refused(node.value, f"the format {written!r} is not compiled for {self.article(v.type)}; format the text in an action")

    def padded(self, node: ast.FormattedValue, v: Value, text: Value, spec: str) -> Value:
        """Formats with a width: 5, <5, >5, and 05 for ints."""
        side = spec[:1] if spec[:1] in ("<", ">") else ""
        width = spec[len(side) :]
        zero = width.startswith("0") and v.type == t.INT and not side
        if not width.isdecimal() or not width.isascii() or width.startswith("0") and not zero or int(width) > 1000:
            raise Refused(node.value, f"the format {spec!r} is not compiled; write a width, as in {{x:5}}, {{x:<5}}, {{n:05}}, or format the text in an action")
        n = int(width)
        if zero:
            return self.twice(v, lambda x: f'(("-" if {x} < 0 else "") + "0" * ({n} - len(str({x}))) + str({x} if {x} >= 0 else -{x}))', t.STR)
        left = side == "<" or not side and v.type == t.STR
        pad = lambda x: f'" " * ({n} - len({x}.codepoints()))'  # noqa: E731
        return self.twice(text, lambda x: f"({x} + {pad(x)})" if left else f"({pad(x)} + {x})", t.STR)

    def text_of(self, node: ast.AST, v: Value, where: str) -> Value:
        """Gives what str() makes of a value."""
        if v.type == t.STR:
            return v
        if v.type == t.Caught():
            return Value(f'{v.bound(PRIMARY)}["message"]', t.STR, PRIMARY)
        members = v.type.members if isinstance(v.type, t.Union) else (v.type,)
        if all(m in (t.STR, t.INT, t.BOOL, t.NONE, t.NEVER) for m in members):
            return Value(f"str({v.text})", t.STR, PRIMARY, v.raises)
        if v.type == t.ANY:
            raise Refused(node, f"it is not known what this is, and {where} may print it otherwise; say it with a hint: x: str = ...")
        if all(m in (t.STR, t.INT, t.BOOL, t.NONE, t.FLOAT) for m in members):
            return self.printed_float(v, v.type == t.FLOAT)
        raise Refused(node, f"{self.article(v.type)} is printed otherwise than in Python; write the fields that are wanted, or format the text in an action")

    def printed_float(self, v: Value, certain: bool) -> Value:
        """Prints a float; what may be a text, too, is printed as it is."""
        if certain:
            return Value(floats.printed(v.text, self.temporary), t.STR, PRIMARY, v.raises)
        return self.twice(v, lambda x: f'({floats.printed(x, self.temporary)} if [{x}] != [str({x})] else {x})', t.STR)

    def twice(self, v: Value, write: Callable[[str], str], kind: t.Type) -> Value:
        """Gives an expression in which the text of another stands more than once, though it is evaluated once."""
        if v.literal or v.text.isidentifier():
            return Value(write(v.text if v.binding == PRIMARY else f"({v.text})"), kind, PRIMARY, v.raises)
        name = self.temporary()
        return Value(f"[{write(name)} for {name} in [{v.text}]][0]", kind, PRIMARY, v.raises)

    # What can be iterated over

    def iterable(self, node: ast.expr) -> Value:
        """Translates what a for goes through; the value is a list."""
        found, value = self.unit.static(self, node) if isinstance(node, (ast.Name, ast.Attribute)) else (False, None)
        if found and isinstance(value, type) and issubclass(value, enum.Enum):
            members = [self.constant(node, m).text for m in value]
            return Value("[" + ", ".join(members) + "]", t.List(t.Enum_(value)))
        if isinstance(node, ast.GeneratorExp):
            return self.comprehension(node, [node.elt], node.generators)
        if isinstance(node, ast.Set) and all(isinstance(e, ast.Constant) for e in node.elts):
            raise Refused(node, "a set has no order; write a list")
        return self.as_list(node, self.expr(node))

    def as_list(self, node: ast.AST, v: Value) -> Value:
        if isinstance(v.type, (t.List, t.Series)) or isinstance(v.type, t.Tuple_):
            return v
        if v.type == t.NEVER:
            return self.retyped(v, t.List(t.NEVER))
        if isinstance(v.type, (t.Dict_, t.Keys)):
            return Value(f"{v.bound(PRIMARY)}.keys()", t.List(t.STR), PRIMARY, v.raises)
        if v.type == t.STR:
            return Value(f"{v.bound(PRIMARY)}.codepoints()", t.List(t.STR), PRIMARY, v.raises)
        self.refuse_none(node, v)
        if v.type == t.ANY:
            raise Refused(node, "it is not known what this is, and only a list is iterated over in the same way; say it with a hint: xs: List[int] = ...")
        raise Refused(node, f"{self.article(v.type)} cannot be iterated over; write a list")

    def refuse_none(self, node: ast.AST, v: Value) -> None:
        if isinstance(v.type, t.Union) and t.NONE in v.type.members:
            raise Refused(node, f"this may be None here; check it first: if {ast.unparse(node)} is not None:")

    def element_of(self, kind: t.Type) -> t.Type:
        if isinstance(kind, (t.List, t.Series)):
            return kind.element
        if isinstance(kind, t.Tuple_):
            return t.join(t.parts_of(kind))
        return t.ANY

    # Comprehensions

    def expr_ListComp(self, node: ast.ListComp) -> Value:
        if self.has_effect(node.elt) or any(self.has_effect(i) for g in node.generators for i in g.ifs + ([g.iter] if g is not node.generators[0] else [])):
            return self.unrolled(node)
        return self.comprehension(node, [node.elt], node.generators)

    def expr_DictComp(self, node: ast.DictComp) -> Value:
        if self.has_effect(node.key) or self.has_effect(node.value):
            raise Refused(node, "a dict comprehension that runs actions is not compiled; write a for and d[key] = value")
        return self.comprehension(node, [node.key, node.value], node.generators)

    def comprehension(self, node: ast.expr, wanted: Sequence[ast.expr], generators: Sequence[ast.comprehension]) -> Value:
        """Translates a comprehension of the elements wanted: one of a list, two of a dict."""
        clauses, raises, outer = [], frozenset(), len(self.inner)
        scope = self.known()
        try:
            for i, g in enumerate(generators):
                if g.is_async:
                    raise Refused(g.target, "async for is not compiled; await the list first")
                with self.within("a comprehension") if i else self.within(self.conditional):
                    over = self.iterable(g.iter)
                raises |= over.raises
                self.inner.append({})
                self.scope = self.known().copy()
                clauses.append(f"for {self.target(g.target, self.element_of(over.type))} in {over.bound(CONDITIONAL + 1)}")
                with self.within("a comprehension"):
                    for condition in g.ifs:
                        test = self.truth(condition)
                        raises |= test.raises
                        clauses.append(f"if {test.bound(CONDITIONAL + 1)}")
                        self.scope = self.known().copy()
                        self.scope.narrow(condition, True)
            with self.within("a comprehension"):
                values = [self.value(e) for e in wanted]
        finally:
            del self.inner[outer:]
            scope.share(n for n, v in self.known().variables.items() if not v.owned)
            self.scope = scope
        raises |= frozenset().union(*(v.raises for v in values))
        names = self.hold(values)
        if len(values) == 1:
            return Value(f"[{values[0].text} {' '.join(clauses)}]", t.List(values[0].type), PRIMARY, raises, True, names)
        if values[0].type != t.STR:
            raise Refused(wanted[0], f"the keys of a dict are texts in JSON, this one is {self.article(values[0].type)}; write str(...), or a list of pairs")
        return Value(f"{{{values[0].text}: {values[1].text} {' '.join(clauses)}}}", t.Dict_(values[1].type), PRIMARY, raises, True, names)

    def target(self, node: ast.expr, kind: t.Type) -> str:
        """Binds the names of a for of a comprehension."""
        if isinstance(node, ast.Name):
            text = self.name(node.id)
            self.inner[-1][node.id] = Value(text, kind)
            self.known().forget(node.id)
            return text
        if isinstance(node, (ast.Tuple, ast.List)):
            return ", ".join(
                f"[{self.target(e, k)}]" if isinstance(e, (ast.Tuple, ast.List)) else self.target(e, k)
                for e, k in zip(node.elts, self.unpacked(node, kind))
            )
        raise Refused(node, "a for binds names; write for x in xs, or for x, y in pairs")

    def unpacked(self, node: ast.AST, kind: t.Type) -> Tuple[t.Type, ...]:
        """The types of the elements of a tuple that is unpacked in a place where its length must be known."""
        count = len(node.elts)  # type: ignore[attr-defined]
        if any(isinstance(e, ast.Starred) for e in node.elts):  # type: ignore[attr-defined]
            raise Refused(node, "* in what is assigned to is not compiled; write slices: first, rest = xs[0], xs[1:]")
        if isinstance(kind, t.Tuple_) and kind.rest is None:
            if len(kind.parts) != count:
                raise Refused(node, f"a tuple of {len(kind.parts)} cannot be unpacked into {count} names")
            return kind.parts
        raise Refused(node, f"{self.article(kind)} may have another number of elements than {count}; go through it with one name, and write x[0], x[1]")

    # Parts that other files have

    def truth(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def unrolled(self, node: ast.ListComp) -> Value:
        raise NotImplementedError


class Rewrite(Exception):
    """A name is read after a loop that became a spread, which gives it none: the loop must stay one."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


Names = Dict[str, Value]

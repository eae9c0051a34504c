"""Python's own functions, as far as they mean the same in the language or can be written in it."""

import ast
import builtins
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import floats
from . import types as t
from .access import Access
from .errors import MESSAGES, TOO_LARGE
from .operators import ordered
from .problems import Refused
from .scope import CONDITIONAL, PRIMARY, SUM, UNARY, Value
from .text import quote

#: What to write instead of functions that mean something else in a durable workflow, or nothing.
_INSTEAD = {
    "print": "a workflow does no input or output: it may run again from its middle; print in an action",
    "input": "a workflow does no input or output; read in an action, and pass what is read as an argument of run",
    "open": "a workflow does no input or output; read and write files in an action",
    "set": "a set is no JSON value; write a list, or sorted(...)",
    "frozenset": "a set is no JSON value; write a list, or sorted(...)",
    "map": "write a list comprehension: [f(x) for x in xs]",
    "filter": "write a list comprehension: [x for x in xs if f(x)]",
    "repr": "repr prints as Python does; format the text in an action",
    "type": "write type(e).__name__ of a caught exception, or isinstance(e, ...)",
    "getattr": "write the field: x.name",
    "setattr": "write the field: x.name = value",
    "hasattr": "what has which field is known from its hint; write the field: x.name",
    "iter": "write for x in xs",
    "next": "write xs[0], or a for with break",
    "eval": "what is evaluated is not known before; write an action",
    "exec": "what is run is not known before; write an action",
    "id": "objects have no identity in JSON; compare them with ==",
    "hash": "a hash is another one in each process; compute it in an action",
    "divmod": "write a // b and a % b",
    "pow": "multiply, or compute it in an action",
    "vars": "write the fields that are wanted",
    "locals": "write the names that are wanted",
    "globals": "pass what is needed as an argument of run",
    "super": "write the method of the base class in a helper method of another name",
    "bytes": "bytes are no JSON value; convert them in an action",
    "object": "an object without fields is no JSON value; write None or a text",
    "complex": "complex numbers are no JSON values; compute with them in an action",
    "chr": "write the character, or convert it in an action",
    "ord": "convert it in an action",
    "slice": "write xs[a:b]",
}


class Functions(Access):
    """Translates calls of Python's own functions."""

    def builtin(self, node: ast.Call, name: str) -> Value:
        method: Optional[Callable[[ast.Call], Value]] = getattr(self, "call_" + name, None)
        if method is None:
            raise Refused(node, _INSTEAD.get(name, f"{name} is not compiled; write it with simpler expressions, or in an action"))
        for a in node.args:
            if isinstance(a, ast.Starred):
                raise Refused(a, "* is compiled in lists and asyncio.gather only; write the arguments one by one")
        return method(node)

    def only(self, node: ast.Call, least: int, most: int, keywords: Tuple[str, ...] = ()) -> Dict[str, ast.expr]:
        """Checks the arguments of a call, and gives those with a name."""
        given = {k.arg: k.value for k in node.keywords if k.arg is not None}
        wrong = [k for k in given if k not in keywords] + ["**" for k in node.keywords if k.arg is None]
        if wrong or not least <= len(node.args) <= most:
            what = ast.unparse(node.func)
            raise Refused(node, f"{what} is compiled with {least if least == most else f'{least} to {most}'} arguments{' and ' + ', '.join(keywords) if keywords else ''}")
        return given

    def call_len(self, node: ast.Call) -> Value:
        self.only(node, 1, 1)
        v = self.expr(node.args[0])
        self.refuse_none(node.args[0], v)
        if v.type == t.STR:
            return Value(f"len({v.bound(PRIMARY)}.codepoints())", t.INT, PRIMARY, v.raises)
        if isinstance(v.type, (t.List, t.Dict_, t.Keys, t.Tuple_)) or isinstance(v.type, t.Series) and v.type.name not in ("enumerate", "zip", "reversed"):
            return Value(f"len({v.text})", t.INT, PRIMARY, v.raises)
        raise Refused(node, f"len of {self.article(v.type)} is not compiled; say with a hint what it is: xs: List[int] = ...")

    def call_range(self, node: ast.Call) -> Value:
        self.only(node, 1, 3)
        values = self.sequence(node.args, self.operand)
        for a, v in zip(node.args, values):
            if v.type != t.INT:
                raise Refused(a, f"range counts with ints, this is {self.article(v.type)}; write int(...), or a hint")
        raises = frozenset().union(*(v.raises for v in values))
        if len(values) == 3 and not (values[2].literal and values[2].text != "0"):
            if self.is_caught("ValueError") is not None:
                values[2] = self.simple(node.args[2], values[2])
                self.guard(node, "ValueError", f"{values[2].bound(UNARY)} == 0", quote(MESSAGES["range step"]))
            else:
                raises |= {"ValueError"}
        return Value(f"range({', '.join(v.text for v in values)})", t.Series(t.INT, "range"), PRIMARY, raises)

    def call_enumerate(self, node: ast.Call) -> Value:
        keywords = self.only(node, 1, 2, ("start",))
        start = keywords.get("start", node.args[1] if len(node.args) > 1 else None)
        v = self.iterable(node.args[0])
        text = v.text
        if start is not None:
            s = self.operand(start)
            if s.type != t.INT:
                raise Refused(start, f"enumerate counts with ints, this is {self.article(s.type)}")
            text += f", {s.text}"
        kind = t.Series(t.Tuple_((t.INT, self.element_of(v.type))), "enumerate")
        return Value(f"enumerate({text})", kind, PRIMARY, v.raises)

    def call_zip(self, node: ast.Call) -> Value:
        if node.keywords:
            raise Refused(node, "zip is compiled without strict=; compare the lengths first")
        self.only(node, 1, 100)
        values = self.sequence(node.args, self.iterable)
        raises = frozenset().union(*(v.raises for v in values))
        kind = t.Series(t.Tuple_(tuple(self.element_of(v.type) for v in values)), "zip")
        return Value(f"zip({', '.join(v.text for v in values)})", kind, PRIMARY, raises)

    def call_reversed(self, node: ast.Call) -> Value:
        self.only(node, 1, 1)
        over = node.args[0]
        v = self.iterable(over)
        if isinstance(over, ast.GeneratorExp) or isinstance(v.type, t.Series) and v.type.name in ("enumerate", "zip", "reversed"):
            raise Refused(over, f"Python cannot reverse {'a generator' if isinstance(over, ast.GeneratorExp) else self.article(v.type)}; write reversed(list(...))")
        return Value(f"reversed({v.text})", t.Series(self.element_of(v.type), "reversed"), PRIMARY, v.raises)

    def call_list(self, node: ast.Call) -> Value:
        self.only(node, 0, 1)
        if not node.args:
            return Value("[]", t.List(t.NEVER), fresh=True)
        v = self.iterable(node.args[0])
        return Value(f"list({v.text})", t.List(self.element_of(v.type)), PRIMARY, v.raises, True)

    def call_tuple(self, node: ast.Call) -> Value:
        self.only(node, 0, 1)
        if not node.args:
            return Value("[]", t.Tuple_(()), fresh=True)
        v = self.iterable(node.args[0])
        kind = v.type if isinstance(v.type, t.Tuple_) else t.Tuple_((), self.element_of(v.type))
        return Value(f"list({v.text})", kind, PRIMARY, v.raises, True)

    def call_dict(self, node: ast.Call) -> Value:
        if len(node.args) > 1 or any(k.arg is None for k in node.keywords):
            raise Refused(node, "dict is compiled with one argument and names; write {**a, **b}")
        pieces, kinds, raises, names = [], [], frozenset(), frozenset()
        values = iter(self.sequence(node.args, self.expr) + self.sequence([k.value for k in node.keywords]))
        if node.args:
            v = next(values)
            raises |= v.raises
            element = self.element_of(v.type)
            if isinstance(v.type, (t.Dict_, t.Keys)):
                kinds.append(self.dict_value(node, v))
            elif isinstance(element, t.Tuple_) and len(element.parts) == 2 and element.parts[0] == t.STR:
                kinds.append(element.parts[1])
            else:
                raise Refused(node.args[0], "dict is compiled of a dict, or of pairs whose first part is a text; write a dict comprehension")
            pieces.append(v.text)
        for k in node.keywords:
            v = next(values)
            raises |= v.raises
            names |= self.hold([v])
            kinds.append(v.type)
            pieces.append(f"{k.arg}={v.text}")
        return Value(f"dict({', '.join(pieces)})", t.Dict_(t.join(kinds)), PRIMARY, raises, True, names)

    # Numbers and texts

    def call_str(self, node: ast.Call) -> Value:
        self.only(node, 0, 1)
        if not node.args:
            return Value('""', t.STR, literal=True)
        return self.text_of(node.args[0], self.expr(node.args[0]), "str")

    def call_bool(self, node: ast.Call) -> Value:
        self.only(node, 0, 1)
        if not node.args:
            return Value("False", t.BOOL, literal=True)
        v = self.truth(node.args[0])
        return Value(f"bool({v.text})", t.BOOL, PRIMARY, v.raises)

    def call_int(self, node: ast.Call) -> Value:
        self.only(node, 0, 1)
        if not node.args:
            return Value("0", t.INT, literal=True)
        v = self.operand(node.args[0])
        if v.type == t.STR:
            raise Refused(node, "int of a text reads other texts than in Python; convert it in an action, or take an int as input")
        if not t.is_number(v.type):
            raise Refused(node, f"int of {self.article(v.type)} is not compiled; convert it in an action")
        return Value(v.text if v.type == t.INT else f"int({v.text})", t.INT, v.binding if v.type == t.INT else PRIMARY, v.raises)

    def call_float(self, node: ast.Call) -> Value:
        self.only(node, 0, 1)
        if not node.args:
            return Value("0.0", t.FLOAT, literal=True)
        v = self.operand(node.args[0])
        if not t.is_number(v.type):
            raise Refused(node, f"float of {self.article(v.type)} is not compiled; convert it in an action, or take a float as input")
        return Value(f"float({v.text})", t.FLOAT, PRIMARY, v.raises)

    def call_abs(self, node: ast.Call) -> Value:
        self.only(node, 1, 1)
        v = self.number(node.args[0], "abs")
        return self.twice(v, lambda x: f"({x} if {x} > 0 else 0 - {x})", v.type)

    def whole(self, node: ast.Call, up: bool) -> Value:
        """math.floor and math.ceil"""
        self.only(node, 1, 1)
        v = self.number(node.args[0], "this")
        if v.type == t.INT:
            return v
        if up:
            return Value(f"-int(-{v.bound(PRIMARY)} // 1)", t.INT, UNARY, v.raises)
        return Value(f"int({v.bound(PRIMARY)} // 1)", t.INT, PRIMARY, v.raises)

    def call_round(self, node: ast.Call) -> Value:
        keywords = self.only(node, 1, 2, ("ndigits",))
        v = self.number(node.args[0], "round")
        places = keywords.get("ndigits", node.args[1] if len(node.args) > 1 else None)
        if places is not None and not (isinstance(places, ast.Constant) and places.value is None):
            return self.round_to(node, v, places)
        if v.type == t.INT:
            return v
        half = self.temporary()
        up = f"(1 if {half}[0] - {half}[1] > 0 else -1)"
        rest = f"({half}[0] - {half}[1])"
        far = f"({rest} > 0.5 or {rest} < -0.5)"
        tie = f"(({rest} == 0.5 or {rest} == -0.5) and {half}[1] % 2 == 1)"
        x = self.temporary()
        pair = f"[{x}, int({x})] for {x} in [{v.text}]"
        return Value(f"[{half}[1] + ({up} if {far} or {tie} else 0) for {half} in [{pair}]][0]", t.INT, PRIMARY, v.raises)

    def round_to(self, node: ast.Call, v: Value, places: ast.expr) -> Value:
        """round(x, 2)"""
        if not (isinstance(places, ast.Constant) and type(places.value) is int and 0 <= places.value <= floats.PLACES_MOST) or v.type != t.FLOAT:
            raise Refused(node, f"round to places is compiled for floats, and 0 to {floats.PLACES_MOST} places that stand here; compute it in an action")
        text = floats.rounded(v.text, places.value, f"{{}}[{quote(TOO_LARGE)}]", self.temporary)
        return Value(text, t.FLOAT, PRIMARY, v.raises)

    def number(self, node: ast.expr, what: str) -> Value:
        v = self.operand(node)
        if not t.is_number(v.type) and v.type != t.NEVER:
            raise Refused(node, f"{what} of {self.article(v.type)} is not compiled; say with a hint what it is: x: int = ...")
        return v

    # Lists

    def call_sum(self, node: ast.Call) -> Value:
        keywords = self.only(node, 1, 2, ("start",))
        start = keywords.get("start", node.args[1] if len(node.args) > 1 else None)
        v = self.iterable(node.args[0])
        kind = self.element_of(v.type)
        if kind == t.BOOL:
            name = self.temporary()
            v, kind = Value(f"[int({name}) for {name} in {v.bound(CONDITIONAL + 1)}]", t.List(t.INT), PRIMARY, v.raises), t.INT
        if t.FLOAT == kind:
            raise Refused(node, "sum of floats rounds otherwise in each version of Python; add in a for, or in an action")
        if kind not in (t.INT, t.NEVER):
            raise Refused(node, f"sum is compiled for ints, these are each {self.article(kind)}; say it with a hint: xs: List[int] = ..., or add in a for")
        if start is None:
            return Value(f"sum({v.text})", t.INT, PRIMARY, v.raises)
        s = self.number(start, "sum")
        if s.type != t.INT:
            raise Refused(start, "sum is compiled with an int to start from")
        return Value(f"{s.bound(SUM)} + sum({v.text})", t.INT, SUM, v.raises | s.raises)

    def call_any(self, node: ast.Call) -> Value:
        return self.quantifier(node, "any")

    def call_all(self, node: ast.Call) -> Value:
        return self.quantifier(node, "all")

    def quantifier(self, node: ast.Call, what: str) -> Value:
        self.only(node, 1, 1)
        argument = node.args[0]
        if isinstance(argument, ast.GeneratorExp):
            self.generator_test(argument)
        v = self.iterable(argument)
        if isinstance(argument, ast.GeneratorExp) and v.raises:
            raise Refused(argument, f"this may raise {', '.join(sorted(v.raises))}, and {what} stops before it in Python; write a for with break")
        self.need_truth(argument, Value("", self.element_of(v.type)))
        return Value(f"{what}({v.text})", t.BOOL, PRIMARY, v.raises)

    def generator_test(self, node: ast.GeneratorExp) -> None:
        if self.has_effect(node):
            raise Refused(node, "actions are run in statements; write a for with break")

    def call_min(self, node: ast.Call) -> Value:
        return self.extreme(node, "min")

    def call_max(self, node: ast.Call) -> Value:
        return self.extreme(node, "max")

    def extreme(self, node: ast.Call, what: str) -> Value:
        keywords = self.only(node, 1, 100, ("key", "default"))
        if len(node.args) > 1:
            values = self.sequence(node.args)
            kind = t.join(v.type for v in values)
            self.hold(values)
            listed = Value("[" + ", ".join(v.text for v in values) + "]", t.List(kind), PRIMARY, frozenset().union(*(v.raises for v in values)))
            if "default" in keywords:
                raise Refused(node, f"{what} of several values takes no default")
        else:
            listed = self.iterable(node.args[0])
            kind = self.element_of(listed.type)
        made = self.sorted_by(node, listed, keywords.get("key"), what == "max") if "key" in keywords else None
        if made is None:
            self.need_order(node, kind)
        if "default" in keywords:
            d = self.value(keywords["default"])
            if d.raises:
                raise Refused(keywords["default"], "Python evaluates the default in any case; assign it to a name first")
            pick = (lambda x: f"{x}[0][2]") if made else (lambda x: f"{what}({x})")
            return self.twice(made or listed, lambda x: f"({pick(x)} if {x} else {d.bound(CONDITIONAL + 1)})", t.join([kind, d.type]))
        if len(node.args) == 1:
            if self.is_caught("ValueError") is not None or made and not self.conditional:
                listed = self.simple(node, listed)
                if not self.guard(node, "ValueError", f"not {listed.bound(UNARY)}", quote(MESSAGES[what])):
                    self.always(node, "ValueError", f"not {listed.bound(UNARY)}", quote(MESSAGES[what]))
                made = self.sorted_by(node, listed, keywords.get("key"), what == "max") if made else None
                raises = frozenset()
            else:
                raises = listed.raises | {"ValueError"}
        else:
            raises = listed.raises
        text = f"{made.bound(PRIMARY)}[0][2]" if made else f"{what}({listed.text})"
        return Value(text, kind, PRIMARY, raises)

    def call_sorted(self, node: ast.Call) -> Value:
        keywords = self.only(node, 1, 1, ("key", "reverse"))
        listed = self.iterable(node.args[0])
        kind = self.element_of(listed.type)
        return self.sort(node, listed, kind, keywords)

    def sort(self, node: ast.Call, listed: Value, kind: t.Type, keywords: Dict[str, ast.expr]) -> Value:
        """Translates sorted and list.sort."""
        backward = keywords.get("reverse")
        if "key" not in keywords:
            self.need_order(node, kind)
            text = listed.text
            if backward is not None:
                text += f", reverse={self.condition_of(backward)}"
            return Value(f"sorted({text})", t.List(kind), PRIMARY, listed.raises, True)
        if backward is not None and not isinstance(backward, ast.Constant):
            raise Refused(backward, "with key=, reverse must be True or False in the text")
        made = self.sorted_by(node, listed, keywords["key"], bool(backward and backward.value))  # type: ignore[attr-defined]
        name = self.temporary()
        return Value(f"[{name}[2] for {name} in {made.text}]", t.List(kind), PRIMARY, made.raises, True)

    def condition_of(self, node: ast.expr) -> str:
        return f"bool({self.truth(node).text})"

    def need_order(self, node: ast.AST, kind: t.Type) -> None:
        if kind != t.NEVER and not ordered(kind, kind):
            raise Refused(node, f"values such as {self.article(kind)} are not ordered in the same way; write key=, or say with a hint what they are: xs: List[int] = ...")

    def sorted_by(self, node: ast.Call, listed: Value, key: Optional[ast.expr], backward: bool) -> Value:
        """Gives a list of [key, place, element], ordered as Python orders the elements; equal ones stay in their order."""
        x, i = self.temporary(), self.temporary()
        element = Value(x, self.element_of(listed.type))
        k = self.key_of(key, element) if key is not None and not (isinstance(key, ast.Constant) and key.value is None) else element
        self.need_order(key or node, k.type)
        if k.raises and self.all_caught() & k.raises:
            raise Refused(key, f"this may raise {', '.join(sorted(k.raises))}, which a try catches; compute the keys in a for before")
        place, option = (f"-{i}", ", reverse=True") if backward else (i, "")
        text = f"sorted([[{k.text}, {place}, {x}] for {i}, {x} in enumerate({listed.text})]{option})"
        return Value(text, t.List(t.ANY), PRIMARY, listed.raises | k.raises, True)

    def key_of(self, key: ast.expr, element: Value) -> Value:
        if isinstance(key, ast.Lambda):
            a = key.args
            if len(a.args) != 1 or a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
                raise Refused(key, "the lambda of a key has one argument: key=lambda x: ...")
            self.inner.append({a.args[0].arg: element})
            outer = self.known()
            self.scope = outer.copy()
            self.scope.forget(a.args[0].arg)
            try:
                with self.within("a key"):
                    return self.value(key.body)
            finally:
                self.inner.pop()
                self.scope = outer
        found, function = self.unit.static(self, key)
        if found and function in (len, abs, int, float, str, bool):
            name = ast.Name(id="element", ctx=ast.Load())
            call = ast.copy_location(ast.Call(func=key, args=[ast.copy_location(name, key)], keywords=[]), key)
            self.inner.append({"element": element})
            try:
                with self.within("a key"):
                    return self.builtin(call, function.__name__)
            finally:
                self.inner.pop()
        raise Refused(key, "a key is a lambda, or one of len, abs, int, float, str, bool; write key=lambda x: ...")

    def call_isinstance(self, node: ast.Call) -> Value:
        self.only(node, 2, 2)
        v = self.expr(node.args[0])
        if v.type != t.Caught():
            raise Refused(node, "what a value is is known from its hint; write is not None for an Optional one (isinstance is compiled for caught exceptions)")
        names = self.error_names(node.args[1])
        if "Exception" in names:
            return Value("True", t.BOOL, literal=True)
        return Value(f'{v.bound(PRIMARY)}["type"] in [{", ".join(map(quote, names))}]', t.BOOL, SUM - 1)

    def error_names(self, node: ast.expr) -> List[str]:
        raise NotImplementedError


def is_builtin(value: Any) -> bool:
    """Says whether a value is one of Python's own functions or classes of values."""
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and getattr(builtins, name, None) is value

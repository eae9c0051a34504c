"""Operators: arithmetic, comparison, conditions."""

import ast
import enum
from typing import Callable, Optional, Tuple

from . import types as t
from .errors import MESSAGES, NEGATIVE_POWER, TOO_LARGE
from .expressions import Expressions
from .problems import NeedsStatement, Refused
from .scope import AND, COMPARISON, CONDITIONAL, NOT, OR, PRIMARY, PRODUCT, SUM, UNARY, Value, merged
from .text import quote

_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
_COMPARISON = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in", ast.Is: "==", ast.IsNot: "!="}

#: Up to this, an int is a float exactly.
EXACT = 2**53


class Operators(Expressions):
    """Translates operators."""

    # Arithmetic

    def expr_BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.sequence([node.left, node.right], self.operand)
        return self.arithmetic(node, node.op, node.left, a, node.right, b)

    def operand(self, node: ast.expr) -> Value:
        """Translates something that an operator is applied to: a bool as the int that it is."""
        v = self.value(node)
        self.refuse_none(node, v)
        if v.type == t.ANY:
            raise Refused(node, "it is not known what this is, and operators mean other things for other types; say it with a hint: x: int = ...")
        if v.type == t.BOOL:
            return Value(f"int({v.text})", t.INT, PRIMARY, v.raises)
        return v

    def arithmetic(self, node: ast.AST, op: ast.operator, left: ast.expr, a: Value, right: ast.expr, b: Value) -> Value:
        sign = _ARITHMETIC.get(type(op))
        if isinstance(op, ast.Pow):
            return self.power(node, a, right, b)
        if isinstance(op, ast.BitOr) and isinstance(a.type, t.Dict_) and isinstance(b.type, t.Dict_):
            return Value(f"dict({a.bound(PRIMARY)}.items() + {b.bound(PRIMARY)}.items())", t.join([a.type, b.type]), PRIMARY, a.raises | b.raises, True)
        if sign is None:
            raise Refused(node, f"the operator of {ast.unparse(node) if isinstance(node, ast.expr) else 'this'} is not compiled; write it in an action")
        raises = a.raises | b.raises
        if t.NEVER in (a.type, b.type):
            return Value(f"{a.bound(PRIMARY)} {sign} {b.bound(PRIMARY)}", b.type if a.type == t.NEVER else a.type, SUM, raises)
        if t.is_number(a.type) and t.is_number(b.type):
            if sign in "+-*":
                kind = t.INT if a.type == b.type == t.INT else t.FLOAT
                level = PRODUCT if sign == "*" else SUM
                return Value(f"{a.bound(level)} {sign} {b.bound(level + 1)}", kind, level, raises)
            return self.division(node, sign, a, right, b)
        names: "frozenset[str]" = frozenset()
        text = f"{a.bound(SUM)} + {b.bound(PRODUCT)}"
        if sign == "+" and a.type == b.type == t.STR:
            return Value(text, t.STR, SUM, raises)
        if sign == "+" and isinstance(a.type, t.List) and isinstance(b.type, t.List):
            return Value(text, t.join([a.type, b.type]), SUM, raises, True, names)
        if sign == "+" and isinstance(a.type, t.Tuple_) and isinstance(b.type, t.Tuple_) and a.type.rest is None and b.type.rest is None:
            return Value(text, t.Tuple_(a.type.parts + b.type.parts), SUM, raises, True, names)
        if sign == "*":
            for x, n in ((a, b), (b, a)):
                if n.type == t.INT and (x.type == t.STR or isinstance(x.type, t.List)):
                    return Value(f"{a.bound(PRODUCT)} * {b.bound(UNARY)}", x.type, PRODUCT, raises, True, names)
        if sign == "%" and a.type == t.STR:
            raise Refused(node, "% prints as Python does; write an f-string")
        raise Refused(node, f"{sign} of {self.article(a.type)} and {self.article(b.type)} is not compiled; convert one of them first")

    def division(self, node: ast.AST, sign: str, a: Value, right: ast.expr, b: Value) -> Value:
        whole = a.type == b.type == t.INT
        if sign != "/" and not whole:
            raise Refused(node, f"{sign} of floats rounds otherwise than in Python; compute it in an action, or with ints")
        raises = a.raises | b.raises
        if not (b.literal and b.text.strip("-") not in ("0", "0.0")):
            if self.is_caught("ZeroDivisionError") is not None:
                if not a.literal and a.raises:
                    a = self.simple(node, a)
                b = self.simple(right, b)
                self.guard(node, "ZeroDivisionError", f"{b.bound(COMPARISON + 1)} == 0", quote(MESSAGES[sign if whole else "f/"]))
            else:
                raises |= {"ZeroDivisionError"}
        if sign == "/" and whole:
            return self.quotient(a, b, raises)
        return Value(f"{a.bound(PRODUCT)} {sign} {b.bound(UNARY)}", t.FLOAT if sign == "/" else t.INT, PRODUCT, raises)

    def quotient(self, a: Value, b: Value, raises: "frozenset[str]") -> Value:
        """Divides ints.  The language makes floats of them first, which changes large ones: these end the workflow."""

        def divide(x: Value, y: Value) -> Value:
            large = [v.bound(COMPARISON + 1) for v in (x, y) if not is_small(v)]
            text = f"{x.bound(PRODUCT)} / {y.bound(UNARY)}"
            if not large:
                return Value(text, t.FLOAT, PRODUCT, raises)
            exact = " and ".join(f"{-EXACT} <= {v} and {v} <= {EXACT}" for v in large)
            return Value(f"({text} if {exact} else {{}}[{quote(TOO_LARGE)}])", t.FLOAT, PRIMARY, raises)

        def named(v: Value) -> bool:
            return v.literal or v.text.isidentifier() or is_small(v)

        if named(a) and named(b):
            return divide(a, b)
        x, y = self.temporary(), self.temporary()
        inner = divide(Value(x, t.INT), b if named(b) else Value(y, t.INT))
        clauses = f"for {x} in [{a.text}]" + ("" if named(b) else f" for {y} in [{b.text}]")
        return Value(f"[{inner.text} {clauses}][0]", t.FLOAT, PRIMARY, raises)

    def power(self, node: ast.AST, a: Value, right: ast.expr, b: Value) -> Value:
        if a.literal and b.literal and a.type == b.type == t.INT and 0 <= int(b.text) <= 1024 and len(a.text) < 20:
            return self.constant(node, int(a.text) ** int(b.text))
        if a.type == t.INT and isinstance(right, ast.Constant) and type(right.value) is int and 0 <= right.value <= 16:
            if right.value == 0:
                return Value("1", t.INT, PRIMARY, a.raises, literal=True)
            n = right.value
            return self.twice(a, lambda x: "(" + " * ".join([x] * n) + ")", t.INT)
        if a.literal and a.type == b.type == t.INT and 2 <= int(a.text) <= 36:
            # A digit 1 and n zeros, read in the base.
            wanted = f'{{}}[{quote(NEGATIVE_POWER)}]'
            return self.twice(b, lambda n: f'(int("1" + "0" * {n}, base={a.text}) if {n} >= 0 else {wanted})', t.INT)
        raise Refused(node, "** is compiled for ints if the exponent is a number from 0 to 16 that stands here, or the base one from 2 to 36; multiply, or compute it in an action")

    def expr_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            v = self.truth(node.operand)
            return Value(f"not {v.bound(NOT)}", t.BOOL, NOT, v.raises)
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
            return self.constant(node, -node.operand.value)
        v = self.operand(node.operand)
        if isinstance(node.op, ast.Invert) or not t.is_number(v.type):
            raise Refused(node, f"this operator of {self.article(v.type)} is not compiled; write it in an action")
        if isinstance(node.op, ast.UAdd):
            return v
        return Value(f"-{v.bound(PRIMARY)}", v.type, UNARY, v.raises)

    # Comparison

    def expr_Compare(self, node: ast.Compare) -> Value:
        nodes = [node.left] + node.comparators
        if len(nodes) == 2:
            a, b = self.sequence(nodes, self.compared)
            return self.comparison(node, node.ops[0], nodes[0], a, nodes[1], b)
        values = [self.repeatable(n, v) for n, v in zip(nodes[:2], self.sequence(nodes[:2], self.compared))]
        with self.within("a chained comparison"):
            values += [self.compared(n) for n in nodes[2:]]
        parts = [
            self.comparison(node, op, nodes[i], values[i], nodes[i + 1], values[i + 1]) for i, op in enumerate(node.ops)
        ]
        raises = frozenset().union(*(p.raises for p in parts))
        return Value(" and ".join(p.bound(NOT) for p in parts), t.BOOL, AND, raises)

    def repeatable(self, node: ast.expr, v: Value) -> Value:
        """Gives a value whose text may stand twice: nothing in it does anything, so that this only costs time."""
        return v

    def compared(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Set):
            values = self.sequence(node.elts)
            self.hold(values)
            if any(isinstance(v.type, (t.List, t.Dict_, t.Record)) for v in values):
                raise Refused(node, "such values cannot be in a set; write a list")
            return Value("[" + ", ".join(v.text for v in values) + "]", t.List(t.join(v.type for v in values)))
        v = self.expr(node)
        if v.type == t.Caught():
            raise Refused(node, "an exception is compared by its class: write isinstance(e, ...), or str(e) == ...")
        return v

    def comparison(self, node: ast.Compare, op: ast.cmpop, left: ast.expr, a: Value, right: ast.expr, b: Value) -> Value:
        if isinstance(op, (ast.Is, ast.IsNot)):
            self.need_identity(node, left, a, right, b)
        elif isinstance(op, (ast.Eq, ast.NotEq)):
            a, b = self.need_equality(node, a, b)
        elif isinstance(op, (ast.In, ast.NotIn)):
            a, b = self.membership(node, a, right, b)
        else:
            a, b = self.as_int(a), self.as_int(b)
            if not ordered(a.type, b.type):
                self.refuse_none(left, a)
                self.refuse_none(right, b)
                raise Refused(node, f"{self.article(a.type)} and {self.article(b.type)} are not compared in the same way; compare numbers with numbers, and texts with texts")
        raises = a.raises | b.raises
        return Value(f"{a.bound(COMPARISON + 1)} {_COMPARISON[type(op)]} {b.bound(COMPARISON + 1)}", t.BOOL, COMPARISON, raises)

    @staticmethod
    def as_int(v: Value) -> Value:
        return Value(f"int({v.text})", t.INT, PRIMARY, v.raises) if v.type == t.BOOL else v

    def need_identity(self, node: ast.Compare, left: ast.expr, a: Value, right: ast.expr, b: Value) -> None:
        if t.NONE in (a.type, b.type):
            return
        if isinstance(a.type, t.Enum_) and a.type == b.type or a.type == b.type == t.BOOL:
            return
        raise Refused(node, "objects have no identity in JSON; write == or != (is is compiled for None, bools and members of an Enum)")

    def need_equality(self, node: ast.Compare, a: Value, b: Value) -> Tuple[Value, Value]:
        if {a.type, b.type} <= {t.BOOL, t.INT, t.FLOAT} and a.type != b.type:
            a, b = self.as_int(a), self.as_int(b)
        why = unequal(a.type, b.type)
        if why:
            raise Refused(node, why)
        return a, b

    def membership(self, node: ast.Compare, a: Value, right: ast.expr, b: Value) -> Tuple[Value, Value]:
        self.refuse_none(right, b)
        if b.type == t.STR:
            if a.type != t.STR:
                raise Refused(node, f"in a text there are texts only, this is {self.article(a.type)}")
            return a, b
        if isinstance(b.type, (t.Dict_, t.Keys)):
            if a.type != t.STR:
                raise Refused(node, f"the keys of a dict are texts, this is {self.article(a.type)}")
            return a, b
        if isinstance(b.type, (t.List, t.Tuple_, t.Series)):
            element = self.element_of(b.type)
            if {a.type, element} <= {t.BOOL, t.INT, t.FLOAT} and a.type != element and t.BOOL == a.type:
                a = self.as_int(a)
            why = unequal(a.type, element)
            if why:
                raise Refused(node, why)
            return a, b
        raise Refused(node, f"in is compiled for lists, tuples, dicts and texts, this is {self.article(b.type)}; say it with a hint: xs: List[str] = ...")

    # Conditions

    def truth(self, node: ast.expr) -> Value:
        """Translates a condition."""
        if isinstance(node, ast.BoolOp):
            return self.bool_op(node, True)
        v = self.expr(node)
        return self.need_truth(node, v)

    def need_truth(self, node: ast.expr, v: Value) -> Value:
        members = v.type.members if isinstance(v.type, t.Union) else (v.type,)
        for m in members:
            why = untrue(m)
            if why:
                raise Refused(node, why)
        return v

    def expr_BoolOp(self, node: ast.BoolOp) -> Value:
        return self.bool_op(node, False)

    def bool_op(self, node: ast.BoolOp, condition: bool) -> Value:
        """Translates and, or: as a condition, or as a value, which is one of the operands."""
        return self.inline_or_not(lambda: self.bool_op_inline(node, condition), lambda: self.bool_op_apart(node, condition))

    def inline_or_not(self, inline: Callable[[], Value], apart: Callable[[], Value]) -> Value:
        """Translates something as an expression if it can be one, else as statements."""
        if self.conditional:
            return inline()
        mark, before, temporaries = self.writer.mark(), self.known().copy(), self.temporaries
        inner = len(self.inner)
        try:
            return inline()
        except NeedsStatement:
            self.writer.cut(mark)
            del self.inner[inner:]
            self.scope, self.temporaries = before, temporaries
            return apart()

    def bool_op_apart(self, node: ast.BoolOp, condition: bool) -> Value:
        """a and b, where b needs statements: x = a; if x: x = b"""
        conjunction = isinstance(node.op, ast.And)
        values = [self.need_truth(node.values[0], self.expr(node.values[0]))]
        made = self.hoist(node, (values[0].text, node.values[0]))
        for i, at in enumerate(node.values[1:], 1):
            outer = self.known().copy()
            self.writer.line(at, f"if {made}:" if conjunction else f"if not {made}:")
            self.writer.depth += 1
            for before in node.values[:i]:
                self.known().narrow(before, conjunction)
            v = self.expr(at)
            values.append(v if at is node.values[-1] and not condition else self.need_truth(at, v))
            self.writer.line(at, f"{made} = ", (v.text, at))
            self.writer.depth -= 1
            self.scope = merged([outer, self.scope])
        if not condition:
            for n, v in zip(node.values, values):
                self.need_value(n, v)
        kinds = [v.type for v in values]
        if not conjunction:
            kinds[:-1] = [t.without_none(k) for k in kinds[:-1]]
        names = frozenset().union(*(v.names for v in values))
        return Value(made, t.BOOL if condition else t.join(kinds), fresh=all(v.fresh for v in values), names=names)

    def bool_op_inline(self, node: ast.BoolOp, condition: bool) -> Value:
        conjunction = isinstance(node.op, ast.And)
        level, word = (AND, "and") if conjunction else (OR, "or")
        values = [self.need_truth(node.values[0], self.expr(node.values[0]))]
        outer = self.known()
        try:
            for before, at in zip(node.values, node.values[1:]):
                self.scope = self.known().copy()
                self.scope.narrow(before, conjunction)
                with self.within(f"the right side of {word}"):
                    last = at is node.values[-1]
                    v = self.expr(at)
                    values.append(v if last and not condition else self.need_truth(at, v))
        finally:
            outer.share(n for n, v in self.known().variables.items() if not v.owned)
            self.scope = outer
        if not condition:
            for n, v in zip(node.values, values):
                self.need_value(n, v)
        kinds = [v.type for v in values]
        if not conjunction:
            kinds[:-1] = [t.without_none(k) for k in kinds[:-1]]
        raises = frozenset().union(*(v.raises for v in values))
        names = frozenset().union(*(v.names for v in values))
        text = f" {word} ".join(v.bound(level + 1) for v in values)
        return Value(text, t.BOOL if condition else t.join(kinds), level, raises, all(v.fresh for v in values), names)

    def expr_IfExp(self, node: ast.IfExp) -> Value:
        return self.inline_or_not(lambda: self.if_inline(node), lambda: self.if_apart(node))

    def if_apart(self, node: ast.IfExp) -> Value:
        """a if c else b, where a part needs statements: if c: x = a, else: x = b"""
        test = self.truth(node.test)
        made, values, ends = self.temporary(), [], []
        before = self.known()
        for word, branch, holds in ((f"if {test.text}:", node.body, True), ("else:", node.orelse, False)):
            self.writer.line(branch, word)
            self.writer.depth += 1
            self.scope = before.copy()
            self.scope.narrow(node.test, holds)
            v = self.value(branch)
            values.append(v)
            self.writer.line(branch, f"{made} = ", (v.text, branch))
            self.writer.depth -= 1
            ends.append(self.scope)
        self.scope = merged(ends)
        a, b = values
        return Value(made, t.join([a.type, b.type]), fresh=a.fresh and b.fresh, names=a.names | b.names)

    def if_inline(self, node: ast.IfExp) -> Value:
        test = self.truth(node.test)
        values = []
        for branch, holds in ((node.body, True), (node.orelse, False)):
            with self.assuming(node.test, holds), self.within("a conditional expression"):
                values.append(self.value(branch))
        a, b = values
        raises = test.raises | a.raises | b.raises
        text = f"{a.bound(OR)} if {test.bound(OR)} else {b.bound(CONDITIONAL)}"
        return Value(text, t.join([a.type, b.type]), CONDITIONAL, raises, a.fresh and b.fresh, a.names | b.names)


def is_small(v: Value) -> bool:
    """Says whether an int is known to be a float exactly."""
    return v.text.startswith("len(") and v.text.count("(") == 1 or v.literal and abs(int(v.text)) <= EXACT


def ordered(a: t.Type, b: t.Type) -> bool:
    """Says whether < and > mean the same for values of two types."""
    if t.NEVER in (a, b):
        return True
    if t.is_number(a) and t.is_number(b) or a == b == t.STR or a == b == t.BOOL:
        return True
    if isinstance(a, t.List) and isinstance(b, t.List):
        return t.NEVER in (a.element, b.element) or ordered(a.element, b.element)
    if isinstance(a, t.Tuple_) and isinstance(b, t.Tuple_) and a.rest is None and b.rest is None:
        return all(ordered(x, y) for x, y in zip(a.parts, b.parts))
    return False


def unequal(a: t.Type, b: t.Type) -> Optional[str]:
    """Says why == does not mean the same for values of two types; None if it does."""
    if t.NEVER in (a, b):
        return None
    if isinstance(a, t.Union) or isinstance(b, t.Union):
        for x in a.members if isinstance(a, t.Union) else (a,):
            for y in b.members if isinstance(b, t.Union) else (b,):
                why = unequal(x, y)
                if why:
                    return why
        return None
    if a == t.NONE or b == t.NONE:
        return None
    if t.ANY in (a, b):
        return None if t.STR in (a, b) else "it is not known what one side is, and True == 1 in Python only; say it with a hint: x: int = ..."
    if t.is_number(a) and t.is_number(b):
        return None
    if {a, b} <= {t.BOOL, t.INT, t.FLOAT}:
        return None if a == b else "a bool and a number are equal in Python only: True == 1; write int(...)"
    for x, y in ((a, b), (b, a)):
        if isinstance(x, t.Opaque):
            return f"a {x} is a text here, and may be equal in Python only; compare in an action"
        if isinstance(x, t.Enum_) and x != y and not (isinstance(y, t.Scalar) and not issubclass(x.cls, (str, int, float))):
            return f"a member of {x} and {y} are compared by their values here; write x.value"
        if isinstance(x, t.Enum_) and x != y:
            return f"a member of {x} is never equal to a {y}; write x.value"
        if isinstance(x, t.Tuple_) and isinstance(y, t.List):
            return "a tuple is never equal to a list in Python; write list(...)"
        if isinstance(x, (t.Record, t.Keys)) and isinstance(y, (t.Record, t.Keys, t.Dict_)) and x != y and not (isinstance(x, t.Keys) and isinstance(y, (t.Keys, t.Dict_))):
            return f"a {x} is never equal to a {y} in Python; compare their fields"
        if isinstance(x, t.Record) and not t.compares_fields(x.cls):
            return f"{x} says itself which of its objects are equal; compare their fields"
        if isinstance(x, t.Series):
            return f"{x} is not compared in the same way; write list(...)"
    if isinstance(a, (t.Record, t.Keys)) and a == b:
        return next((why for why in map(_unequal_part, _inside(a)) if why), None)
    for x, y in zip(t.parts_of(a), t.parts_of(b)) if type(a) is type(b) else ():
        why = unequal(x, y)
        if why:
            return why
    return None


def _inside(kind: t.Type) -> "list[t.Type]":
    """The types of all that a value holds, at any depth."""
    seen: "list[t.Type]" = []
    todo = list(t.parts_of(kind))
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.append(at)
            todo.extend(t.parts_of(at))
    return seen


def _unequal_part(kind: t.Type) -> Optional[str]:
    """Says why two values of a type that objects hold are not compared in the same way."""
    if isinstance(kind, (t.Record, t.Keys)):
        return f"{kind} says itself which of its objects are equal; compare their fields" if isinstance(kind, t.Record) and not t.compares_fields(kind.cls) else None
    if isinstance(kind, t.Union):
        return "a bool and a number are equal in Python only: True == 1; compare the fields" if t.BOOL in kind.members and {t.INT, t.FLOAT} & set(kind.members) else None
    return unequal(kind, kind) if not t.parts_of(kind) else None


def untrue(kind: t.Type) -> Optional[str]:
    """Says why a value of a type cannot be a condition; None if it can."""
    if isinstance(kind, t.Series):
        return None if kind.name == "range" or kind.name.startswith("dict") else f"{kind} always counts as true in Python; write list(...)"
    if kind == t.Caught():
        return "an exception always counts as true; leave it out"
    if isinstance(kind, t.Opaque):
        return f"a {kind} is a text here, and may count as true otherwise; compute it in an action"
    if isinstance(kind, t.Record):
        if hasattr(kind.cls, "__bool__") or hasattr(kind.cls, "__len__"):
            return f"{kind} says itself what counts as true; compute it in an action"
        return None if t.fields_of(kind.cls) else f"a {kind} always counts as true in Python; write is not None"
    if isinstance(kind, t.Enum_):
        own = any("__bool__" in c.__dict__ or "__len__" in c.__dict__ for c in kind.cls.__mro__ if c not in (int, str, float, bool, object, enum.Enum))
        falsy = not issubclass(kind.cls, (int, str, float)) and not all(m.value for m in kind.cls)
        if own or falsy:
            return f"a member of {kind} counts as true otherwise in Python; compare it with ==, or write is not None"
    return None

"""Calls that are statements of the language: actions, functions of the workflow, gather, sleep; and calls of classes."""

import ast
import asyncio
import dataclasses
import enum
import inspect
import math
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..definitions import Action, DefinitionError, milliseconds
from ..signals import wait_signal
from . import types as t
from .functions import is_builtin
from .methods import Methods
from .problems import Refused
from .scope import CONDITIONAL, PRIMARY, Value
from .text import Segment, quote


@dataclasses.dataclass
class Rhs:
    """What stands right of an equals sign."""

    segments: List[Segment]
    value: Value
    block: Optional[List[List[Segment]]] = None  # of a parallel
    sleeps: bool = False


_AWAIT = {
    asyncio.wait_for: "write the time in the action: @action(timeout=...)",
    asyncio.create_task: "write await asyncio.gather(...), which runs calls at the same time",
    asyncio.ensure_future: "write await asyncio.gather(...), which runs calls at the same time",
    asyncio.wait: "write await asyncio.gather(...), which waits for all",
    asyncio.as_completed: "write await asyncio.gather(...): results come in the order of the calls",
    asyncio.shield: "write the call alone: nothing cancels an action but the end of the workflow",
}
if hasattr(asyncio, "to_thread"):
    _AWAIT[asyncio.to_thread] = "write @action above the function"


class Invocations(Methods):
    """Translates calls."""

    def expr_Await(self, node: ast.Await) -> Value:
        return self.hoisted(node, self.awaited(node))

    def hoisted(self, node: ast.expr, rhs: Rhs) -> Value:
        """Writes a statement for a call inside an expression, and gives the variable that has its result."""
        raise NotImplementedError

    def expr_Call(self, node: ast.Call) -> Value:
        rhs = self.invocation(node)
        if rhs is not None:
            return self.hoisted(node, rhs)
        func = node.func
        found, callee = self.unit.static(self, func)
        if not found:
            if isinstance(func, ast.Attribute) and not (isinstance(func.value, ast.Name) and func.value.id == self.source.self_name):
                return self.method(node, func)
            if isinstance(func, ast.Attribute):
                raise Refused(node, f"the class has no method {func.attr}")
            if isinstance(func, ast.Name):
                self.expr(func)
            raise Refused(node, f"{ast.unparse(func)} is no function that is known here; write a method of the workflow, or an action")
        if is_builtin(callee) and not (isinstance(callee, type) and issubclass(callee, BaseException)):
            return self.builtin(node, callee.__name__)
        if isinstance(callee, type) and issubclass(callee, BaseException):
            raise Refused(node, "an exception is no JSON value; raise it")
        if isinstance(callee, type) and issubclass(callee, enum.Enum):
            raise Refused(node, f"{ast.unparse(func)}(...) may raise ValueError; say with a hint that the value is one: x: {ast.unparse(func)} = ..., or write {ast.unparse(func)}.NAME")
        if isinstance(callee, type):
            return self.construct(node, callee)
        if callee is dataclasses.replace:
            return self.replaced(node)
        if callee in (math.floor, math.ceil):
            return self.whole(node, callee is math.ceil)
        raise Refused(node, self.unit.instead_of(node, callee))

    # Classes

    def construct(self, node: ast.Call, cls: type) -> Value:
        """Translates the making of a dataclass, a pydantic model, a NamedTuple or a TypedDict."""
        kind = self.unit.type_of_class(node, cls)
        if isinstance(kind, t.Keys):
            return self.construct_keys(node, kind)
        if isinstance(kind, t.Tuple_) and kind.names:
            given = self.arguments(node, list(kind.names), cls.__name__, dict(cls._field_defaults))  # type: ignore[attr-defined]
            values = dict(given)
            made = [values[n] if n in values else self.constant(node, cls._field_defaults[n]) for n in kind.names]  # type: ignore[attr-defined]
            self.need_fields(node, cls, dict(zip(kind.names, kind.parts)), list(zip(kind.names, made)))
            return self.display(made, lambda texts: "[" + ", ".join(texts) + "]", kind)
        if not isinstance(kind, t.Record):
            raise Refused(node, f"{cls.__name__}(...) runs Python; make it in an action, or make the class a dataclass")
        fields, positional, defaults = self.unit.constructor(node, cls)
        given = dict(self.arguments(node, positional, cls.__name__, defaults, list(fields)))
        values = [(n, given[n] if n in given else self.constant(node, defaults[n])) for n in fields]
        self.need_fields(node, cls, fields, values)
        return self.display([v for _, v in values], lambda texts: "{" + ", ".join(f"{quote(n)}: {x}" for n, x in zip(fields, texts)) + "}", kind)

    def construct_keys(self, node: ast.Call, kind: t.Keys) -> Value:
        if node.args or any(k.arg is None for k in node.keywords):
            raise Refused(node, f"write {kind}(name=value)")
        keys = {n: part for n, (part, _) in t.keys_of(kind.cls).items()}
        values = list(zip([k.arg or "" for k in node.keywords], self.sequence([k.value for k in node.keywords])))
        for n, _ in values:
            if n not in keys:
                raise Refused(node, f"{kind} has no key {n}; it has {', '.join(keys)}")
        self.need_fields(node, kind.cls, keys, values)
        names = [n for n, _ in values]
        return self.display([v for _, v in values], lambda texts: "{" + ", ".join(f"{quote(n)}: {x}" for n, x in zip(names, texts)) + "}", kind)

    def display(self, values: Sequence[Value], write: Any, kind: t.Type) -> Value:
        raises = frozenset().union(*(v.raises for v in values))
        names = self.hold(values)
        return Value(write([v.text for v in values]), kind, PRIMARY, raises, True, names)

    def need_fields(self, node: ast.Call, cls: type, fields: Dict[str, t.Type], values: Sequence[Tuple[str, Value]]) -> None:
        """Checks the values of fields: a model would convert others, and a value that does not fit its hint does not travel."""
        strict = not dataclasses.is_dataclass(cls)
        for n, v in values:
            if not t.fits(v.type, fields[n]) or strict and fields[n] == t.FLOAT and v.type == t.INT:
                raise Refused(node, f"{n} of {cls.__name__} is {self.article(fields[n])}, this is {self.article(v.type)}; convert it first")
            if v.type == t.ANY and fields[n] != t.ANY:
                raise Refused(node, f"it is not known what {n} is, and whether it is {self.article(fields[n])}; say it with a hint: x: ... = ...")

    def replaced(self, node: ast.Call) -> Value:
        if len(node.args) != 1 or any(k.arg is None for k in node.keywords):
            raise Refused(node, "write dataclasses.replace(x, field=value)")
        v, *values = self.sequence([node.args[0]] + [k.value for k in node.keywords])
        if not isinstance(v.type, t.Record):
            raise Refused(node, f"replace is compiled for dataclasses, this is {self.article(v.type)}")
        self.unit.constructor(node, v.type.cls)
        fields = t.fields_of(v.type.cls)
        for k in node.keywords:
            if k.arg not in fields:
                raise Refused(node, f"{v.type} has no field {k.arg}; it has {', '.join(fields)}")
        pairs = [(k.arg or "", x) for k, x in zip(node.keywords, values)]
        self.need_fields(node, v.type.cls, fields, pairs)
        text = f"dict({v.text}.items() + [{', '.join(f'[{quote(n)}, {x.text}]' for n, x in pairs)}])" if v.binding == PRIMARY else f"dict(({v.text}).items() + [{', '.join(f'[{quote(n)}, {x.text}]' for n, x in pairs)}])"
        return Value(text, v.type, PRIMARY, v.raises.union(*(x.raises for x in values)), True, self.hold(values))

    # Arguments

    def arguments(
        self, node: ast.Call, positional: Sequence[str], what: str, defaults: Dict[str, Any], names: Optional[Sequence[str]] = None
    ) -> List[Tuple[str, Value]]:
        """Translates the arguments of a call, by name, in the order of the text."""
        known = list(positional) if names is None else list(names)
        order: List[Tuple[str, ast.expr]] = []
        for i, a in enumerate(node.args):
            if isinstance(a, ast.Starred):
                raise Refused(a, "* in arguments is not compiled; write them one by one")
            if i >= len(positional):
                raise Refused(a, f"{what} takes {len(positional)} arguments by position: {', '.join(positional) or 'none'}")
            order.append((positional[i], a))
        for k in node.keywords:
            if k.arg is None:
                raise Refused(k.value, "** in arguments is not compiled; write them one by one")
            if known and k.arg not in known and "**" not in known or not known:
                raise Refused(k.value, f"{what} has no argument {k.arg}; it has {', '.join(known) or 'none'}")
            if k.arg in [n for n, _ in order]:
                raise Refused(k.value, f"the argument {k.arg} is given twice; remove one")
            order.append((k.arg, k.value))
        missing = [n for n in known if n != "**" and n not in [m for m, _ in order] and n not in defaults]
        if missing:
            raise Refused(node, f"{what} needs {', '.join(missing)}; write {missing[0]}=...")
        return list(zip([n for n, _ in order], self.sequence([a for _, a in order])))

    # Actions and functions

    def invocation(self, node: ast.expr) -> Optional[Rhs]:
        """Translates a call that is a statement of the language; gives None for all others."""
        if isinstance(node, ast.Await):
            return self.awaited(node)
        if not isinstance(node, ast.Call):
            return None
        found, callee = self.unit.static(self, node.func)
        if not found:
            return None
        if inspect.iscoroutinefunction(callee) and (getattr(callee, "__pulley_action__", None) or self.unit.source_of(callee)) or callee in (asyncio.sleep, asyncio.gather, wait_signal):
            raise Refused(node, f"await is missing; write await {ast.unparse(node.func)}(...)")
        return self.called(node, callee, None)

    def awaited(self, node: ast.Await) -> Rhs:
        call = node.value
        if not isinstance(call, ast.Call):
            raise Refused(node, "await is compiled before a call of an action, of a method of the workflow, asyncio.gather, asyncio.sleep and wait_signal")
        found, callee = self.unit.static(self, call.func)
        if not found:
            raise Refused(call, f"{ast.unparse(call.func)} is not known here; define it in the module, or as a method of the workflow")
        if callee is asyncio.sleep:
            return self.slept(call)
        if callee is asyncio.gather:
            return self.gathered(call)
        if callee in _AWAIT:
            raise Refused(call, f"{ast.unparse(call.func)} is not compiled; {_AWAIT[callee]}")
        if (getattr(callee, "__pulley_action__", None) or self.unit.source_of(callee)) and not inspect.iscoroutinefunction(callee):
            raise Refused(node, f"{ast.unparse(call.func)} is no async def, and its result cannot be awaited; remove await, or write async def")
        rhs = self.called(call, callee, None)
        if rhs is None:
            raise Refused(call, f"{ast.unparse(call.func)} is no action; write @action above its definition")
        return rhs

    def called(self, node: ast.Call, callee: Any, over: Optional[Dict[str, Value]]) -> Optional[Rhs]:
        """Translates a call of an action or a function of the workflow."""
        if callee is wait_signal:
            return self.signaled(node)
        action = getattr(callee, "__pulley_action__", None)
        if isinstance(action, Action):
            return self.act(node, action)
        source = self.unit.source_of(callee)
        return None if source is None else self.run(node, callee)

    def act(self, node: ast.Call, action: Action) -> Rhs:
        shape = self.unit.shape_of(node, action)
        given = self.arguments(node, shape.positional, ast.unparse(node.func), shape.optional, shape.names)
        for n, v in given:
            wanted = shape.types.get(n, t.ANY)
            if not t.fits(v.type, wanted):
                raise Refused(node, f"{n} of {ast.unparse(node.func)} is {self.article(wanted)} by its hint, this is {self.article(v.type)}; pass what it takes")
            self.need_all(node, f"{n} of {ast.unparse(node.func)}", v.type, wanted)
        segments: List[Segment] = [(f"@{action.name}(", node)]
        for i, (n, v) in enumerate(given):
            segments += [(", " if i else "", None), (f"{n}=", None), (v.text, node)]
            if t.may_share(v.type, shape.result):
                self.share(v)
        segments.append((")" + policies(action), None))
        return Rhs(segments, Value("", shape.result))

    def need_all(self, node: ast.AST, what: str, kind: t.Type, wanted: t.Type) -> None:
        """Checks that a hint says all that a value is, so that it comes back as it was."""
        missing = t.lost(kind, wanted)
        if missing is not None:
            instead = "write a list, or the hint Tuple[...]" if isinstance(missing, t.Tuple_) else f"write the hint {missing}"
            raise Refused(node, f"{what} has {self.article(missing)}, and the hint does not say so; {instead}")

    def run(self, node: ast.Call, callee: Any) -> Rhs:
        made = self.unit.function(node, callee, self.all_caught())
        if made.result.type == t.BROKEN:
            raise Refused(node, "")
        given = self.arguments(node, made.parameters, ast.unparse(node.func), made.defaults)
        for n, v in given:
            if not t.fits(v.type, made.types[n]) or v.type == t.ANY != made.types[n] and made.types[n] != t.ANY:
                raise Refused(node, f"{n} of {ast.unparse(node.func)} is {self.article(made.types[n])} by its hint, this is {self.article(v.type)}; pass what it takes")
            self.need_all(node, f"{n} of {ast.unparse(node.func)}", v.type, made.types[n])
            if t.may_share(v.type, made.result.type):
                self.share(v)
        names = [n for n, _ in given]
        given += [(n, self.constant(node, made.defaults[n])) for n in made.parameters if n not in names]
        segments: List[Segment] = [(f"{made.label}(", node)]
        for i, (n, v) in enumerate(given):
            segments += [(", " if i else "", None), (f"{self.name(n)}=", None), (v.text, node)]
        segments.append((")", None))
        return Rhs(segments, Value("", made.result.type, fresh=made.result.fresh))

    def slept(self, node: ast.Call) -> Rhs:
        if len(node.args) != 1 or node.keywords:
            raise Refused(node, "asyncio.sleep is compiled with one argument, the seconds")
        v = self.operand(node.args[0])
        if not t.is_number(v.type):
            raise Refused(node.args[0], f"asyncio.sleep takes seconds, this is {self.article(v.type)}")
        if not v.literal or v.text.startswith("-"):
            v = self.twice(v, lambda x: f"({x} if {x} > 0 else 0)", v.type)
        return Rhs([(v.text, node)], Value("None", t.NONE, literal=True), sleeps=True)

    def signaled(self, node: ast.Call) -> Rhs:
        """Translates a wait for a signal, whose timeout is a policy of the call."""
        given = {k.arg: k.value for k in node.keywords}
        policy = ""
        if "timeout" in given:
            policy = self.signal_timeout(given["timeout"])
        rest = ast.Call(func=node.func, args=node.args, keywords=[k for k in node.keywords if k.arg != "timeout"])
        (_, name), = self.arguments(ast.copy_location(rest, node), ["name"], ast.unparse(node.func), {}, ["name"])
        if name.type != t.STR:
            raise Refused(node, f"the name of a signal is a text, this is {self.article(name.type)}; write one such as 'approved'")
        return Rhs([("@wait_signal(name=", node), (name.text, node), (")" + policy, None)], Value("", t.ANY))

    def signal_timeout(self, node: ast.expr) -> str:
        try:
            ms = milliseconds("wait_signal", "timeout", ast.literal_eval(node))
        except (ValueError, DefinitionError):
            raise Refused(node, 'the timeout of wait_signal is a literal: seconds, or a text such as "72h"') from None
        if ms == 0:
            raise Refused(node, "the timeout of wait_signal is 0; write a time above 0, or leave it out")
        return "" if ms is None else f" [timeout: {ms}ms]"

    # gather

    def gathered(self, node: ast.Call) -> Rhs:
        if node.keywords:
            raise Refused(node, f"{node.keywords[0].arg}= of gather is not compiled; catch errors in a method of the workflow, and gather its calls")
        if len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            spread = node.args[0].value
            if isinstance(spread, (ast.ListComp, ast.GeneratorExp)):
                return self.spread(node, spread.elt, spread.generators)
            raise Refused(node.args[0], "write the calls there: asyncio.gather(*[f(x) for x in xs])")
        if not node.args:
            return Rhs([("[]", node)], Value("[]", t.List(t.NEVER), fresh=True, parts=()))
        self.need_one_way(node)
        lines, kinds = [], []
        for a in node.args:
            rhs = self.branch(a)
            lines.append(rhs.segments)
            kinds.append(rhs.value.type)
        return Rhs([("parallel:", node)], Value("", t.List(t.join(kinds)), fresh=True, parts=tuple(kinds)), lines)

    def need_one_way(self, node: ast.Call) -> None:
        """Checks that no call needs a statement between its branches: Python evaluates all arguments first."""

    def branch(self, node: ast.expr) -> Rhs:
        """Translates a call that runs concurrently with others."""
        if isinstance(node, ast.Starred):
            raise Refused(node, "* beside other calls is not compiled; gather the list alone")
        if isinstance(node, ast.Await):
            raise Refused(node, "await inside gather runs its call before the others; remove it")
        found, callee = self.unit.static(self, node.func) if isinstance(node, ast.Call) else (False, None)
        if not found or not inspect.iscoroutinefunction(callee) or not isinstance(node, ast.Call):
            raise Refused(node, "gather runs calls of async actions and async methods of the workflow; write them there")
        rhs = self.called(node, callee, None)
        if rhs is None:
            raise Refused(node, f"{ast.unparse(node.func)} is no action; write @action above its definition")
        return rhs

    def spread(self, node: ast.expr, call: ast.expr, generators: Sequence[ast.comprehension]) -> Rhs:
        """Translates a call for each element of a list, all at the same time."""
        g = generators[0]
        if len(generators) > 1:
            return self.spread_over(node, call, generators)
        if g.ifs or not isinstance(g.target, ast.Name):
            return self.spread_over(node, call, generators)
        over = self.iterable(g.iter)
        return self.spread_each(node, call, over, {g.target.id: self.element_of(over.type)}, g.target.id)

    def spread_over(self, node: ast.expr, call: ast.expr, generators: Sequence[ast.comprehension]) -> Rhs:
        """Spreads over the list of what the names of a comprehension stand for."""
        names = [n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        if len(names) == 1 and len(set(names)) == 1:
            over = self.comprehension(node, [ast.copy_location(ast.Name(id=names[0], ctx=ast.Load()), node)], generators)
            return self.spread_each(node, call, over, {names[0]: self.element_of(over.type)}, names[0])
        if len(set(names)) != len(names):
            raise Refused(node, "two names of a comprehension are the same; give them different ones")
        elements = [ast.copy_location(ast.Name(id=n, ctx=ast.Load()), node) for n in names]
        row = ast.copy_location(ast.Tuple(elts=elements, ctx=ast.Load()), node)
        over = self.comprehension(node, [row], generators)
        item = self.temporary()
        parts = t.parts_of(self.element_of(over.type))
        return self.spread_each(node, call, over, {}, item, {n: Value(f"{item}[{i}]", k) for i, (n, k) in enumerate(zip(names, parts))})

    def spread_each(
        self, node: ast.expr, call: ast.expr, over: Value, types: Dict[str, t.Type], item: str, names: Optional[Dict[str, Value]] = None
    ) -> Rhs:
        self.inner.append(names if names is not None else {n: Value(self.name(n), k) for n, k in types.items()})
        try:
            with self.within("the calls of gather"):
                rhs = self.branch(call)
        finally:
            self.inner.pop()
        segments: List[Segment] = [("spread ", None), (over.bound(CONDITIONAL + 1), node), (f":{self.name(item)} -> ", None)] + rhs.segments
        return Rhs(segments, Value("", t.List(rhs.value.type), fresh=True))


def policies(action: Action) -> str:
    """Writes the retries and the timeout of an action."""
    text = ""
    if action.retry:
        types = [n for n in action.retry_on if n != "Exception"] if "Exception" not in action.retry_on else []
        if "TimeoutError" in types:
            types.append("Timeout")
        text += " [" + (", ".join(types) + " -> " if types else "") + f"retry: {action.retry}"
        if action.backoff_ms is not None:
            text += f", backoff: {action.backoff_ms}ms"
        text += "]"
    if action.timeout_ms is not None:
        text += f" [timeout: {action.timeout_ms}ms]"
    return text

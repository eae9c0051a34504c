"""Loops, and what runs at the same time instead of one after the other."""

import ast
import inspect
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from ..definitions import Action
from . import types as t
from .function import Loop, loads
from .invocations import Rhs
from .methods import CHANGERS
from .problems import Refused
from .scope import CONDITIONAL, Scope, Value, merged
from .statements import Statements
from .text import Deeper

#: Rounds after which the state at the head of a loop must be stable.
ROUNDS = 50


class Loops(Statements):
    """Translates loops."""

    def stmt_For(self, node: ast.For) -> None:
        if self.as_spread(node):
            return
        over = self.iterable(node.iter)
        self.need_unchanged(node)
        kind = self.element_of(over.type)
        head, unpack = self.loop_targets(node.target, kind)

        def write(loop: Loop) -> "tuple[Optional[Scope], Optional[Scope]]":
            after = self.known().copy()
            self.writer.line(node, f"for {head} in ", (over.bound(CONDITIONAL + 1), node.iter), ":")
            with Deeper(self.writer):
                unpack()
                self.block(node.body)
            return self.scope, after

        self.loop(node, node.body, node.orelse, write)

    def loop_targets(self, target: ast.expr, kind: t.Type) -> "tuple[str, Callable[[], None]]":
        """Gives the names of a for, and what binds the others at the begin of its body."""
        if isinstance(target, ast.Name):
            return self.name(target.id), lambda: self.assign(target.id, Value("", kind))
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Refused(target, "a for binds names; write for x in xs, or for x, y in pairs")
        elts = target.elts
        if any(isinstance(e, ast.Starred) for e in elts):
            raise Refused(target, "* in what is assigned to is not compiled; unpack in the body with slices")
        kinds = self.kinds_of(target, Value("", kind), len(elts))
        if kinds is not None and len(elts) == 2 and all(isinstance(e, ast.Name) for e in elts) and elts[0].id != elts[1].id:  # type: ignore[attr-defined]
            return ", ".join(self.name(e.id) for e in elts), lambda: self.bind(elts, kinds, Value("", kind))  # type: ignore[attr-defined]
        item = self.temporary()

        def unpack() -> None:
            wanted = kinds
            if wanted is None:
                self.check_length(target, item, len(elts))
                wanted = (self.element_of(kind),) * len(elts)
            self.spread_out(target, elts, item, wanted)

        return item, unpack

    def need_unchanged(self, node: ast.For) -> None:
        """Checks that the body does not change in place what the loop goes through."""
        it: ast.expr = node.iter
        if isinstance(it, (ast.ListComp, ast.BinOp, ast.List, ast.Tuple)) or isinstance(it, ast.Subscript) and isinstance(it.slice, ast.Slice):
            return
        if isinstance(it, ast.Call) and isinstance(it.func, ast.Name) and it.func.id in ("list", "sorted", "tuple", "range", "dict"):
            return
        both = changed_in(node.body) & loads([it])
        if both:
            name = sorted(both)[0]
            raise Refused(node.iter, f"{name} changes while the loop goes through it; write for ... in list({name})")

    def stmt_While(self, node: ast.While) -> None:
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)

        def write(loop: Loop) -> "tuple[Optional[Scope], Optional[Scope]]":
            mark = self.writer.mark()
            self.writer.depth += 1
            try:
                test = self.truth(node.test)
            finally:
                self.writer.depth -= 1
            before = self.writer.cut(mark)
            after = self.known().copy()
            after.narrow(node.test, False)
            if before:
                self.writer.line(node, "while True:")
                self.writer.paste(before)
            else:
                self.writer.line(node, "while ", (test.text, node.test), ":")
            with Deeper(self.writer):
                if before:
                    self.writer.line(node.test, "if ", (self.negated(test), node.test), ":")
                    with Deeper(self.writer):
                        self.writer.line(node.test, "break")
                self.known().narrow(node.test, True)
                self.block(node.body)
            return self.scope, None if endless else after

        self.loop(node, node.body, node.orelse, write)

    def loop(
        self, node: ast.stmt, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt],
        write: "Callable[[Loop], tuple[Optional[Scope], Optional[Scope]]]",
    ) -> None:
        """Writes a loop, again and again until the state at its head is the one that its body leads back to."""
        flag = ""
        if orelse and has_break(body):
            flag = self.temporary()
            self.writer.line(node, f"{flag} = False")
        entry = self.known().copy()
        start, returns, problems, temporaries = self.writer.mark(), len(self.returns), self.unit.mark(), self.temporaries
        said: List[Any] = []
        for _ in range(ROUNDS):
            loop = Loop(flag)
            self.loops.append(loop)
            self.scope = entry.copy()
            try:
                end, after = write(loop)
            except Refused:
                self.unit.problems.found += said
                raise
            finally:
                self.loops.pop()
            back = merged([entry, end, *loop.continues])
            assert back is not None
            if back == entry:
                break
            entry = back
            self.writer.cut(start)
            del self.returns[returns:]
            said += self.unit.back(problems)
            self.temporaries = temporaries
        else:
            raise Refused(node, "the types of the variables of this loop do not become certain; say them with hints")
        if any(v.type == t.BROKEN for v in entry.variables.values()):
            self.unit.problems.found += [p for p in said if p not in self.unit.problems.found]  # the last round is silent about them
        if not orelse:
            self.scope = merged([after, *loop.breaks])
            self.changed()
            return
        self.scope = after
        if self.scope is None:
            self.scope = merged(loop.breaks)
            return  # the loop has no other end
        if flag:
            self.writer.line(node, f"if not {flag}:")
            with Deeper(self.writer):
                self.block(orelse)
        else:
            self.block(orelse)
        self.scope = merged([self.scope, *loop.breaks])
        self.changed()

    def stmt_Break(self, node: ast.Break) -> None:
        loop = self.loops[-1]
        if loop.flag:
            self.writer.line(node, f"{loop.flag} = True")
        loop.breaks.append(self.known())
        self.writer.line(node, "break")
        self.scope = None

    def stmt_Continue(self, node: ast.Continue) -> None:
        self.loops[-1].continues.append(self.known())
        self.writer.line(node, "continue")
        self.scope = None

    # What runs at the same time

    def as_spread(self, node: ast.For) -> bool:
        """Writes a loop that appends the result of one action per element as a spread, if the class is concurrent."""
        if not self.unit.concurrent or self.tries or node.orelse or node.lineno in self.sequential:
            return False
        found = appended(node.body)
        if found is None:
            return False
        call, out, result = found
        names = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        bound = names | ({result} if result else set())
        variable = self.known().variables.get(out)
        if variable is None or not variable.owned or not isinstance(variable.type, t.List) or out in bound:
            return False
        if (loads([call]) & ({out, result} - names)) or out in loads([node.iter]) or (result in names):
            return False
        known, callee = self.unit.static(self, call.func)
        if not known or not isinstance(getattr(callee, "__pulley_action__", None), Action) or not inspect.iscoroutinefunction(callee):
            return False
        mark, before, temporaries = self.writer.mark(), self.known().copy(), self.temporaries
        try:
            generator = ast.comprehension(target=node.target, iter=node.iter, ifs=[], is_async=0)
            rhs = self.spread(node.iter, call, [generator])
        except Refused:
            self.writer.cut(mark)
            self.scope, self.temporaries = before, temporaries
            return False
        assert isinstance(rhs.value.type, t.List)
        self.write_spread(node, out, rhs, variable.type)
        for n in bound:
            self.known().remove(n)
            self.killed[n] = node.lineno
        return True

    def write_spread(self, node: ast.For, out: str, rhs: Rhs, before: t.List) -> None:
        text = self.name(out)
        lines = self.writer.lines
        if lines and self.line_of(lines[-1].segments) == f"{text} = []" and lines[-1].depth == self.writer.depth:
            lines.pop()
            self.write(node, [text], rhs)
        else:
            made = self.temporary()
            self.write(node, [made], rhs)
            self.writer.line(node, f"{text} = {text} + {made}")
        kind = t.join([before, rhs.value.type])
        self.assign(out, Value("", kind, fresh=True))

    def unrolled(self, node: ast.ListComp) -> Value:
        """Writes a comprehension that runs actions: as a spread if the class is concurrent, else as a loop."""
        self.need_statement(node, "an action is run in a statement")
        call = node.elt.value if isinstance(node.elt, ast.Await) else None
        if self.unit.concurrent and isinstance(call, ast.Call) and not any(self.has_effect(a) for a in call.args) and not any(self.has_effect(k.value) for k in call.keywords):
            known, callee = self.unit.static(self, call.func)
            if known and getattr(callee, "__pulley_action__", None) and not any(self.has_effect(i) for g in node.generators for i in g.ifs):
                return self.hoisted(node, self.spread(node, call, node.generators))
        out = self.temporary()
        self.writer.line(node, f"{out} = []")
        outer, depth = len(self.inner), self.writer.depth
        kind: Dict[str, t.Type] = {}
        try:
            self.unroll(node, node.generators, out, kind)
        finally:
            del self.inner[outer:]
            self.writer.depth = depth
        return Value(out, t.List(kind["element"]), fresh=True)

    def unroll(self, node: ast.ListComp, generators: Sequence[ast.comprehension], out: str, kind: Dict[str, t.Type]) -> None:
        if not generators:
            v = self.value(node.elt)
            kind["element"] = v.type
            self.share(v)
            self.writer.line(node, f"{out} = {out} + [", (v.text, node.elt), "]")
            return
        g = generators[0]
        if g.is_async:
            raise Refused(g.target, "async for is not compiled; await the list first")
        over = self.iterable(g.iter)
        item = self.temporary()
        self.writer.line(node, f"for {item} in ", (over.bound(CONDITIONAL + 1), g.iter), ":")
        self.writer.depth += 1
        self.inner.append({})
        self.place(g.target, Value(item, self.element_of(over.type)))
        for condition in g.ifs:
            test = self.truth(condition)
            self.writer.line(node, "if ", (test.text, condition), ":")
            self.writer.depth += 1
        self.unroll(node, generators[1:], out, kind)

    def place(self, target: ast.expr, v: Value) -> None:
        """Binds the names of a for of a comprehension to parts of a variable."""
        if isinstance(target, ast.Name):
            self.inner[-1][target.id] = v
            self.known().forget(target.id)
            return
        for i, (e, k) in enumerate(zip(target.elts, self.unpacked(target, v.type))):  # type: ignore[attr-defined]
            self.place(e, Value(f"{v.text}[{i}]", k))


def appended(body: Sequence[ast.stmt]) -> Optional[Tuple[ast.Call, str, Optional[str]]]:
    """Gives call, list and variable of a body that appends the result of an awaited call, and does nothing else."""
    last = body[-1]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return None
    func, args = last.value.func, last.value.args
    if not isinstance(func, ast.Attribute) or func.attr != "append" or not isinstance(func.value, ast.Name) or len(args) != 1 or last.value.keywords:
        return None
    awaited, result = args[0], None
    if len(body) == 2:
        first: Any = body[0]
        target = first.targets[0] if isinstance(first, ast.Assign) and len(first.targets) == 1 else getattr(first, "target", None)
        if not isinstance(first, ast.Assign) or not isinstance(target, ast.Name) or not isinstance(args[0], ast.Name) or args[0].id != target.id:
            return None
        awaited, result = first.value, target.id
    elif len(body) != 1:
        return None
    if not isinstance(awaited, ast.Await) or not isinstance(awaited.value, ast.Call):
        return None
    return awaited.value, func.value.id, result


def changed_in(body: Sequence[ast.stmt]) -> Set[str]:
    """The variables whose objects statements change in place."""
    found: Set[str] = set()
    for at in body:
        for n in ast.walk(at):
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in CHANGERS and isinstance(n.func.value, ast.Name):
                found.add(n.func.value.id)
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name):
                found.add(n.value.id)
            if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found.add(n.target.id)
    return found


def has_break(body: Sequence[ast.AST]) -> bool:
    """Says whether statements break the loop that they are in."""
    for at in body:
        if isinstance(at, ast.Break):
            return True
        if isinstance(at, (ast.For, ast.While)):
            if has_break(at.orelse):
                return True
        elif has_break(list(ast.iter_child_nodes(at))):
            return True
    return False



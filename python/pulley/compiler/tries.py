"""Errors: try, raise, assert; and match, which becomes if."""

import ast
import builtins
from typing import Any, FrozenSet, List, Optional, Sequence

from . import types as t
from .errors import Ambiguous, is_plain, names_of
from .function import Try
from .loops import Loops
from .problems import Refused
from .scope import PRIMARY, Scope, Value, Variable, merged
from .text import Deeper, quote

#: The errors that an expression of a workflow may raise in Python.
KINDS = ("KeyError", "IndexError", "ZeroDivisionError", "ValueError", "AssertionError")


class Tries(Loops):
    """Translates errors and their handlers."""

    def stmt_Try(self, node: ast.Try) -> None:
        if node.finalbody:
            self.with_finally(node)
            return
        handlers = [(h, self.handled_by(h)) for h in node.handlers]
        catches: FrozenSet[str] = frozenset(k for k in KINDS for h, _ in handlers if self.catches(h, k))
        observed = any(h.name or has_bare_raise(h.body) for h, _ in handlers)
        ok = ""
        if node.orelse:
            ok = self.temporary()
            self.writer.line(node, f"{ok} = False")
        around = Try(catches, observed, node.lineno, self.known())
        self.writer.line(node, "try:")
        self.tries.append(around)
        try:
            with Deeper(self.writer):
                self.block(node.body)
                if ok and self.scope is not None:
                    self.writer.line(node, f"{ok} = True")
        finally:
            self.tries.pop()
        end, ends = self.scope, []
        for h, names in handlers:
            ends.append(self.handler(h, names, around.scope))
            if "Exception" in names:
                break
        self.scope = end
        if ok and self.scope is not None:
            self.writer.line(node, f"if {ok}:")
            with Deeper(self.writer):
                self.block(node.orelse)
        self.scope = merged([self.scope, *ends])
        self.changed()

    def handler(self, h: ast.ExceptHandler, names: Sequence[str], scope: Scope) -> Optional[Scope]:
        """Writes an except clause, and gives the state at its end."""
        self.scope = scope.copy()
        name = ""
        if h.name:
            name = self.name(h.name)
            self.scope.set(h.name, Variable(t.Caught()))
        elif has_bare_raise(h.body):
            name = self.temporary()
        listed = "" if "Exception" in names else " " + ", ".join(names)
        self.writer.line(h, f"except{listed or (' Exception' if name else '')}{' as ' + name if name else ''}:")
        self.handling.append(name)
        try:
            with Deeper(self.writer):
                self.block(h.body)
        finally:
            self.handling.pop()
        if self.scope is not None and h.name:
            self.scope.remove(h.name)
        return self.scope

    def classes_of(self, node: ast.expr) -> List[Any]:
        """The exception classes that an expression names: one, or a tuple of them."""
        if isinstance(node, ast.Tuple):
            return [c for e in node.elts for c in self.classes_of(e)]
        found, cls = self.unit.static(self, node)
        if found and isinstance(cls, tuple):
            classes = list(cls)
        else:
            classes = [cls]
        for c in classes:
            if not found or not isinstance(c, type) or not issubclass(c, BaseException):
                raise Refused(node, f"{ast.unparse(node)} is no exception class that is known here; import it, or define it in the module")
            if not issubclass(c, Exception):
                raise Refused(node, f"{c.__name__} is no error of an action: a cancelled workflow ends; write except Exception")
        return classes

    def error_names(self, node: ast.expr) -> List[str]:
        names: List[str] = []
        for c in self.classes_of(node):
            try:
                found = names_of(c, *self.unit.error_modules())
            except Ambiguous as e:
                raise Refused(node, str(e)) from None
            names += [n for n in found if n not in names]
        return ["Exception"] if "Exception" in names else names

    def handled_by(self, h: ast.ExceptHandler) -> List[str]:
        if h.type is None:
            raise Refused(h, "except without a class catches the cancelling of the workflow, too; write except Exception")
        names = self.error_names(h.type)
        if not names:
            raise Refused(h, "this except catches nothing; name a class")
        return names

    def catches(self, h: ast.ExceptHandler, kind: str) -> bool:
        assert h.type is not None
        return any(issubclass(getattr(builtins, kind), c) for c in self.classes_of(h.type))

    # finally

    def with_finally(self, node: ast.Try) -> None:
        """Writes the block of finally twice: after the others, and where an error propagates after it."""
        leaving = leaves(node.body + [s for h in node.handlers for s in h.body] + node.orelse)
        if leaving is not None:
            raise Refused(leaving, "this leaves a try that has a finally; keep what is wanted in a variable, and leave after the finally")
        if leaves(node.finalbody) is not None:
            raise Refused(node.finalbody[0], "this leaves a finally, and drops an error that is on its way; leave after it")
        around = Try(frozenset(KINDS), True, node.lineno, self.known())
        self.writer.line(node, "try:")
        self.tries.append(around)
        try:
            with Deeper(self.writer):
                if node.handlers:
                    inner = ast.Try(body=node.body, handlers=node.handlers, orelse=node.orelse, finalbody=[])
                    self.stmt_Try(ast.copy_location(inner, node))
                else:
                    self.block(node.body)
        finally:
            self.tries.pop()
        end = self.scope
        name = self.temporary()
        self.scope = around.scope.copy()
        self.writer.line(node, f"except Exception as {name}:")
        with Deeper(self.writer):
            self.block(node.finalbody)
            if self.scope is not None:
                self.fail(node, f'{name}["type"]', f'{name}["message"]')
        self.scope = end
        if self.scope is not None:
            self.block(node.finalbody)
        self.changed()

    # raise

    def stmt_Raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            if not self.handling or not self.handling[-1]:
                raise Refused(node, "raise without an exception outside of except; name one")
            self.again(node, self.handling[-1])
            return
        exc, args = node.exc, []
        if isinstance(exc, ast.Name) and exc.id in self.locals:
            v = self.expr(exc)
            if v.type != t.Caught():
                raise Refused(node, f"{exc.id} is no exception; write raise SomeError(text)")
            self.again(node, v.bound(PRIMARY))
            return
        if isinstance(exc, ast.Call):
            if exc.keywords or any(isinstance(a, ast.Starred) for a in exc.args):
                raise Refused(exc, "only the text of an exception travels; write raise SomeError(text)")
            exc, args = exc.func, exc.args
        classes = self.classes_of(exc)
        if len(classes) != 1:
            raise Refused(node, "raise one exception")
        self.raised(node, classes[0], args)

    def again(self, node: ast.AST, name: str) -> None:
        self.fail(node, f'{name}["type"]', f'{name}["message"]')
        self.scope = None

    def raised(self, node: ast.Raise, cls: Any, args: Sequence[ast.expr]) -> None:
        if issubclass(cls, (StopIteration, StopAsyncIteration)):
            raise Refused(node, f"{cls.__name__} becomes another error in an async def; raise an error of your own")
        if issubclass(cls, KeyError) and cls.__str__ is KeyError.__str__ and args:
            if len(args) != 1 or not isinstance(args[0], ast.Constant):
                raise Refused(node, "the text of a KeyError is its key as Python prints it; raise LookupError, or a KeyError with a text that stands here")
            message = quote(str(cls(args[0].value)), node)
        elif not is_plain(cls) and args:
            raise Refused(node, f"the text of a {cls.__name__} is made by Python; raise an error whose class has no __init__ and no __str__")
        elif not args:
            try:
                message = quote(str(cls()), node)
            except Exception:
                raise Refused(node, f"a {cls.__name__} needs arguments; write raise {cls.__name__}(text)") from None
        elif len(args) > 1:
            raise Refused(node, "only the text of an exception travels; write raise SomeError(text)")
        else:
            v = self.expr(args[0])
            message = self.text_of(args[0], v, "the text of an exception").text
        self.fail(node, quote(cls.__name__), message)
        self.scope = None

    def stmt_Assert(self, node: ast.Assert) -> None:
        test = self.truth(node.test)
        self.writer.line(node, "if ", (self.negated(test), node.test), ":")
        self.writer.depth += 1
        message = '""'
        if node.msg is not None:
            outer = self.known()
            self.scope = outer.copy()
            self.scope.narrow(node.test, False)
            message = self.text_of(node.msg, self.expr(node.msg), "the text of an exception").text
            self.scope = outer
        self.fail(node, quote("AssertionError"), message)
        self.writer.depth -= 1
        self.changed()
        self.known().narrow(node.test, True)

    # match

    def stmt_Match(self, node: Any) -> None:
        """Translates match of values, which becomes if, elif and else."""
        subject = node.subject
        if not (isinstance(subject, ast.Name) and subject.id in self.locals):
            rhs = self.invocation(subject)
            v = rhs.value if rhs is not None else self.value(subject)
            name = self.temporary()
            if rhs is not None:
                self.write(node, [name], rhs)
            else:
                self.writer.line(node, f"{name} = ", (v.text, subject))
            self.locals.add(name)
            self.assign(name, v)
            subject = ast.copy_location(ast.Name(id=name, ctx=ast.Load()), subject)
        body: List[ast.stmt] = []
        for case in reversed(node.cases):
            condition, first = self.pattern(subject, case.pattern)
            if case.guard is not None:
                if first:
                    raise Refused(case.guard, "a guard beside a name that the pattern binds is not compiled; write if inside the case")
                condition = case.guard if condition is None else ast.copy_location(ast.BoolOp(op=ast.And(), values=[condition, case.guard]), case.pattern)
            block = first + case.body
            body = block if condition is None else [ast.copy_location(ast.If(test=condition, body=block, orelse=body), case.pattern)]
        self.block(body)

    def pattern(self, subject: ast.expr, p: Any) -> "tuple[Optional[ast.expr], List[ast.stmt]]":
        """Gives the condition of a pattern, None if it always holds, and what it binds."""
        kind = type(p).__name__
        if kind == "MatchAs" and p.pattern is None:
            if p.name is None:
                return None, []
            target = ast.copy_location(ast.Name(id=p.name, ctx=ast.Store()), p)
            return None, [ast.copy_location(ast.Assign(targets=[target], value=subject), p)]
        if kind == "MatchValue":
            return ast.copy_location(ast.Compare(left=subject, ops=[ast.Eq()], comparators=[p.value]), p), []
        if kind == "MatchSingleton":
            value = ast.copy_location(ast.Constant(value=p.value), p)
            return ast.copy_location(ast.Compare(left=subject, ops=[ast.Is()], comparators=[value]), p), []
        if kind == "MatchOr":
            parts = [self.pattern(subject, q) for q in p.patterns]
            if all(c is not None and not b for c, b in parts):
                return ast.copy_location(ast.BoolOp(op=ast.Or(), values=[c for c, _ in parts if c is not None]), p), []
        raise Refused(p, "patterns are compiled that are values, or with |; write if and elif for others")


def has_bare_raise(body: Sequence[ast.AST]) -> bool:
    """Says whether statements raise the exception again that is handled around them."""
    for at in body:
        if isinstance(at, ast.Raise) and at.exc is None:
            return True
        if not isinstance(at, ast.ExceptHandler) and has_bare_raise(list(ast.iter_child_nodes(at))):
            return True
    return False


def leaves(body: Sequence[ast.AST], loops: int = 0) -> Optional[ast.AST]:
    """The first statement that leaves a block other than by an error."""
    for at in body:
        if isinstance(at, ast.Return) or isinstance(at, (ast.Break, ast.Continue)) and not loops:
            return at
        inside = loops + isinstance(at, (ast.For, ast.While))
        found = leaves(list(ast.iter_child_nodes(at)), inside)
        if found is not None:
            return found
    return None



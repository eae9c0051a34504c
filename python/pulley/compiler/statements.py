"""Statements without loops and errors: assignments, changes in place, conditions, return."""

import ast
from typing import Callable, List, Optional, Sequence, Tuple

from . import types as t
from .coroutines import gathered
from .invocations import Invocations, Rhs
from .methods import CHANGERS
from .operators import _ARITHMETIC
from .problems import Refused
from .scope import CONDITIONAL, NOT, PRIMARY, SUM, Scope, Value, Variable, merged
from .text import Deeper, Segment, quote

_INSTEAD = {
    "FunctionDef": "a function inside a function; write it as a method of the workflow",
    "AsyncFunctionDef": "a function inside a function; write it as a method of the workflow",
    "ClassDef": "a class inside a function; write it in the module",
    "Import": "an import inside a function; write it at the top of the file",
    "ImportFrom": "an import inside a function; write it at the top of the file",
    "Global": "a global that changes is not durable; keep it in a variable, and return it",
    "Nonlocal": "a variable of another function; pass it as an argument, and return it",
    "With": "with runs Python when it begins and when it ends; do it in an action",
    "AsyncWith": "async with runs Python when it begins and when it ends; do it in an action",
    "AsyncFor": "async for is not compiled; await the list first: for x in await f()",
    "Delete": "del is not compiled; build a new list or dict without it: [x for x in xs if ...]",
    "TryStar": "except* is not compiled; write except",
    "TypeAlias": "a type alias inside a function; write it in the module",
}


class Statements(Invocations):
    """Translates statements."""

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Translates statements, each of which may be refused alone."""
        for at in gathered(body, self.source.node):
            if self.scope is None:
                return  # nobody comes here
            mark, depth, inner, conditional = self.writer.mark(), self.writer.depth, len(self.inner), self.conditional
            try:
                self.statement(at)
            except Refused as e:
                self.unit.problem(self.source, e.node or at, e.what)
                self.writer.cut(mark)
                self.writer.depth, self.conditional = depth, conditional
                del self.inner[inner:]
                self.give_up(at)

    def give_up(self, node: ast.stmt) -> None:
        """Notes that nothing is known any more of what a refused statement binds, so that it is refused once."""
        if self.scope is None:
            return
        if isinstance(node, (ast.Return, ast.Raise)):
            self.returns.append(Value("", t.BROKEN))
            self.scope = None
            return
        for n in ast.walk(node):
            name = n.id if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) else getattr(n, "name", None)
            if isinstance(name, str):
                self.locals.add(name)
                self.scope.set(name, Variable(t.BROKEN, True))

    def statement(self, node: ast.stmt) -> None:
        name = type(node).__name__
        if name in _INSTEAD:
            raise Refused(node, _INSTEAD[name])
        method = getattr(self, "stmt_" + name, None)
        if method is None:
            raise Refused(node, f"{name} is not compiled; write it with simpler statements, or in an action")
        method(node)

    def stmt_Pass(self, node: ast.Pass) -> None:
        pass

    def stmt_Expr(self, node: ast.Expr) -> None:
        value = node.value
        if isinstance(value, ast.Constant):
            return  # a docstring
        if self.change(value):
            return
        rhs = self.invocation(value)
        if rhs is not None:
            self.write(node, [], rhs)
            return
        made = self.expr(value)
        if made.raises:
            self.hoist(value, (made.text, value))

    def write(self, node: ast.AST, targets: Sequence[str], rhs: Rhs) -> None:
        """Writes an assignment of a call's result, or the call alone."""
        prefix = ", ".join(targets) + " = " if targets else ""
        if rhs.sleeps:
            self.writer.line(node, "sleep ", *rhs.segments)
            if targets:
                self.writer.line(node, prefix + "None")
        elif not prefix and rhs.segments and rhs.segments[0][0] == "[]":
            pass  # nothing was gathered
        else:
            self.writer.line(node, prefix, *rhs.segments)
            for call in rhs.block or []:
                self.writer.depth += 1
                self.writer.line(call[0][1], *call)
                self.writer.depth -= 1
        self.changed()

    def hoisted(self, node: ast.expr, rhs: Rhs) -> Value:
        self.need_statement(node, "this is a statement of the language")
        made = self.temporary()
        self.write(node, [made], rhs)
        v = rhs.value
        return Value(made, v.type, fresh=v.fresh, parts=v.parts)

    # Assignment

    def stmt_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            self.chain(node)
            return
        self.assign_to(node, node.targets[0], node.value)

    def chain(self, node: ast.Assign) -> None:
        """a = b = value"""
        if not all(isinstance(x, ast.Name) for x in node.targets):
            raise Refused(node, "several targets are compiled if they are names; write an assignment for each")
        v = self.value(node.value)
        if t.mutables_in(v.type):
            v = Value(v.text, v.type, v.binding, v.raises, False, v.names, v.parts, v.literal)
        first = None
        for x in node.targets:
            assert isinstance(x, ast.Name)
            self.writer.line(node, f"{self.name(x.id)} = ", (v.text if first is None else first, node.value))
            self.assign(x.id, v)
            first = first or self.name(x.id)

    def stmt_AnnAssign(self, node: ast.AnnAssign) -> None:
        hint = self.unit.hint(self, node.annotation)
        if node.value is None:
            return
        if not isinstance(node.target, ast.Name):
            raise Refused(node, "a hint is compiled for a variable; write it without the hint")
        self.assign_to(node, node.target, node.value, hint)

    def assign_to(self, node: ast.stmt, target: ast.expr, value: ast.expr, hint: Optional[t.Type] = None) -> None:
        if isinstance(target, ast.Name):
            if self.taken(node, target, value):
                return
            rhs = self.invocation(value)
            if rhs is not None:
                self.need_hint(value, rhs.value, hint)
                self.write(node, [self.name(target.id)], rhs)
                self.assign(target.id, rhs.value, hint)
                return
            v = self.value(value)
            self.need_hint(value, v, hint)
            self.writer.line(node, f"{self.name(target.id)} = ", (v.text, value))
            self.assign(target.id, v, hint)
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(node, target, value)
            return
        if isinstance(target, ast.Subscript):
            self.set_item(node, target, lambda at: self.value(value))
            return
        if isinstance(target, ast.Attribute):
            self.set_field(node, target, lambda at: self.value(value))
            return
        raise Refused(target, "this cannot be assigned to; write a name")

    def need_hint(self, node: ast.expr, v: Value, hint: Optional[t.Type]) -> None:
        if hint is not None and not t.fits(v.type, hint):
            if not (isinstance(v.type, t.Union) and any(t.fits(m, hint) for m in v.type.members)):
                raise Refused(node, f"the hint says {hint}, but this is {self.article(v.type)}; write the hint that is true")
            raise Refused(node, f"the hint says {hint}, but this may be {v.type}; check it first, or write the hint that is true")

    def unpack(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """a, b = value"""
        elts = target.elts  # type: ignore[attr-defined]
        if any(isinstance(e, ast.Starred) for e in elts):
            raise Refused(target, "* in what is assigned to is not compiled; write slices: first, rest = xs[0], xs[1:]")
        rhs = self.invocation(value)
        v = rhs.value if rhs is not None else self.value(value)
        kinds = self.kinds_of(target, v, len(elts))
        plain = all(isinstance(e, ast.Name) for e in elts) and len({e.id for e in elts}) == len(elts) and len(elts) > 1
        if kinds is not None and plain:
            names = [self.name(e.id) for e in elts]
            if rhs is not None:
                self.write(node, names, rhs)
            else:
                self.writer.line(node, ", ".join(names) + " = ", (v.text, value))
            self.bind(elts, kinds, v, value)
            return
        source = self.temporary()
        if rhs is not None:
            self.write(node, [source], rhs)
        else:
            self.writer.line(node, f"{source} = ", (v.text, value))
        if kinds is None:
            self.check_length(node, source, len(elts))
            kinds = (self.element_of(v.type),) * len(elts)
        self.share(v)
        self.spread_out(node, elts, source, kinds)

    def spread_out(self, node: ast.AST, elts: Sequence[ast.expr], source: str, kinds: Sequence[t.Type]) -> None:
        """Assigns the elements of a list that a variable holds, one by one."""
        for i, (e, kind) in enumerate(zip(elts, kinds)):
            part = Value(f"{source}[{i}]", kind)
            if isinstance(e, ast.Name):
                self.writer.line(node, f"{self.name(e.id)} = ", (part.text, e))
                self.assign(e.id, part)
            elif isinstance(e, (ast.Tuple, ast.List)):
                inner = self.hoist(e, (part.text, e))
                wanted = self.kinds_of(e, part, len(e.elts))
                if wanted is None:
                    self.check_length(node, inner, len(e.elts))
                    wanted = (self.element_of(kind),) * len(e.elts)
                self.spread_out(node, e.elts, inner, wanted)
            elif isinstance(e, ast.Subscript):
                self.set_item(node, e, lambda at, part=part: part)
            else:
                raise Refused(e, "unpack into names, and continue with these")

    def kinds_of(self, target: ast.expr, v: Value, count: int) -> Optional[Tuple[t.Type, ...]]:
        """The types of what is unpacked; None if only running it shows how many there are."""
        self.refuse_none(target, v)
        parts = v.parts
        if parts is None and isinstance(v.type, t.Tuple_) and v.type.rest is None:
            parts = v.type.parts
        if parts is None:
            if isinstance(v.type, (t.List, t.Tuple_)):
                return None
            raise Refused(target, f"{self.article(v.type)} is not unpacked in the same way; say with a hint what it is: pair: Tuple[int, str] = ...")
        if len(parts) != count:
            raise Refused(target, f"{len(parts)} values cannot be unpacked into {count} names")
        return parts

    def bind(self, elts: Sequence[ast.expr], kinds: Sequence[t.Type], v: Value, value: Optional[ast.expr] = None) -> None:
        """Notes the values of names that were unpacked from a value: new ones, where it is written out."""
        self.share(v)
        written = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [None] * len(elts)
        for e, kind, x in zip(elts, kinds, written):
            assert isinstance(e, ast.Name)
            self.assign(e.id, Value("", kind, fresh=isinstance(x, (ast.List, ast.Dict, ast.ListComp, ast.DictComp))))

    def check_length(self, node: ast.AST, source: str, count: int) -> None:
        """Raises Python's error where a list has another number of elements."""
        from .errors import unpack_messages

        few, many = unpack_messages(count)
        for condition, (before, after) in ((f"len({source}) < {count}", few), (f"len({source}) > {count}", many)):
            message = quote(before) if after is None else f"{quote(before)} + str(len({source})) + {quote(after)}"
            self.always(node, "ValueError", condition, message)

    def stmt_AugAssign(self, node: ast.AugAssign) -> None:
        """x += value"""
        target = node.target

        def compute(at: Value) -> Value:
            if isinstance(node.op, ast.Add) and isinstance(at.type, t.List):
                b = self.iterable(node.value)
                return Value(f"{at.bound(SUM)} + {b.bound(SUM + 1)}", t.join([at.type, t.List(self.element_of(b.type))]), SUM, b.raises, True, b.names if not isinstance(node.value, ast.Name) else frozenset())
            a = self.as_int(at)
            if a.raises and not isinstance(node.value, (ast.Name, ast.Constant)) and (self.all_caught() or self.has_effect(node.value)):
                a = self.simple(target, a)
            b = self.operand(node.value)
            self.refuse_none(target, a)
            if a.type == t.ANY:
                raise Refused(target, "it is not known what this is; say it with a hint where it gets its value: x: int = ...")
            return self.arithmetic(node, node.op, target, a, node.value, b)

        if type(node.op) not in _ARITHMETIC:
            raise Refused(node, "this operator is not compiled; write it in an action")
        if isinstance(target, ast.Name):
            at = self.expr(ast.copy_location(ast.Name(id=target.id, ctx=ast.Load()), target))
            if isinstance(at.type, t.List):
                self.need_owned(target, target.id)
            if self.has_effect(node.value) and not isinstance(at.type, t.List):
                pass  # nothing that is awaited can change a variable of this function
            v = compute(at)
            self.writer.line(node, f"{self.name(target.id)} = ", (v.text, node.value))
            self.assign(target.id, v if not isinstance(at.type, t.List) else v)
        elif isinstance(target, ast.Subscript):
            self.set_item(node, target, compute)
        else:
            self.set_field(node, target, compute)

    # Changes in place, which become new values of the variable

    def need_owned(self, node: ast.AST, name: str) -> Variable:
        """Checks that a variable's object is known by that name only."""
        variable = self.known().variables.get(name)
        if variable is None:
            raise Refused(node, f"{name} may have no value here, or is no variable of this function; build a new list or dict in one")
        if not variable.owned:
            raise Refused(node, f"the object of {name} is known elsewhere, too (it was given, stored or came from an action), where the change would be missed; copy it first: {name} = {self.copy_of(variable.type, name)}")
        return variable

    @staticmethod
    def copy_of(kind: t.Type, name: str) -> str:
        if isinstance(kind, t.Record):
            return f"dataclasses.replace({name})"
        return f"dict({name})" if isinstance(kind, (t.Dict_, t.Keys)) else f"list({name})"

    def changed_variable(self, node: ast.expr, what: str) -> Tuple[str, Variable]:
        """The variable that is changed in place."""
        if isinstance(node, ast.Name) and node.id in self.locals and not any(node.id in names for names in self.inner):
            variable = self.known().variables.get(node.id)
            if variable is not None:
                self.expr(node)
            return node.id, self.need_owned(node, node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.source.self_name:
            raise Refused(node, "a workflow object has no state: it may continue in another process; use a variable, and return it")
        raise Refused(node, f"{what} inside another object is not compiled; take the part out, change it, and put it back: x = dict(d[k]); ...; d[k] = x")

    def set_item(self, node: ast.AST, target: ast.Subscript, compute: Callable[[Value], Value]) -> None:
        """xs[i] = value, d[k] = value"""
        if isinstance(target.slice, ast.Slice):
            raise Refused(target, "assigning to a slice is not compiled; write xs = xs[:a] + ys + xs[b:]")
        if isinstance(target.value, ast.Attribute) or isinstance(target.value, ast.Subscript):
            self.changed_variable(target.value, "a change")
        name, variable = self.changed_variable(target.value, "a change")
        text = self.name(name)
        augmented = isinstance(node, ast.AugAssign)
        if not augmented:  # Python evaluates the value first, then the index
            v = compute(Value(text, variable.type))
            self.need_value(node, v)
            if v.raises or not (v.literal or v.text.isidentifier()):
                v = self.simple(node, v)
        at = self.expr(target.slice)
        if isinstance(variable.type, (t.Dict_, t.Keys)):
            if at.type != t.STR:
                raise Refused(target.slice, f"the keys of a dict are texts in JSON, this is {self.article(at.type)}; say it with a hint: k: str = ...")
            if augmented:
                at = self.simple(target.slice, at)
                v = compute(self.by_key(ast.copy_location(ast.Subscript(value=target.value, slice=target.slice, ctx=ast.Load()), target), Value(text, variable.type), target.slice, at))
            self.writer.line(node, f"{text} = ", (f"dict({text}.items() + [[{at.text}, {v.text}]])", target))
            kind = t.Dict_(t.join([variable.type.value, v.type])) if isinstance(variable.type, t.Dict_) else variable.type
            if isinstance(variable.type, t.Keys) and not (isinstance(target.slice, ast.Constant) and t.fits(v.type, t.keys_of(variable.type.cls).get(target.slice.value, (t.NONE, False))[0])):
                raise Refused(target, f"{variable.type} has no such key of this type")
        elif isinstance(variable.type, t.List):
            at = self.as_int(at)
            if at.type != t.INT:
                raise Refused(target.slice, f"an index is an int, this is {self.article(at.type)}; say it with a hint: i: int = ...")
            at = self.simple(target.slice, at)
            from .errors import MESSAGES

            self.always(node, "IndexError", f"{at.bound(SUM)} >= len({text}) or {at.bound(SUM)} < -len({text})", quote(MESSAGES["list index" if augmented else "list assignment"]))
            if augmented:
                v = compute(Value(f"{text}[{at.text}]", variable.type.element))
            i, x = self.temporary(), self.temporary()
            place = f"[{at.text}, {at.bound(SUM)} + len({text})]"
            self.writer.line(node, f"{text} = ", (f"[{v.bound(CONDITIONAL + 1)} if {i} in {place} else {x} for {i}, {x} in enumerate({text})]", target))
            kind = t.List(t.join([variable.type.element, v.type]))
        else:
            raise Refused(target, f"{self.article(variable.type)} is not changed so; say with a hint what it is: d: Dict[str, int] = ...")
        self.assign(name, Value("", kind, fresh=True, names=v.names))

    def set_field(self, node: ast.AST, target: ast.Attribute, compute: Callable[[Value], Value]) -> None:
        """x.name = value"""
        if isinstance(target.value, ast.Name) and target.value.id == self.source.self_name:
            raise Refused(target, "a workflow object has no state: it may continue in another process; use a variable, and return it")
        name, variable = self.changed_variable(target.value, "a change")
        if not isinstance(variable.type, t.Record):
            raise Refused(target, f"{self.article(variable.type)} has no fields that can be set")
        fields = t.fields_of(variable.type.cls)
        if target.attr not in fields:
            raise Refused(target, f"{variable.type} has no field {target.attr}; it has {', '.join(fields)}")
        self.unit.constructor(target, variable.type.cls)
        self.unit.need_settable(target, variable.type.cls)
        text = self.name(name)
        v = compute(Value(f"{text}[{quote(target.attr)}]", fields[target.attr]))
        self.need_value(node, v)
        if not t.fits(v.type, fields[target.attr]) or v.type == t.ANY != fields[target.attr] and fields[target.attr] != t.ANY:
            raise Refused(node, f"{target.attr} is {self.article(fields[target.attr])}, this is {self.article(v.type)}; convert it first")
        self.writer.line(node, f"{text} = ", (f"dict({text}.items() + [[{quote(target.attr)}, {v.text}]])", target))
        self.assign(name, Value("", variable.type, fresh=True, names=v.names))

    def change(self, node: ast.expr) -> bool:
        """Translates xs.append(x) and the like; gives False for anything else."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in CHANGERS:
            return False
        found, _ = self.unit.static(self, node.func)
        if found:
            return False
        name, variable = self.changed_variable(node.func.value, node.func.attr)
        method = getattr(self, f"change_{node.func.attr}", None)
        if method is None or isinstance(variable.type, t.Record) or variable.type == t.ANY:
            raise Refused(node, f"{node.func.attr} of {self.article(variable.type)} is not compiled; build a new list or dict, or say with a hint what this is")
        method(node, name, self.name(name), variable)
        return True

    def rebuild(self, node: ast.AST, name: str, text: str, kind: t.Type, names: "frozenset[str]" = frozenset()) -> None:
        self.writer.line(node, f"{self.name(name)} = ", (text, node))
        self.assign(name, Value("", kind, fresh=True, names=names))

    def list_argument(self, node: ast.Call, variable: Variable, count: int) -> None:
        if not isinstance(variable.type, t.List) or len(node.args) != count or any(isinstance(a, ast.Starred) for a in node.args):
            raise Refused(node, f"this is compiled for lists, with {count} arguments; build a new list or dict")

    def change_append(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.list_argument(node, variable, 1)
        self.only(node, 1, 1)
        v = self.value(node.args[0])
        assert isinstance(variable.type, t.List)
        self.rebuild(node, name, f"{text} + [{v.text}]", t.List(t.join([variable.type.element, v.type])), v.names)

    def change_extend(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.list_argument(node, variable, 1)
        self.only(node, 1, 1)
        v = self.iterable(node.args[0])
        assert isinstance(variable.type, t.List)
        kind = t.List(t.join([variable.type.element, self.element_of(v.type)]))
        self.rebuild(node, name, f"{text} + {v.bound(SUM + 1)}", kind, frozenset() if isinstance(node.args[0], ast.Name) else v.names)

    def change_insert(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.list_argument(node, variable, 2)
        self.only(node, 2, 2)
        i, v = self.sequence(node.args)
        i = self.as_int(i)
        if i.type != t.INT:
            raise Refused(node.args[0], f"an index is an int, this is {self.article(i.type)}")
        i = self.simple(node.args[0], i)
        assert isinstance(variable.type, t.List)
        self.rebuild(node, name, f"{text}[:{i.text}] + [{v.text}] + {text}[{i.text}:]", t.List(t.join([variable.type.element, v.type])), v.names)

    def change_clear(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.only(node, 0, 0)
        self.rebuild(node, name, "[]" if isinstance(variable.type, t.List) else "{}", variable.type)

    def change_reverse(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.list_argument(node, variable, 0)
        self.rebuild(node, name, f"{text}[::-1]", variable.type)

    def change_sort(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.list_argument(node, variable, 0)
        assert isinstance(variable.type, t.List)
        made = self.sort(node, Value(text, variable.type), variable.type.element, self.only(node, 0, 0, ("key", "reverse")))
        self.rebuild(node, name, made.text, variable.type)

    def change_update(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        if not isinstance(variable.type, t.Dict_) or len(node.args) > 1 or not node.args and not node.keywords:
            raise Refused(node, "update is compiled for dicts, with a dict or names; write d = {**d, ...}")
        made = self.call_dict(node)
        self.rebuild(node, name, f"dict({text}.items() + {made.bound(PRIMARY)}.items())", t.join([variable.type, made.type]), made.names)

    def change_pop(self, node: ast.Call, name: str, text: str, variable: Variable) -> None:
        self.take(node, name, text, variable, None)

    def taken(self, node: ast.stmt, target: ast.Name, value: ast.expr) -> bool:
        """Translates x = xs.pop(...)."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr != "pop":
            return False
        if self.unit.static(self, value.func)[0]:
            return False
        name, variable = self.changed_variable(value.func.value, "pop")
        if target.id == name:
            raise Refused(node, "the list that is popped from gets another value; use another name")
        self.take(value, name, self.name(name), variable, target)
        return True

    def take(self, node: ast.Call, name: str, text: str, variable: Variable, target: Optional[ast.Name]) -> None:
        self.only(node, 0, 1)
        if not isinstance(variable.type, t.List):
            raise Refused(node, "pop is compiled for lists; write x = d[k]; d = {k: v for k, v in d.items() if k != ...}")
        index = node.args[0] if node.args else None
        if index is not None and not (isinstance(index, ast.Constant) and index.value == 0 and type(index.value) is int):
            raise Refused(node, "pop is compiled as xs.pop() and xs.pop(0); write x = xs[i]; xs = xs[:i] + xs[i + 1:]")
        self.always(node, "IndexError", f"not {text}", quote("pop from empty list"))
        if target is not None:
            self.writer.line(node, f"{self.name(target.id)} = ", (f"{text}[{'0' if index else '-1'}]", node))
            self.assign(target.id, Value("", variable.type.element))
        self.rebuild(node, name, f"{text}[1:]" if index else f"{text}[:-1]", variable.type)

    # Conditions

    def stmt_If(self, node: ast.If) -> None:
        self.branches(node, "if ")

    def branches(self, node: ast.If, word: str) -> None:
        test = self.truth(node.test)
        self.writer.line(node, word, (test.text, node.test), ":")
        before = self.known()
        ends: List[Optional[Scope]] = []
        self.scope = before.copy()
        self.scope.narrow(node.test, True)
        with Deeper(self.writer):
            self.block(node.body)
        ends.append(self.scope)
        self.scope = before.copy()
        self.scope.narrow(node.test, False)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and not self.test_needs_statements(node.orelse[0].test):
            at = node.orelse[0]
            try:
                self.branches(at, "elif ")
            except Refused as e:
                self.unit.problem(self.source, e.node or at, e.what)
        elif node.orelse:
            self.writer.line(node, "else:")
            with Deeper(self.writer):
                self.block(node.orelse)
        ends.append(self.scope)
        self.scope = merged(ends)
        self.changed()

    def test_needs_statements(self, node: ast.expr) -> bool:
        """Says whether a condition needs statements before it, so that it cannot be an elif."""
        mark, outer, temporaries = self.writer.mark(), self.known().copy(), self.temporaries
        try:
            self.truth(node)
            return self.writer.mark() > mark
        except Refused:
            return True
        finally:
            self.writer.cut(mark)
            self.scope, self.temporaries = outer, temporaries

    # The end

    def stmt_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.finish(node, Value("None", t.NONE, literal=True))
            return
        rhs = self.invocation(node.value)
        if rhs is not None:
            made = self.temporary()
            self.write(node, [made], rhs)
            self.finish(node, Value(made, rhs.value.type, fresh=rhs.value.fresh))
            return
        v = self.value(node.value)
        owned = isinstance(node.value, ast.Name) and node.value.id in self.known().variables and self.known().variables[node.value.id].owned
        self.finish(node, v if not owned else Value(v.text, v.type, v.binding, v.raises, True))

    def finish(self, node: ast.Return, v: Value) -> None:
        self.returns.append(v)
        if self.label == "main":
            wanted = self.unit.result_hint
            if not t.fits(v.type, wanted):
                raise Refused(node, f"run gives {self.article(wanted)} by its hint, this is {self.article(v.type)}; write the hint that is true")
            self.need_all(node, "the result", v.type, wanted)
        self.writer.line(node, "return ", (v.text, node.value or node))
        self.scope = None

    def line_of(self, segments: List[Segment]) -> str:
        return "".join(s for s, _ in segments)

    def negated(self, v: Value) -> str:
        return f"not {v.bound(NOT)}"

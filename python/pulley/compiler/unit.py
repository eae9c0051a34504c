"""A workflow and all that it calls: which functions there are, what the names of its text stand for."""

import ast
import dataclasses
import enum
import inspect
import os
import sys
import types as python_types
from typing import Any, Dict, FrozenSet, List, Optional, Set, Tuple

from ..definitions import Action
from ..values import HintError, Signature, codec_of
from ..values.hints import Namespace, evaluate
from . import types as t
from .expressions import Rewrite
from .function import FAIL, Function
from .methods import CHANGERS
from .modules import reached
from .problems import Place, Problems, Refused
from .scope import Value, Variable
from .text import name as name_of
from .tries import Tries

MISSING: Any = object()


@dataclasses.dataclass
class Module:
    """A Python file that is read."""

    path: str  # as errors name it
    lines: List[str]
    tree: ast.Module
    rebound: Set[str]  # names that get a value more than once, or that functions change
    mutated: Set[str]  # names and attributes whose objects are changed in place

    def place(self, node: ast.AST) -> Place:
        line, col = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return self.path, line, len(text.encode()[:col].decode(errors="ignore")) + 1


@dataclasses.dataclass
class Source:
    """The text of a function of the workflow's."""

    node: Any  # ast.FunctionDef or ast.AsyncFunctionDef
    function: Any
    module: Module
    namespace: Dict[str, Any]
    self_name: str  # of a method; empty for a function


@dataclasses.dataclass
class Made:
    """A function that was translated."""

    label: str
    parameters: List[str]
    types: Dict[str, t.Type]
    defaults: Dict[str, Any]
    result: Value
    lines: List[Any]
    module: Module
    node: Any


@dataclasses.dataclass
class Shape:
    """What an action takes and gives."""

    positional: List[str]
    names: List[str]
    optional: Dict[str, Any]
    types: Dict[str, t.Type]
    result: t.Type


class Unit:
    """One compilation of a workflow class."""

    def __init__(self, cls: type, path: str) -> None:
        self.cls = cls
        self.path = path
        self.concurrent = bool(getattr(cls, "concurrent", False))
        self.problems = Problems()
        self.modules: Dict[str, Optional[Module]] = {}
        self.functions: Dict[Tuple[Any, FrozenSet[str]], Optional[Made]] = {}
        self.order: List[Made] = []
        self.actions: Dict[str, Action] = {}
        self.shapes: Dict[str, Shape] = {}
        self.labels: Set[str] = {"main"}
        self.known_modules: Set[str] = set()
        self.further_modules: Set[str] = set()
        self.result_hint: t.Type = t.ANY
        self.sources: Dict[Any, Optional[Source]] = {}
        self.root = os.path.dirname(os.path.abspath(path))

    # Problems

    def problem(self, source: Source, node: ast.AST, what: str) -> None:
        self.problems.add(source.module.place(node), what)

    def mark(self) -> int:
        return len(self.problems.found)

    def back(self, mark: int) -> List[Tuple[Place, str]]:
        """Takes back what was refused since the mark, and gives it."""
        taken = self.problems.found[mark:]
        del self.problems.found[mark:]
        return taken

    # Files

    def module_of(self, file: str) -> Optional[Module]:
        """Reads a file of the user's; None for one of Python's or of a package that is installed."""
        real = os.path.realpath(file)
        if real not in self.modules:
            self.modules[real] = None
            inside = real.startswith(os.path.realpath(self.root) + os.sep) and "site-packages" not in real
            if inside and os.path.isfile(real):
                with open(real, "rb") as f:
                    data = f.read()
                tree = ast.parse(data, real)
                main = os.path.realpath(self.path) == real
                lines = data.decode("utf-8-sig", errors="replace").splitlines()
                self.modules[real] = Module(self.path if main else os.path.relpath(real), lines, tree, *changes(tree))
        return self.modules[real]

    def source_of(self, callee: Any) -> Optional[Source]:
        """Finds the text of a function of the user's; None if it is none."""
        if not isinstance(callee, python_types.FunctionType) or hasattr(callee, "__pulley_action__"):
            return None
        if callee not in self.sources:
            self.sources[callee] = self.find_source(callee)
        return self.sources[callee]

    def find_source(self, callee: Any) -> Optional[Source]:
        code = callee.__code__
        module = self.module_of(code.co_filename)
        if module is None or hasattr(callee, "__wrapped__") or "<locals>" in callee.__qualname__:
            return None
        for node in ast.walk(module.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
                first = min([node.lineno] + [d.lineno for d in node.decorator_list])
                if first == code.co_firstlineno:
                    return self.make_source(node, callee, module)
        return None

    def make_source(self, node: Any, callee: Any, module: Module) -> Source:
        method = "." in callee.__qualname__
        decorators = [ast.unparse(d) for d in node.decorator_list]
        args = node.args.posonlyargs + node.args.args
        self_name = args[0].arg if method and "staticmethod" not in decorators and args else ""
        return Source(node, callee, module, callee.__globals__, self_name)

    def error_modules(self) -> Tuple[Set[str], Set[str]]:
        """The modules from which errors may come: those that the workflow's file and the user's others that it imports know, also inside
        functions, which are imported for that; and those that these know in turn."""
        if not self.known_modules:
            self.known_modules, self.further_modules = reached(self.cls.__module__, self.root)
        return self.known_modules, self.further_modules

    # Names

    def static(self, at: Function, node: ast.expr) -> Tuple[bool, Any]:
        """Finds what a name or an attribute stands for if that is known before the workflow runs."""
        if isinstance(node, ast.Name):
            if any(node.id in names for names in at.inner) or node.id in at.locals:
                return False, None
            if node.id in at.source.namespace:
                value = at.source.namespace[node.id]
                self.need_constant(at, node, node.id, value)
                return True, value
            builtins = at.source.namespace.get("__builtins__", {})
            builtins = builtins if isinstance(builtins, dict) else vars(builtins)
            return (True, builtins[node.id]) if node.id in builtins else (False, None)
        if not isinstance(node, ast.Attribute):
            return False, None
        if isinstance(node.value, ast.Name) and node.value.id == at.source.self_name and at.source.self_name and not any(node.value.id in n for n in at.inner):
            return self.of_class(at, node, self.cls, node.attr)
        found, owner = self.static(at, node.value)
        if not found:
            return False, None
        if isinstance(owner, enum.Enum):
            return (True, getattr(owner, node.attr)) if node.attr in ("value", "name", "_value_", "_name_") else (False, None)
        if isinstance(owner, type):
            return self.of_class(at, node, owner, node.attr)
        if isinstance(owner, python_types.ModuleType) and hasattr(owner, node.attr):
            return True, getattr(owner, node.attr)
        return False, None

    def of_class(self, at: Function, node: ast.Attribute, cls: type, attribute: str) -> Tuple[bool, Any]:
        raw = inspect.getattr_static(cls, attribute, MISSING)
        if raw is MISSING or isinstance(raw, property):
            return False, None
        if isinstance(raw, classmethod):
            raise Refused(node, f"{attribute} is a class method; write it as a method, or as a static method")
        value = getattr(cls, attribute)
        self.need_constant(at, node, attribute, value)
        return True, value

    def need_constant(self, at: Function, node: ast.AST, name: str, value: Any) -> None:
        """Checks that a constant never changes."""
        if callable(value) or isinstance(value, (python_types.ModuleType, enum.Enum)):
            return
        module = at.source.module
        if name in module.rebound:
            raise Refused(node, f"{name} gets a value more than once, and which one holds here is not durable; pass it as an argument of run")
        if name in module.mutated and isinstance(value, (list, dict)):
            raise Refused(node, f"the object of {name} is changed in the file; write a constant that never changes, or pass it as an argument of run")

    def is_invocation(self, at: Function, node: ast.Call) -> bool:
        """Says whether a call without await becomes a statement."""
        try:
            found, callee = self.static(at, node.func)
        except Refused:
            return False
        return found and (hasattr(callee, "__pulley_action__") or self.source_of(callee) is not None)

    def instead_of(self, node: ast.Call, callee: Any) -> str:
        """Says what to write instead of the call of a function that is no part of the workflow."""
        what = ast.unparse(node.func)
        owner = getattr(callee, "__self__", None)
        at = callee if getattr(callee, "__module__", None) else owner if isinstance(owner, type) else type(owner)
        module = (getattr(at, "__module__", "") or "").split(".")[0]
        if hasattr(callee, "__wrapped__"):
            return f"{what} has a decorator, which runs Python; call it without, or make it an action"
        if module in ("random", "secrets", "uuid"):
            return f"{what} gives another value each time, and a workflow may run again from its middle; call it in an action"
        if module in ("time", "datetime"):
            return f"{what} gives another value each time, and a workflow may run again from its middle; call it in an action (to wait: await asyncio.sleep(seconds))"
        if module == "asyncio":
            return f"{what} is not compiled; write await asyncio.gather(...) or await asyncio.sleep(seconds)"
        return f"{what} runs Python, which a workflow does not; call it in an action, or write it as a method of the workflow"

    # Types

    def hint(self, at: Function, node: ast.expr) -> t.Type:
        """The type that a hint in the text says."""
        where = Namespace.of_function(at.source.function)
        try:
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
            return t.of_codec(codec_of(evaluate(text, where), where))
        except HintError as e:
            raise Refused(node, f"the hint: {e}") from None

    def signature(self, node: ast.AST, name: str, function: Any, method: bool) -> Signature:
        try:
            return Signature(name, function, skip_self=method)
        except HintError as e:
            raise Refused(node, str(e)) from None

    def shape_of(self, node: ast.AST, action: Action) -> Shape:
        if action.name not in self.shapes:
            s = self.signature(node, action.name, action.function, False)
            given = inspect.signature(action.function).parameters.values()
            positional = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            optional = {p.name: p.default for p in s.parameters if not p.required}
            kinds = {p.name: t.of_codec(p.codec) for p in s.parameters}
            names = s.names + (["**"] if s.others is not None else [])
            self.shapes[action.name] = Shape(positional, names, optional, kinds, t.of_codec(s.result))
        self.actions[action.name] = action
        return self.shapes[action.name]

    def type_of_class(self, node: ast.AST, cls: type) -> t.Type:
        try:
            return t.of_codec(codec_of(cls))
        except HintError as e:
            raise Refused(node, f"{cls.__name__}(...) has no JSON form: {e}") from None

    def constructor(self, node: ast.AST, cls: Any) -> Tuple[Dict[str, t.Type], List[str], Dict[str, Any]]:
        """The fields of a class, those that go by position, and their defaults; refuses one that runs Python."""
        if codec_of(cls).checks:  # type: ignore[attr-defined]
            raise Refused(node, f"making a {cls.__name__} runs Python (__init__, __post_init__ or a validator); make it in an action")
        fields = t.fields_of(cls)
        if dataclasses.is_dataclass(cls):
            if any("__setattr__" in c.__dict__ or "__new__" in c.__dict__ for c in cls.__mro__[:-1] if not dataclasses.is_dataclass(c) or not cls.__dataclass_params__.frozen):
                raise Refused(node, f"making a {cls.__name__} runs Python; make it in an action")
            return fields, *self.dataclass_defaults(node, cls)
        infos = getattr(cls, "model_fields", None)
        if infos is None:
            raise Refused(node, f"a model of pydantic 1 converts what it gets; make {cls.__name__} in an action")
        defaults = {}
        for n, info in infos.items():
            if info.alias is not None or info.validation_alias is not None:
                raise Refused(node, f"the field {n} of {cls.__name__} has an alias; make it in an action")
            if getattr(info, "metadata", None):
                raise Refused(node, f"the field {n} of {cls.__name__} is checked when it is made; make it in an action")
            if not info.is_required():
                if info.default_factory not in (None, list, dict):
                    raise Refused(node, f"the default of {n} of {cls.__name__} runs Python; make it in an action")
                defaults[n] = info.default if info.default_factory is None else info.default_factory()
        return fields, [], defaults

    @staticmethod
    def dataclass_defaults(node: ast.AST, cls: Any) -> Tuple[List[str], Dict[str, Any]]:
        positional, defaults = [], {}
        for f in dataclasses.fields(cls):
            if not f.init:
                raise Refused(node, f"the field {f.name} of {cls.__name__} has init=False; make it in an action")
            if f.default_factory is not dataclasses.MISSING:
                if f.default_factory not in (list, dict):
                    raise Refused(node, f"the default of {f.name} of {cls.__name__} runs Python; make it in an action")
                defaults[f.name] = f.default_factory()
            elif f.default is not dataclasses.MISSING:
                defaults[f.name] = f.default
            if not getattr(f, "kw_only", False):
                positional.append(f.name)
        return positional, defaults

    def need_settable(self, node: ast.AST, cls: Any) -> None:
        frozen = getattr(getattr(cls, "__dataclass_params__", None), "frozen", False)
        config = getattr(cls, "model_config", {})
        if frozen or config.get("frozen"):
            raise Refused(node, f"{cls.__name__} is frozen; write dataclasses.replace(x, field=value)")
        if config.get("validate_assignment"):
            raise Refused(node, f"{cls.__name__} checks what is assigned; make a new one in an action")

    def written(self, node: ast.AST, member: Any) -> Any:
        """The JSON form of a member of an Enum."""
        return codec_of(type(member)).encode(member)

    def uses_fail(self, node: ast.AST) -> None:
        """Notes that the program raises errors, for which it runs the built-in action."""
        own = self.actions.get(FAIL)
        if own is not None and self.shapes[FAIL].names != ["type", "message"]:
            raise Refused(node, f"raising an error runs the built-in action {FAIL}, and the file has another one of that name; give it another name=")

    # Functions

    def function(self, node: ast.AST, callee: Any, caught: FrozenSet[str]) -> Made:
        """Translates a function that the workflow calls, once for each set of errors that its callers catch."""
        key = (callee, caught)
        if key in self.functions:
            made = self.functions[key]
            if made is None:
                raise Refused(node, f"{callee.__name__} calls itself; a call is expanded in place, so write a loop")
            return made
        source = self.source_of(callee)
        assert source is not None
        decorators = [ast.unparse(d) for d in source.node.decorator_list if ast.unparse(d) != "staticmethod"]
        if decorators:
            raise Refused(node, f"{callee.__name__} is decorated with {decorators[0]}, which runs Python; call it without, or make it an action")
        self.functions[key] = None
        label = self.label(callee.__name__)
        try:
            made = self.translate(source, label, caught)
        except Refused as e:
            self.problem(source, e.node or source.node, e.what)
            made = Made(label, [], {}, {}, Value("", t.BROKEN), [], source.module, source.node)
        self.functions[key] = made
        self.order.append(made)
        return made

    def label(self, wanted: str) -> str:
        wanted = wanted.strip("_") or "f"
        if not wanted.isascii() or wanted in _TAKEN or not wanted[0].isalpha():
            wanted = "f_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in wanted)
        made, n = wanted, 1
        while made in self.labels:
            n += 1
            made = f"{wanted}_{n}"
        self.labels.add(made)
        return made

    def translate(self, source: Source, label: str, caught: FrozenSet[str]) -> Made:
        sequential: Set[int] = set()
        mark = self.mark()
        while True:
            at = Tries(self, source, caught, label)
            at.sequential = sequential
            try:
                return self.translate_with(at, source, label)
            except Rewrite as e:
                if e.line in sequential:
                    raise AssertionError(f"line {e.line} is no spread any more") from e
                sequential.add(e.line)
                self.back(mark)

    def translate_with(self, at: Tries, source: Source, label: str) -> Made:
        node = source.node
        signature = self.signature(node, f"{source.function.__qualname__}", source.function, bool(source.self_name))
        if node.args.vararg or node.args.kwarg:
            raise Refused(node, f"{node.name} takes any number of arguments; name them")
        for n in [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]:
            if name_of(n) != n and label == "main":
                raise Refused(node, f"{n} is a reserved word of the language and cannot be an input; give it another name")
        kinds = {}
        for p in signature.parameters:
            kinds[p.name] = t.of_codec(p.codec)
            at.known().set(p.name, Variable(kinds[p.name], False))
        for n in ast.walk(node):
            if isinstance(n, (ast.Yield, ast.YieldFrom)):
                raise Refused(n, "a workflow is no generator; build a list and return it")
            if isinstance(n, ast.Name) and not n.id.isascii():
                raise Refused(n, f"{n.id}: names have the letters a to z in the language; give it another name")
        hint = t.of_codec(signature.result)
        if label == "main":
            self.result_hint = hint
        at.block(node.body)
        if at.scope is not None:
            if label == "main" and not t.fits(t.NONE, hint):
                self.problem(source, node.returns or node, f"run may end without return, and gives None then, its hint says {hint}; write return, or Optional")
            at.returns.append(Value("None", t.NONE))
        kind = t.join(r.type for r in at.returns)
        if hint != t.ANY:
            kind = t.refine(kind, hint)
        if not at.writer.lines:
            at.writer.line(node, "pass")
        defaults = {p.name: p.default for p in signature.parameters if not p.required}
        result = Value("", kind, fresh=bool(at.returns) and all(r.fresh or not t.mutables_in(r.type) for r in at.returns))
        return Made(label, signature.names, kinds, defaults, result, at.writer.lines, source.module, node)

    def compile(self) -> Made:
        """Translates run, and all that it calls."""
        run = inspect.getattr_static(self.cls, "run")
        source = self.source_of(run)
        if source is None:
            raise Refused(None, f"the text of {self.cls.__name__}.run is not found; write it in a file beside the workflow's, without decorators")
        init = inspect.getattr_static(self.cls, "__init__", None)
        if isinstance(init, python_types.FunctionType) and self.source_of(init) is not None:
            own = self.source_of(init)
            assert own is not None
            self.problem(own, own.node, "a workflow object has no state: it may continue in another process; write constants in the class, and pass the rest as arguments of run")
        try:
            made = self.translate(source, "main", frozenset())
        except Refused as e:
            self.problem(source, e.node or source.node, e.what)
            made = Made("main", [], {}, {}, Value("", t.NONE), [], source.module, source.node)
        self.order.append(made)
        return made


#: Labels that would be read as something else.
_TAKEN = frozenset(
    "all any bool dict enumerate float int isexception len list max min range reversed sorted str sum zip fn input output sleep spread "
    "limit parallel retry backoff timeout main load pass".split()
)


def changes(tree: ast.Module) -> Tuple[Set[str], Set[str]]:
    """The names of a file that get a value more than once, and those whose objects are changed in place."""
    count: Dict[str, int] = {}
    rebound: Set[str] = set()
    mutated: Set[str] = set()
    todo: List[Any] = list(tree.body)
    while todo:
        at = todo.pop()
        if isinstance(at, ast.Name) and isinstance(at.ctx, (ast.Store, ast.Del)):
            count[at.id] = count.get(at.id, 0) + 1
        if isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        todo.extend(ast.iter_child_nodes(at))
    for at in ast.walk(tree):
        if isinstance(at, ast.Global):
            rebound.update(at.names)
        if isinstance(at, ast.Attribute) and isinstance(at.ctx, (ast.Store, ast.Del)):
            rebound.add(at.attr)
        if isinstance(at, ast.AugAssign) and isinstance(at.target, ast.Name):
            mutated.add(at.target.id)
        if isinstance(at, ast.Subscript) and isinstance(at.ctx, (ast.Store, ast.Del)):
            mutated.add(_last(at.value))
        if isinstance(at, ast.Call) and isinstance(at.func, ast.Attribute) and at.func.attr in CHANGERS:
            mutated.add(_last(at.func.value))
    return rebound | {n for n, times in count.items() if times > 1}, mutated


def _last(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


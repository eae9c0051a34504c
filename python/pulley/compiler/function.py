"""One function of a workflow, on its way into the language: what its parts share."""

import ast
import contextlib
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Set, Tuple, Union

from . import types as t
from .problems import NeedsStatement, Refused
from .scope import PRIMARY, Scope, Value, Variable, merged
from .text import Segment, Writer, name as name_of, quote

if TYPE_CHECKING:
    from .unit import Source, Unit

#: What the built-in action that fails is called.
FAIL = "fail"


class Loop:
    """A loop around the statement that is compiled."""

    def __init__(self, flag: str = "") -> None:
        self.breaks: List[Scope] = []
        self.continues: List[Scope] = []
        self.flag = flag  # the variable that notes a break; empty: nobody asks


class Try:
    """A try around the statement that is compiled: its handlers may find any state in between."""

    def __init__(self, catches: FrozenSet[str], observed: bool, line: int, scope: Scope) -> None:
        self.catches = catches
        self.observed = observed  # a handler may look at the error's text
        self.line = line
        self.scope: Scope = scope.copy()

    def see(self, scope: Scope) -> None:
        both = merged([self.scope, scope])
        assert both is not None
        self.scope = both


class Function:
    """What is known and what was written while a function is compiled."""

    def __init__(self, unit: "Unit", source: "Source", caught: FrozenSet[str], label: str) -> None:
        self.unit = unit
        self.source = source
        self.caught = caught  # errors that a caller of this function catches
        self.label = label
        self.writer = Writer()
        self.scope: Optional[Scope] = Scope()
        self.loops: List[Loop] = []
        self.tries: List[Try] = []
        self.locals: Set[str] = assigned_names(source.node)
        self.spoken = {n.id for n in ast.walk(source.node) if isinstance(n, ast.Name)} | self.locals
        self.inner: List[Dict[str, t.Type]] = []  # names that comprehensions bind
        self.conditional: str = ""  # what stands around, that may not evaluate its part: no statement can be put before it
        self.returns: List[Value] = []
        self.falls_off = False
        self.killed: Dict[str, int] = {}  # names that have no value after a loop that became a spread
        self.sequential: Set[int] = set()  # lines of loops that must not become spreads
        self.temporaries = 0
        self.handling: List[str] = []  # the names of the errors that the handlers around handle

    # Variables

    def known(self) -> Scope:
        assert self.scope is not None
        return self.scope

    def temporary(self) -> str:
        """Gives a name that the text does not have."""
        while True:
            self.temporaries += 1
            made = f"_{self.temporaries}"
            if made not in self.spoken:
                return made

    def assign(self, name: str, value: Value, hint: Optional[t.Type] = None) -> None:
        """Notes that a variable has a value."""
        scope = self.known()
        scope.share(value.names)
        kind = value.type if hint is None else t.refine(value.type, hint)
        scope.set(name, Variable(kind, value.fresh))
        self.changed()

    def share(self, value: Value) -> None:
        self.known().share(value.names)
        self.changed()

    def hold(self, values: "Iterable[Value]") -> "frozenset[str]":
        """Notes that values are put into another object, and gives the variables whose objects it then holds."""
        names = frozenset().union(*(v.names for v in values))
        if names:
            self.known().share(names)
            self.changed()
        return names

    def changed(self) -> None:
        """Lets the handlers around know the state."""
        if self.scope is not None:
            for around in self.tries:
                around.see(self.scope)

    # Errors

    def is_caught(self, error: str) -> Optional[int]:
        """Says whether an error of Python's would be caught: the line of the try, 0 for a caller's; None if it is not."""
        for around in reversed(self.tries):
            if error in around.catches:
                return around.line
        return 0 if error in self.caught else None

    def all_caught(self) -> FrozenSet[str]:
        return self.caught.union(*(around.catches for around in self.tries))

    def guard(self, node: ast.AST, error: str, condition: str, message: str) -> bool:
        """Writes a statement that raises an error if a condition holds, where a try might catch it; gives False where none
        does, so that the language's own error will end the run."""
        if self.is_caught(error) is None:
            return False
        self.need_statement(node, f"this may raise {error}, which {self._who(error)} catches")
        self.writer.line(node, "if ", (condition, node), ":")
        self.writer.depth += 1
        self.fail(node, quote(error), message)
        self.writer.depth -= 1
        self.changed()
        return True

    def _who(self, error: str) -> str:
        line = self.is_caught(error)
        return f"the try of line {line}" if line else "a try around its call"

    def fail(self, node: ast.AST, error: str, message: str) -> None:
        """Writes a statement that raises an error."""
        self.unit.uses_fail(node)
        self.writer.line(node, (f"@{FAIL}(type={error}, message={message})", node))

    # Statements that an expression needs before it

    def need_statement(self, node: ast.AST, why: str) -> None:
        if self.conditional:
            raise NeedsStatement(node, f"{why}, inside {self.conditional}; write it as a statement of its own before, or write if and for as statements")

    def hoist(self, node: ast.AST, *segments: Union[str, Segment]) -> str:
        """Writes an assignment to a new variable, and gives its name."""
        made = self.temporary()
        self.writer.line(node, f"{made} = ", *segments)
        return made

    def simple(self, node: ast.AST, value: Value) -> Value:
        """Gives a value whose text can stand twice: itself if it is a name or a literal, else that of a new variable."""
        if value.literal or value.binding == PRIMARY and value.text.isidentifier():
            return value
        self.need_statement(node, "a part of this must be computed first")
        made = self.hoist(node, (value.text, node))
        return Value(made, value.type, raises=frozenset(), fresh=value.fresh, names=value.names, parts=value.parts)

    @contextlib.contextmanager
    def within(self, what: str) -> Iterator[None]:
        """Marks what may not be evaluated, or more than once."""
        outer, self.conditional = self.conditional, self.conditional or what
        try:
            yield
        finally:
            self.conditional = outer

    @contextlib.contextmanager
    def assuming(self, node: ast.expr, holds: bool) -> Iterator[None]:
        """Compiles something that is evaluated only if a condition holds, or does not."""
        outer = self.known()
        self.scope = outer.copy()
        self.scope.narrow(node, holds)
        try:
            yield
        finally:
            outer.share(n for n, v in self.known().variables.items() if not v.owned)
            self.scope = outer

    def name(self, text: str) -> str:
        return name_of(text)


def assigned_names(node: ast.AST) -> Set[str]:
    """The names that a function binds, parameters included; those of comprehensions are theirs alone."""
    found: Set[str] = set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        a = node.args
        for p in a.posonlyargs + a.args + a.kwonlyargs + [x for x in (a.vararg, a.kwarg) if x]:
            found.add(p.arg)
        todo: List[Any] = list(node.body)
    else:
        todo = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)):
            continue
        if isinstance(at, ast.Name) and isinstance(at.ctx, (ast.Store, ast.Del)):
            found.add(at.id)
        if (isinstance(at, ast.ExceptHandler) or type(at).__name__ == "MatchAs") and at.name:
            found.add(at.name)
        todo.extend(ast.iter_child_nodes(at))
    return found


def loads(nodes: List[ast.AST]) -> Set[str]:
    """The names that are read in statements."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


Targets = Tuple[str, ...]

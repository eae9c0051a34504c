"""What is known of the variables of a function at one place in its text."""

import ast
import dataclasses
import re
from typing import Dict, FrozenSet, Iterable, List, Optional, Tuple

from . import types as t


@dataclasses.dataclass(frozen=True)
class Variable:
    """A variable that has a value.

    owned says that its object has no other name and is in no other object, so that a change of it in place is
    the same as a new value for the variable.
    """

    type: t.Type
    owned: bool = False


@dataclasses.dataclass(frozen=True)
class Value:
    """The translation of an expression.

    raises are the names of the errors that Python may raise in it.  fresh says that its object is new.  names are the
    variables whose object it may be or hold.  parts are the types of the elements of a list whose length is known.
    """

    text: str
    type: t.Type
    binding: int = 9
    raises: FrozenSet[str] = frozenset()
    fresh: bool = False
    names: FrozenSet[str] = frozenset()
    parts: Optional[Tuple[t.Type, ...]] = None
    literal: bool = False

    def bound(self, level: int) -> str:
        """The text, in brackets if it binds less than that."""
        return self.text if self.binding >= level else f"({self.text})"


# How much operators bind, from the least.
CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, PRODUCT, UNARY, PRIMARY = range(1, 10)


class Scope:
    """The variables that have a value, and what conditions around have said of parts of them."""

    def __init__(self) -> None:
        self.variables: Dict[str, Variable] = {}
        self.facts: Dict[str, t.Type] = {}  # by the text of the expression

    def copy(self) -> "Scope":
        made = Scope()
        made.variables = dict(self.variables)
        made.facts = dict(self.facts)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self.variables == other.variables and self.facts == other.facts

    def set(self, name: str, variable: Variable) -> None:
        self.variables[name] = variable
        self.forget(name)

    def remove(self, name: str) -> None:
        self.variables.pop(name, None)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Drops what is known of parts that a variable has or names."""
        for text in [f for f in self.facts if re.search(rf"\b{re.escape(name)}\b", f)]:
            del self.facts[text]

    def share(self, names: Iterable[str]) -> None:
        """Notes that the objects of variables are known elsewhere, too."""
        for n in names:
            v = self.variables.get(n)
            if v is not None and v.owned:
                self.variables[n] = dataclasses.replace(v, owned=False)

    def narrow(self, node: ast.expr, holds: bool) -> None:
        """Takes in that a condition holds, or does not."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.narrow(node.operand, not holds)
        elif isinstance(node, ast.BoolOp):
            if holds == isinstance(node.op, ast.And):
                for value in node.values:
                    self.narrow(value, holds)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            right = node.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)) == holds:
                    self._is_something(node.left)
        elif holds:
            self._is_something(node)

    def _is_something(self, node: ast.expr) -> None:
        if isinstance(node, ast.Name):
            v = self.variables.get(node.id)
            if v is not None:
                self.variables[node.id] = dataclasses.replace(v, type=t.without_none(v.type))
            self.facts[node.id] = t.NONE  # for a name of a comprehension
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            self.facts[ast.unparse(node)] = t.NONE  # stands for: it is not None


def merged(scopes: Iterable[Optional[Scope]]) -> Optional[Scope]:
    """Gives what is known where several ways meet; None stands for a way that nobody takes."""
    ways: List[Scope] = [s for s in scopes if s is not None]
    if not ways:
        return None
    made = ways[0].copy()
    for way in ways[1:]:
        for n in list(made.variables):
            if n not in way.variables:
                del made.variables[n]
                continue
            a, b = made.variables[n], way.variables[n]
            made.variables[n] = Variable(t.join([a.type, b.type]), a.owned and b.owned)
        made.facts = {f: v for f, v in made.facts.items() if f in way.facts}
    return made

"""What is wrong with a workflow's text."""

import ast
from typing import List, Optional, Tuple

#: A place in a Python text: file, line from 1, column from 1.
Place = Tuple[str, int, int]


class Refused(Exception):
    """Something that cannot be compiled with Python's meaning.

    what says what stands there and what to write instead; it is empty if that was said already.
    """

    def __init__(self, node: Optional[ast.AST], what: str) -> None:
        super().__init__(what)
        self.node = node
        self.what = what


class NeedsStatement(Refused):
    """Something that needs a statement before it, where none can stand."""


class Problems:
    """Collects what is refused, so that one run names everything."""

    def __init__(self) -> None:
        self.found: List[Tuple[Place, str]] = []

    def add(self, place: Place, what: str) -> None:
        if what and (place, what) not in self.found:
            self.found.append((place, what))

    def lines(self) -> List[str]:
        """Gives a line for each, in the order of the text."""
        return [f"{file}:{line}:{col}: {what}" for (file, line, col), what in sorted(self.found)]


class CompileError(Exception):
    """A workflow that is refused; lines has one line for each reason."""

    def __init__(self, lines: List[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines

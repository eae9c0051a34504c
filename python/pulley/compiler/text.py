"""Writes programs of the language, and notes which place of the Python text each part comes from."""

import ast
import math
from typing import Any, List, Optional, Sequence, Tuple, Union

from .problems import Refused

#: A piece of a line, and the node of the Python text that it comes from.
Segment = Tuple[str, Optional[ast.AST]]

#: Words that cannot be names in the language.
RESERVED = frozenset(["load"])

INDENT = "    "


class Line:
    """One line of a program that is being written."""

    def __init__(self, depth: int, segments: Sequence[Segment], node: Optional[ast.AST]) -> None:
        self.depth = depth
        self.segments = list(segments)
        self.node = node


class Writer:
    """The lines of one function."""

    def __init__(self) -> None:
        self.lines: List[Line] = []
        self.depth = 1

    def line(self, node: Optional[ast.AST], *parts: Union[str, Segment]) -> None:
        self.lines.append(Line(self.depth, [(p, None) if isinstance(p, str) else p for p in parts], node))

    def mark(self) -> int:
        return len(self.lines)

    def cut(self, mark: int) -> List[Line]:
        """Takes the lines since the mark out again, and gives them."""
        taken = self.lines[mark:]
        del self.lines[mark:]
        return taken

    def paste(self, lines: Sequence[Line], deeper: int = 0) -> None:
        for line in lines:
            line.depth += deeper
            self.lines.append(line)


class Deeper:
    """Writes a block: with Deeper(writer): ..."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.mark = 0

    def __enter__(self) -> None:
        self.writer.depth += 1
        self.mark = self.writer.mark()

    def __exit__(self, *error: Any) -> None:
        if error[0] is None and self.writer.mark() == self.mark:
            self.writer.line(None, "pass")
        self.writer.depth -= 1


def quote(text: str, node: Optional[ast.AST] = None) -> str:
    """Writes a text as a literal of the language."""
    out = []
    for c in text:
        if c in '"\\':
            out.append("\\" + c)
        elif c == "\n":
            out.append("\\n")
        elif c == "\t":
            out.append("\\t")
        elif 0xD800 <= ord(c) <= 0xDFFF:
            raise Refused(node, "half of a surrogate pair is no text that JSON has; write the whole character")
        elif " " <= c <= "~":
            out.append(c)
        elif c < "\x80":
            out.append(f"\\x{ord(c):02x}")
        elif c.isprintable():
            out.append(c)
        elif ord(c) < 0x10000:
            out.append(f"\\u{ord(c):04x}")
        else:
            out.append(f"\\U{ord(c):08x}")
    return '"' + "".join(out) + '"'


def literal(value: Any, node: Optional[ast.AST] = None) -> str:
    """Writes None, a bool, a number or a text."""
    if isinstance(value, str):
        return quote(value, node)
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(node, f"{value!r} is not a number that JSON has; write None or a text")
    return repr(value)


def name(text: str) -> str:
    """Gives the name of a variable in the language."""
    return text + "_" if text in RESERVED else text

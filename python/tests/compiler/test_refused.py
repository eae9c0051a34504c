"""The files of tests/refused: each has one line that is refused, and says there why, and what to write instead."""

import os
import re
import unittest

from pulley.compiler import CompileError

from . import support


def words(text: str) -> "list[str]":
    return re.findall(r"\w+|[^\w\s]", text)


class TestRefused(unittest.TestCase):
    def test_refused(self) -> None:
        """The line of the comment is refused, and no other, in words that have those of the comment in their order."""
        for path in support.files("refused"):
            with open(path, encoding="utf-8") as f:
                lines = f.read().splitlines()
            marked = [(i + 1, line.partition("# refused: ")[2]) for i, line in enumerate(lines) if "# refused: " in line]
            with self.subTest(os.path.basename(path)):
                self.assertEqual(len(marked), 1, "one comment # refused: is wanted")
                with self.assertRaises(CompileError) as caught:
                    support.compiled(path)
                said = caught.exception.lines
                self.assertEqual(len(said), 1, said)
                line, want = marked[0]
                self.assertRegex(said[0], rf"\A{re.escape(path)}:{line}:\d+: ")
                rest = iter(words(said[0]))
                for word in words(want):
                    self.assertIn(word, rest, f"{said[0]!r} does not say {want!r}")

    def test_all_at_once(self) -> None:
        """Everything that is wrong in a file is said at once, in the order of the text."""
        path = os.path.join(support.HERE, "mistakes.py")
        with self.assertRaises(CompileError) as caught:
            support.compiled(path)
        with open(path, encoding="utf-8") as f:
            marked = [i + 1 for i, line in enumerate(f) if "# wrong" in line]
        self.assertEqual([int(line.split(":")[1]) for line in caught.exception.lines], marked)

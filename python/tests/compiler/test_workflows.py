"""The workflows of tests/workflows: each translation, and what CPython and pulley make of it."""

import contextlib
import io
import os
import unittest

from . import support

GOLDEN = os.path.join(support.HERE, "golden")


class TestWorkflows(unittest.TestCase):
    def test_compile(self) -> None:
        """Every workflow compiles, and every line of its translation has a place in the text."""
        for path in support.files("workflows"):
            with self.subTest(os.path.basename(path)):
                made = support.compiled(path)
                lines = made["program"].splitlines()
                placed = {row[0] for row in made["positions"]}
                self.assertEqual(placed, {i + 1 for i, line in enumerate(lines) if line})
                with open(path, encoding="utf-8") as f:
                    count = len(f.read().splitlines())
                for _, _, file, line, col in made["positions"]:
                    self.assertEqual(file, path)
                    self.assertTrue(1 <= line <= count and col >= 1, (line, col))

    def test_golden(self) -> None:
        """The translations are those that were looked at.  PULLEY_GOLDEN=write writes them anew."""
        for name in sorted(os.listdir(GOLDEN)):
            path = os.path.join(support.TESTS, "workflows", name.replace(".ir", ".py"))
            if not support.can_run(path):
                continue
            made = support.compiled(path)["program"]
            golden = os.path.join(GOLDEN, name)
            if os.environ.get("PULLEY_GOLDEN") == "write":
                with open(golden, "w", encoding="utf-8") as f:
                    f.write(made)
            with open(golden, encoding="utf-8") as f, self.subTest(name):
                self.assertEqual(made, f.read())

    @unittest.skipUnless(support.BINARY, "PULLEY_BINARY names no program")
    def test_same_as_python(self) -> None:
        """Result and error are those of plain Python."""
        for path in support.files("workflows"):
            made = support.compiled(path)
            for given in support.inputs_of(path):
                with self.subTest(os.path.basename(path), input=given):
                    with contextlib.redirect_stderr(io.StringIO()):
                        want = support.by_python(path, given)
                    got = support.by_pulley(path, given, made)
                    self.assertTrue(support.same(list(want[:2]), list(got[:2])) and want[2] == got[2], f"Python: {want}\npulley: {got}\n{made['program']}")

"""Files are imported, and what is wrong with them is told in one line with its place."""

import os
import sys
import tempfile
import unittest

from pulley.loading import LoadError, load, split_target, workflow_of

WORKFLOW = "from pulley import Workflow, workflow\n"


def flow(name):
    return f"@workflow\nclass {name}(Workflow):\n    async def run(self):\n        pass\n"


class LoadingTest(unittest.TestCase):
    def setUp(self):
        dir = tempfile.TemporaryDirectory()
        self.addCleanup(dir.cleanup)
        self.dir = os.path.realpath(dir.name)
        self.addCleanup(setattr, sys, "path", list(sys.path))

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def test_what_is_wrong(self):
        self.write("other_of_loading.py", "def f():\n    raise ValueError('two\\nlines')\nf()\n")
        decorated = 3 if sys.version_info < (3, 10) else 2
        for i, (text, says) in enumerate([
            ("import nowhere_to_be_found\n", "FILE:1: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
            ("x = 1\ndef f(:\n", "FILE:2: SyntaxError: "),
            ("if 1:\nx = 1\n", "FILE:2: IndentationError: "),
            ("x = 1\n\nx.y\n", "FILE:3: AttributeError: 'int' object has no attribute 'y'"),
            ("import other_of_loading\n", "other_of_loading.py:2: ValueError: two lines"),
            ("import json\njson.loads('{')\n", "FILE:2: JSONDecodeError: "),
            ("import sys\nsys.exit(3)\n", "FILE:2: SystemExit: 3"),
            ("raise Exception\n", "FILE:1: Exception"),
            ("from pulley import action\n@action(retry=-1)\ndef f(x):\n    pass\n", f"FILE:{decorated}: DefinitionError: @action f: retry=-1"),
        ]):
            with self.subTest(text=text):
                path = self.write(f"wrong{i}_of_loading.py", text)
                with self.assertRaises(LoadError) as caught:
                    load(path)
                self.assertIn(says.replace("FILE", path), str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(LoadError, "nowhere.py: there is no such file"):
            load(os.path.join(self.dir, "nowhere.py"))

    def test_workflows(self):
        one = self.write("one_of_loading.py", WORKFLOW + flow("A"))
        two = self.write("two_of_loading.py", WORKFLOW + flow("A") + flow("B") + f"from {os.path.basename(one)[:-3]} import A as C\n")
        none = self.write("none_of_loading.py", WORKFLOW)
        self.assertEqual(workflow_of(one).__name__, "A")
        self.assertEqual(workflow_of(one + ":A").__name__, "A")
        self.assertEqual(workflow_of(two + ":B").__name__, "B")
        self.assertEqual(workflow_of(two + ":B").__module__, "two_of_loading")
        for target, says in [
            (two, f"{two}: there are 2 workflows; write {two}:A or {two}:B"),
            (two + ":D", f"{two}: there is no workflow D; write {two}:A or {two}:B"),
            (none, f"{none}: there is no workflow; write @workflow above a class"),
            (none + ":A", f"{none}: there is no workflow A, nor any other workflow"),
        ]:
            with self.assertRaises(LoadError) as caught:
                workflow_of(target)
            self.assertTrue(str(caught.exception).startswith(says), caught.exception)

    def test_a_file_is_imported_once(self):
        path = self.write("once_of_loading.py", "x = []\n")
        self.assertIs(load(path), load(os.path.join(self.dir, ".", "once_of_loading.py")))

    def test_a_file_named_like_a_module(self):
        self.assertEqual(load(self.write("json.py", "x = 5\n")).x, 5)
        self.assertTrue(hasattr(__import__("json"), "loads"))

    def test_split_target(self):
        for target, parts in {
            "flow.py": ("flow.py", ""), "flow.py:A": ("flow.py", "A"), "a:b/flow.py": ("a:b/flow.py", ""), "a:b/flow.py:A": ("a:b/flow.py", "A"),
            "flow:A": ("flow:A", ""),
        }.items():
            self.assertEqual(split_target(target), parts)


if __name__ == "__main__":
    unittest.main()

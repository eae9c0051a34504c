"""Which names an except clause stands for."""

import importlib
import os
import sys
import tempfile
import unittest
from typing import Dict, List

from pulley.compiler.errors import Ambiguous, names_of
from pulley.compiler.modules import reached


class TestNames(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        self.library = os.path.join(self.root, "site-packages")
        self.before = set(sys.modules)
        sys.path[:0] = [self.root, self.library]
        self.addCleanup(self.forget)

    def forget(self) -> None:
        sys.path[:2] = []
        for name in set(sys.modules) - self.before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(self.root):
                del sys.modules[name]

    def names(self, wanted: str, files: Dict[str, str]) -> List[str]:
        """What except stands for with a class, MODULE.NAME, in the file flow.py of the user's."""
        for name, text in files.items():
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        importlib.invalidate_caches()
        importlib.import_module("flow_of_names")
        module, _, name = wanted.rpartition(".")
        cls = getattr(importlib.import_module(module), name)
        return names_of(cls, *reached("flow_of_names", self.root))

    def test_inside_functions(self) -> None:
        """Modules that functions import count, those of the user's that these import, and what cannot be imported does not."""
        found = self.names("builtins.OSError", {
            "flow_of_names.py": "def act():\n    import nowhere_at_all\n\nclass A:\n    async def act(self):\n        from helper_of_names import go\n        go()\n",
            "helper_of_names.py": "def go():\n    class Inner:\n        def f(self):\n            import tarantula_of_names.deep\n",
            "site-packages/tarantula_of_names/__init__.py": "class Bite(OSError): pass\n",
            "site-packages/tarantula_of_names/deep.py": "class Deep(OSError): pass\nclass Other(Exception): pass\n",
        })
        self.assertLessEqual({"OSError", "Bite", "Deep", "ConnectionError"}, set(found))
        self.assertNotIn("Other", found)

    def test_libraries_of_libraries(self) -> None:
        """A library's errors may be of another that it is made of; one of a name that another error has is none of them."""
        found = self.names("builtins.ValueError", {
            "flow_of_names.py": "import outer_of_names\n",
            "site-packages/outer_of_names.py": "from inner_of_names import helper\n\nclass Clash(Exception): pass\n",
            "site-packages/inner_of_names.py": "class Axis(ValueError): pass\nclass Clash(ValueError): pass\n\ndef helper(): pass\n",
        })
        self.assertIn("Axis", found)
        self.assertNotIn("Clash", found)

    def test_one_name(self) -> None:
        """Two of the user's classes have one name, and one of them is to be caught."""
        with self.assertRaises(Ambiguous):
            self.names("builtins.ValueError", {
                "flow_of_names.py": "import a_of_names\n\nclass Twice(Exception): pass\n",
                "a_of_names.py": "class Twice(ValueError): pass\n",
            })

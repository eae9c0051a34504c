"""Runs without an engine, and inputs that are checked."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from .places import EXAMPLE, PACKAGES

FLOW = """
import datetime
from dataclasses import dataclass
from typing import List, Optional
from pulley import Workflow, workflow

@dataclass
class Order:
    id: int
    tags: List[str] = ()

@workflow
class Flow(Workflow):
    async def run(self, n: int, order: Optional[Order] = None, since: datetime.date = datetime.date(2024, 1, 1), rate: float = 0.5) -> "List[int]":
        print("printed")
        if n < 0:
            raise ValueError("n is below 0")
        return [n] if n else n
"""


def pulley(*arguments, input=""):
    return subprocess.run(
        [sys.executable, "-m", "pulley", *arguments], input=input, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": PACKAGES}
    )


class PlainTest(unittest.TestCase):
    def setUp(self):
        dir = tempfile.TemporaryDirectory()
        self.addCleanup(dir.cleanup)
        self.path = os.path.join(dir.name, "flow.py")
        with open(self.path, "w") as f:
            f.write(FLOW)

    def test_run(self):
        got = pulley("run", EXAMPLE, "--format", "json", "--input", '{"fan_out": 6, "loop_iters": 2}')
        self.assertEqual((got.returncode, json.loads(got.stdout)), (0, {"status": "completed", "result": 120, "error": None}))
        got = pulley("run", self.path, "--input", "-", input='{"n": 3}')
        self.assertEqual((got.returncode, got.stdout), (0, "completed: [3]\n"))
        self.assertEqual(got.stderr, "printed\n")
        got = pulley("run", self.path, "--input", '{"n": -1}', "--format", "json")
        self.assertEqual((got.returncode, json.loads(got.stdout)["error"]), (1, {"type": "ValueError", "message": "n is below 0"}))
        got = pulley("run", self.path, "--input", '{"n": 0}')
        self.assertEqual((got.returncode, got.stdout), (1, "failed: ResultError: Flow.run: result: expected list, got 0\n"))
        got = pulley("run", self.path)
        self.assertEqual((got.returncode, got.stdout, got.stderr), (2, "", "pulley: --input: Flow.run: argument n is missing\n"))

    def test_input(self):
        for given, wanted in [
            ('{"n": 1}', {"input": {"n": 1, "order": None, "since": "2024-01-01", "rate": 0.5}}),
            ('{"n": 1, "order": {"id": 2, "tags": ["a"]}, "rate": 2}', {"input": {"n": 1, "order": {"id": 2, "tags": ["a"]}, "since": "2024-01-01", "rate": 2}}),
            ('{"n": "1"}', {"input_error": 'Flow.run: argument n: expected int, got "1"'}),
            ("{}", {"input_error": "Flow.run: argument n is missing"}),
            ('{"n": 1, "ordre": 2}', {"input_error": "Flow.run: there is no argument ordre; did you mean order?"}),
            ('{"n": 1, "order": {"id": null}}', {"input_error": "Flow.run: argument order.id: expected int, got null"}),
            ("[1]", {"input_error": "a JSON object is wanted, with the parameters of run"}),
            ('{"n": NaN}', {"input_error": "NaN is not JSON"}),
        ]:
            with self.subTest(given=given):
                got = pulley("input", self.path, input=given)
                self.assertEqual(json.loads(got.stdout), wanted)
                self.assertEqual(got.returncode, 2 if "input_error" in wanted else 0)

    def test_files(self):
        with open(self.path, "a") as f:
            f.write("raise ValueError('no')\n")
        got = pulley("input", self.path, input="{}")
        self.assertEqual(json.loads(got.stdout), {"file_error": f"{self.path}:{FLOW.count(chr(10)) + 1}: ValueError: no"})
        self.assertEqual(got.returncode, 2)

    def test_usage(self):
        self.assertEqual(pulley().returncode, 2)
        self.assertEqual(pulley("dance").returncode, 2)
        self.assertEqual(pulley("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()

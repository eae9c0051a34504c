"""Runs one workflow by CPython, and translated by the program pulley."""

import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Optional, Tuple

from pulley import definitions
from pulley.compiler import compile_workflow, translate
from pulley.loading import load, workflow_of
from pulley.plain import outcome_of
from pulley.values import Signature

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)

#: Names the program pulley; without it, what needs it is skipped.
BINARY = os.environ.get("PULLEY_BINARY", "")

Outcome = Tuple[str, Any, Any]  # status, result, (type, message) of the error


def files(folder: str) -> List[str]:
    """The Python files of a folder of the tests, without those that this Python cannot run: they need pydantic, or match."""
    return [f for f in sorted(glob.glob(os.path.join(TESTS, folder, "*.py"))) if can_run(f)]


def can_run(path: str) -> bool:
    if path.endswith("_py310.py") and sys.version_info < (3, 10):
        return False
    if importlib.util.find_spec("pydantic") is not None:
        return True
    with open(path, encoding="utf-8") as f:
        return "pydantic" not in f.read()


def compiled(path: str) -> Dict[str, Any]:
    """Translates a file.  Names of actions may be those of other files."""
    definitions.actions.clear()
    return compile_workflow(path)


def inputs_of(path: str) -> List[Dict[str, Any]]:
    """The inputs that a workflow is tried with: INPUTS in its file."""
    return getattr(load(path), "INPUTS", [{}])


def by_python(path: str, given: Dict[str, Any]) -> Outcome:
    """Runs a workflow in this process, without any engine."""
    cls = workflow_of(path)
    signature = Signature("run", cls.run, skip_self=True)
    outcome = outcome_of(cls, signature, signature.decode_arguments(given))
    error = outcome["error"]
    return outcome["status"], outcome["result"], None if error is None else (error["type"], error["message"])


def by_pulley(path: str, given: Dict[str, Any], program: Optional[Dict[str, Any]] = None) -> Outcome:
    """Runs the translation of a workflow in the memory backend, with the actions that are built in."""
    made = program or compiled(path)
    cls = workflow_of(path)
    complete = Signature("run", cls.run, skip_self=True).complete(given)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "program.ir")
        with open(file, "w", encoding="utf-8") as f:
            f.write(made["program"])
        run = subprocess.run(
            [BINARY, "run", file, "--backend", "memory", "--format", "json", "--input", json.dumps(complete)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False,
        )
    if run.returncode not in (0, 1):
        raise AssertionError(f"{path}: pulley ended with {run.returncode}: {run.stderr.decode()}\n{compiled['program']}")
    outcome = json.loads(run.stdout)
    error = outcome["error"]
    return outcome["status"], outcome["result"], None if error is None else translate(error["type"], error["message"])


def same(a: Any, b: Any) -> bool:
    """Says whether two results are equal, and of the same types, ints and floats apart."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and not isinstance(b, bool):
        return a == b
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)

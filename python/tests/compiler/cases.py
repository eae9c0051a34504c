"""Prints the workflows of tests/workflows, some at random, or those of a folder, as CPython runs them: a line of JSON for each input.

    PYTHONPATH=. python3 tests/compiler/cases.py [--random SEED COUNT | --printed FOLDER]

Of a folder, a file that the compiler refuses has a line, too: with its name and why.
"""

import asyncio
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import traceback
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from compiler import generate, support  # noqa: E402

from pulley.compiler import CompileError  # noqa: E402
from pulley.loading import workflow_of  # noqa: E402
from pulley.values import Signature  # noqa: E402


def line_of(path: str, given: dict) -> int:
    """The line of a workflow's file at which it fails; 0 where errors are raised again, which Python reports at their first line."""
    with open(path, encoding="utf-8") as f:
        if re.search(r"^\s+(raise|raise \w|finally:)$", f.read(), re.MULTILINE):
            return 0
    cls = workflow_of(path)
    positional, named = Signature("run", cls.run, skip_self=True).decode_arguments(given)
    try:
        asyncio.run(cls().run(*positional, **named))
    except Exception as e:
        frames = [f.lineno for f in traceback.extract_tb(e.__traceback__) if os.path.realpath(f.filename) == os.path.realpath(path)]
        return frames[-1] or 0
    raise AssertionError(f"{path} fails once only")


def cases(paths: "list[str]", lines: bool = True) -> Iterator[dict]:
    """What CPython makes of files; without lines, it is not looked where they fail, for which each must run twice."""
    for path in paths:
        made = support.compiled(path)
        cls = workflow_of(path)
        signature = Signature("run", cls.run, skip_self=True)
        for given in support.inputs_of(path):
            with contextlib.redirect_stderr(io.StringIO()):
                status, result, error = support.by_python(path, given)
            yield {
                "name": f"{os.path.basename(path)} {json.dumps(given)}",
                "program": made["program"],
                "errors": made["errors"],
                "positions": made["positions"],
                "input": signature.complete(given),
                "status": status,
                "result": result,
                "error": error,
                "line": 0 if error is None or not lines else line_of(path, given),
            }


def generated(first: int, count: int) -> Iterator[dict]:
    """Workflows at random: those that compile, of so many seeds."""
    sys.path.insert(0, os.path.join(support.TESTS, "workflows"))
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            path = os.path.join(folder, f"generated_{seed}.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(generate.workflow(seed))
            try:
                yield from cases([path])
            except CompileError as e:
                refused += 1
                if os.environ.get("PULLEY_SHOW_REFUSED"):
                    sys.stderr.write(f"{e}\n")
    if refused > count * 2 // 3:
        raise AssertionError(f"{refused} of {count} workflows at random are refused")


def printed(folder: str) -> Iterator[dict]:
    """The workflows that were printed into a folder."""
    sys.path.insert(0, os.path.join(support.TESTS, "printed"))
    for name in sorted(os.listdir(folder)):
        try:
            yield from cases([os.path.join(folder, name)], lines=False)
        except CompileError as e:
            yield {"name": name, "refused": str(e)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--random"]:
        found = generated(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["--printed"]:
        found = printed(sys.argv[2])
    else:
        found = cases(support.files("workflows"))
    for case in found:
        print(json.dumps(case))

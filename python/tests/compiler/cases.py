"""Prints the workflows of tests/workflows, and some at random, as CPython runs them: a line of JSON for each input.

    PYTHONPATH=. python3 tests/compiler/cases.py [--random SEED COUNT]
"""

import contextlib
import io
import json
import os
import sys
from typing import Iterator

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from compiler import support  # noqa: E402

from pulley.loading import workflow_of  # noqa: E402
from pulley.values import Signature  # noqa: E402


def cases(paths: "list[str]") -> Iterator[dict]:
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
                "input": signature.complete(given),
                "status": status,
                "result": result,
                "error": error,
            }


if __name__ == "__main__":
    for case in cases(support.files("workflows")):
        print(json.dumps(case))

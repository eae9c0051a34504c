"""Translates workflow classes into programs of pulley's language.

    compiled = compile_workflow("flow.py:Flow")
    compiled["program"]

The compiler reads the text of ``run`` and of what it calls with ``ast``, and imports the file to know what its names stand
for: actions, classes, constants.  What a value is it knows from type hints.  It either finds the same meaning in
the language or refuses the text with its place and what to write instead: docs/python.md lists both.

How a function is translated: modules statements, loops and tries write statements; expressions, operators, access,
functions, methods and invocations translate expressions, and write what these need before them.  Each class derives from
the one below it.  Module scope has what is known of the variables at one place (their types, and whether an
object is known by one name only), types the types, floats how floats are printed, errors the exceptions, text and program the text.
"""

import argparse
import json
import sys
from typing import Any, Dict, List

from ..loading import LoadError, split_target, workflow_of
from .errors import translate
from .problems import CompileError, Refused

__all__ = ["CompileError", "compile_workflow", "main", "translate"]


def compile_workflow(target: str) -> Dict[str, Any]:
    """Translates FILE.py[:Class], and gives what ``python3 -m pulley compile --json`` prints.

    CompileError says what is refused, LoadError that the file or the class cannot be had.
    """
    from .program import document
    from .unit import Unit

    cls = workflow_of(target)
    unit = Unit(cls, split_target(target)[0])
    try:
        main = unit.compile()
    except Refused as e:
        raise CompileError([f"{split_target(target)[0]}: {e.what}"]) from None
    if unit.problems.found:
        raise CompileError(unit.problems.lines())
    return document(unit, main, cls.name)


def main(arguments: List[str]) -> int:
    """python3 -m pulley compile: prints the program, or, with --json, what else is known of it, too."""
    parser = argparse.ArgumentParser(prog="python3 -m pulley compile", description="Translate a workflow into a program of pulley's language.")
    parser.add_argument("file", metavar="FILE.py[:Class]")
    parser.add_argument("--json", action="store_true", help="print an object with the program, positions, actions and input")
    options = parser.parse_args(arguments)
    try:
        made = compile_workflow(options.file)
    except CompileError as e:
        sys.stderr.write("".join(line + "\n" for line in e.lines))
        return 2
    except LoadError as e:
        sys.stderr.write(f"pulley: {e}\n")
        return 2
    sys.stdout.write(json.dumps(made) + "\n" if options.json else made["program"])
    return 0

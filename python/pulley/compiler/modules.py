"""The modules that a workflow's file knows, from which errors may come."""

import ast
import importlib
import importlib.util
import os
import sys
import types
from typing import Any, Iterable, List, Optional, Set, Tuple


def reached(name: str, root: str) -> Tuple[Set[str], Set[str]]:
    """Gives the modules that a module of the user's and its others below root know, and those that these know in turn.

    What functions of the user's import is imported here, too: its classes of errors are not known before.  Python's own modules are not
    looked into.
    """
    near: Set[str] = set()
    far: Set[str] = set()
    below = os.path.realpath(root) + os.sep
    todo: List[Tuple[str, bool]] = [(name, True)]
    while todo:
        name, is_near = todo.pop()
        if name in near or not is_near and name in far:
            continue
        (near if is_near else far).add(name)
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if not isinstance(module, types.ModuleType) or not isinstance(file, str):
            continue
        file = os.path.realpath(file)
        if file.startswith(below) and not _is_installed(file):
            todo += [(n, True) for n in _known(vars(module).values())]
            todo += [(n, True) for n in _imported_inside(file, module.__package__)]
        elif _is_installed(file) or not file.startswith(os.path.dirname(os.path.realpath(os.__file__)) + os.sep):
            todo += [(n, False) for n in _known(vars(module).values())]
    return near, far


def _is_installed(file: str) -> bool:
    return "site-packages" in file or "dist-packages" in file


def _known(values: Iterable[Any]) -> List[str]:
    """The modules that values are, or come from."""
    found = []
    for value in list(values):
        try:
            name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        except Exception:  # whatever a library's object does when it is looked at
            continue
        if isinstance(name, str):
            found.append(name)
    return found


def _imported_inside(file: str, package: Optional[str]) -> List[str]:
    """The modules that the functions of a file import.  One that cannot be imported is left out: the run of the function reports it."""
    try:
        with open(file, "rb") as f:
            tree = ast.parse(f.read())
    except (OSError, SyntaxError, ValueError):
        return []
    found: List[str] = []
    seen: Set[ast.AST] = set()
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if _module(alias.name) is not None:
                        found += [alias.name] if alias.asname else [alias.name, alias.name.split(".")[0]]
            elif isinstance(node, ast.ImportFrom):
                found += _imported_from(node, package)
    return found


def _imported_from(node: ast.ImportFrom, package: Optional[str]) -> List[str]:
    """The modules that a from … import knows: the one that it names, and those of what it takes from there."""
    try:
        name = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
    except (ImportError, ValueError):
        return []
    module = _module(name)
    if module is None:
        return []
    taken = []
    for alias in node.names:
        value = getattr(module, alias.name, None)
        taken.append(_module(f"{name}.{alias.name}") if value is None and hasattr(module, "__path__") else value)
    return [name, *_known(taken)]


def _module(name: str) -> Optional[types.ModuleType]:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit):
        return None

"""Imports the files that hold actions and workflows, and finds in them what is asked for."""

import importlib
import importlib.util
import os
import sys
import types
from typing import List, Optional, Tuple, Type

from . import definitions


class LoadError(Exception):
    """A file that cannot be imported, or does not have what is asked for; its text is one line that says where."""


def split_target(target: str) -> Tuple[str, str]:
    """Takes FILE.py:Class apart; the class is empty where none is named."""
    head, colon, tail = target.rpartition(":")
    if colon and head.endswith(".py"):
        return head, tail
    return target, ""


def load(path: str) -> types.ModuleType:
    """Imports a file under the name that other files would import it by, with its directory (or that of the
    package that it is in) on the path.  It is imported once, however often this is called."""
    if not os.path.isfile(path):
        raise LoadError(f"{path}: there is no such file")
    real = os.path.realpath(path)
    for module in list(sys.modules.values()):
        if getattr(module, "__pulley_file__", None) == real:
            return module
    root, name = _module_name(os.path.abspath(path))
    if root not in sys.path:
        sys.path.insert(0, root)
    try:
        module = _import(path, root, name)
    except SyntaxError as e:
        if e.filename is None:
            raise LoadError(f"{path}: SyntaxError: {e}") from e
        raise LoadError(f"{_shown(e.filename)}:{e.lineno}: {type(e).__name__}: {e.msg}") from e
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        text = " ".join(str(e).split())
        raise LoadError(f"{_where(e, path, root)}: {type(e).__name__}{': ' if text else ''}{text}") from e
    module.__pulley_file__ = real  # type: ignore[attr-defined]
    return module


def _module_name(path: str) -> Tuple[str, str]:
    """Gives the directory to import from, and the dotted name of a file."""
    parts = [os.path.splitext(os.path.basename(path))[0]]
    root = os.path.dirname(path)
    while os.path.isfile(os.path.join(root, "__init__.py")) and os.path.dirname(root) != root:
        parts.append(os.path.basename(root))
        root = os.path.dirname(root)
    return root, ".".join(reversed(parts))


def _import(path: str, root: str, name: str) -> types.ModuleType:
    if "." in name and all(part.isidentifier() for part in name.split(".")):
        return importlib.import_module(name)
    if name in sys.modules or name in getattr(sys, "stdlib_module_names", ()) or not name.isidentifier():
        name = "pulley_file_" + "".join(c if c.isalnum() else "_" for c in os.path.realpath(path))
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file; name it NAME.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _where(error: BaseException, path: str, root: str) -> str:
    """The file and line of the user's code that an error comes from: the last below the file's directory, if there is one."""
    places, tb = [], error.__traceback__
    while tb is not None:
        places.append((tb.tb_frame.f_code.co_filename, tb.tb_lineno))
        tb = tb.tb_next
    for file, line in reversed(places):
        if file.startswith(root + os.sep) and "site-packages" not in file and not file.startswith(os.path.dirname(__file__) + os.sep):
            return f"{_shown(file)}:{line}"
    return path


def _shown(file: str) -> str:
    """A file as one would name it from here."""
    near = os.path.relpath(file)
    return file if near.startswith("..") else near


def workflow_of(target: str) -> Type[definitions.Workflow]:
    """Imports FILE.py[:Class], and gives the workflow."""
    path, wanted = split_target(target)
    module = load(path)
    found = {c.__qualname__: c for c in definitions.workflows.values() if c.__module__ == module.__name__ and "<locals>" not in c.__qualname__}
    if wanted in found:
        return found[wanted]
    listed = _either([f"{path}:{name}" for name in found])
    if wanted:
        there = f"; write {listed}" if found else ", nor any other workflow; write @workflow above the class"
        raise LoadError(f"{path}: there is no workflow {wanted}{there}")
    if not found:
        raise LoadError(f"{path}: there is no workflow; write @workflow above a class that derives from Workflow")
    if len(found) > 1:
        raise LoadError(f"{path}: there are {len(found)} workflows; write {listed}")
    return next(iter(found.values()))


def _either(names: List[str], most: Optional[int] = 10) -> str:
    names = sorted(names)[:most]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1] if names else ""

"""Runs a workflow in this process without any engine, and checks the input of one."""

import argparse
import asyncio
import os
import sys
import traceback
from typing import Any, Dict, List, Type

from .definitions import Workflow
from .jsontext import dumps, loads
from .loading import LoadError, workflow_of
from .streams import read_all, take_stdio, write_all
from .values import HintError, Mismatch, Signature

#: How long an input may be, in bytes.
INPUT_MOST = 16 << 20


class _Refused(Exception):
    """What is wrong with the input, in one line."""


def run_main(arguments: List[str]) -> int:
    """python3 -m pulley run: prints what ``pulley run`` would, in the same form, and gives the same exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m pulley run", description="Run a workflow in this process, without any engine.")
    parser.add_argument("file", metavar="FILE.py[:Class]")
    parser.add_argument("--input", default="{}", metavar="JSON", help="what run takes, as a JSON object; @FILE reads it from a file, - from standard input")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args(arguments)
    source, sink = take_stdio()
    try:
        cls, signature = _signature(options.file)
        values = signature.decode_arguments(_object(_read(options.input, source)))
    except (LoadError, HintError) as e:
        sys.stderr.write(f"pulley: {e}\n")
        return 2
    except (Mismatch, _Refused) as e:
        sys.stderr.write(f"pulley: --input: {e}\n")
        return 2
    outcome = outcome_of(cls, signature, values)
    write_all(sink, (_words(outcome) if options.format == "text" else dumps(outcome)).encode() + b"\n")
    return 0 if outcome["error"] is None else 1


def outcome_of(cls: Type[Workflow], signature: Signature, values: Any) -> Dict[str, Any]:
    """Runs a workflow and gives how it ended, in the form of ``pulley run --format json``."""
    positional, named = values
    try:
        result = asyncio.run(cls().run(*positional, **named))
    except Exception as e:
        traceback.print_exc()
        return {"status": "failed", "result": None, "error": {"type": type(e).__name__, "message": str(e)}}
    try:
        return {"status": "completed", "result": signature.encode_result(result), "error": None}
    except Mismatch as e:
        return {"status": "failed", "result": None, "error": {"type": "ResultError", "message": str(e)}}


def input_main(arguments: List[str]) -> int:
    """python3 -m pulley input: reads an input as JSON, and prints {"input": ...}, checked and with the defaults.  What is wrong with
    the input or with the file is {"input_error": one line} or {"file_error": one line}, with exit status 2."""
    parser = argparse.ArgumentParser(prog="python3 -m pulley input", description="Check the input of a workflow, and fill in defaults.")
    parser.add_argument("file", metavar="FILE.py[:Class]")
    options = parser.parse_args(arguments)
    source, sink = take_stdio()
    try:
        _, signature = _signature(options.file)
        out = {"input": signature.complete(_object(_decode(read_all(source, INPUT_MOST))))}
    except (LoadError, HintError) as e:
        out = {"file_error": str(e)}
    except (_Refused, ValueError) as e:  # a Mismatch is one
        out = {"input_error": str(e)}
    write_all(sink, dumps(out).encode() + b"\n")
    return 0 if "input" in out else 2


def _signature(target: str) -> Any:
    cls = workflow_of(target)
    return cls, Signature(f"{cls.__name__}.run", cls.run, skip_self=True)


def _read(text: str, source: int) -> str:
    if text == "-":
        return _decode(read_all(source, INPUT_MOST))
    if not text.startswith("@"):
        return text
    try:
        with open(text[1:], "rb") as f:
            return _decode(read_all(f.fileno(), INPUT_MOST))
    except (OSError, ValueError) as e:
        raise _Refused(f"{text[1:]}: {os.strerror(e.errno) if isinstance(e, OSError) and e.errno else e}") from None


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise _Refused(f"byte {e.start} is not UTF-8") from None


def _object(text: str) -> Dict[str, Any]:
    try:
        data = loads(text)
    except ValueError as e:
        raise _Refused(str(e)) from None
    if type(data) is not dict:
        raise _Refused("a JSON object is wanted, with the parameters of run")
    return data


def _words(outcome: Dict[str, Any]) -> str:
    error = outcome["error"]
    text = dumps(outcome["result"]) if error is None else f"{error['type']}: {error['message']}"
    return f"{outcome['status']}: {' '.join(text.split())}"

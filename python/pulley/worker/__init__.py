"""Runs the actions of files for an engine: python3 -m pulley worker FILE.py ...

The worker speaks pulley's worker protocol (docs/worker-protocol.md) over its standard input and output.  What the
user's code prints goes to standard error, which is the log; what it reads is empty.

Three threads share the work.  The main one runs the event loop, and in it the actions that are coroutines; one
reads messages, so that the end of the input is noticed whatever the loop does; one sends heartbeats, so that an action that
blocks the loop is not taken for a worker that hangs.  Actions that are plain functions run in threads of their own.
"""

import argparse
import asyncio
import os
import sys
import threading
from typing import Dict, List

from .. import definitions
from ..loading import LoadError, load
from ..streams import take_stdio
from ..values import HintError, Signature
from .service import Service, Served
from .wire import Wire

#: How long the process may take to end, in seconds, once its work is done.
END_MOST = 5.0


def main(arguments: List[str]) -> int:
    """Serves until there is no more work, and gives the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m pulley worker", description="Run the actions of files for an engine.")
    parser.add_argument("files", nargs="+", metavar="FILE.py")
    parser.add_argument("--slots", type=_count, default=16, metavar="N", help="attempts at once (default 16)")
    parser.add_argument("--name", default="", help="what the engine calls this worker")
    options = parser.parse_args(arguments)
    source, sink = take_stdio()
    try:
        served = actions_of(options.files)
    except (LoadError, HintError) as e:
        sys.stderr.write(f"pulley: {e}\n")
        return 2
    service = Service(Wire(source, sink), served, options.slots, options.name or os.path.basename(options.files[0]))
    try:
        return asyncio.run(_serve(service))
    except KeyboardInterrupt:
        return 130


async def _serve(service: Service) -> int:
    status = await service.serve()
    _end_soon(status)
    return status


def actions_of(files: List[str]) -> Dict[str, Served]:
    """Imports files and gives the actions that they define or import."""
    for file in files:
        load(file)
    if not definitions.actions:
        raise LoadError(f"{files[0]}: there is no action; write @action above a function")
    return {name: Served(a, Signature(name, a.function)) for name, a in definitions.actions.items()}


def _count(text: str) -> int:
    n = int(text)
    if not 1 <= n <= 10_000:
        raise argparse.ArgumentTypeError("choose from 1 to 10000")
    return n


def _end_soon(status: int) -> None:
    """Ends the process even if threads of the user's do not end."""
    timer = threading.Timer(END_MOST, os._exit, [status])
    timer.daemon = True
    timer.start()

"""``python3 -m pulley COMMAND``: what the program pulley asks Python for, and a run without any engine."""

import sys
from typing import List, Optional

USAGE = """usage: python3 -m pulley COMMAND ...

  compile FILE.py[:Class]   translate a workflow into a program of pulley's language
  input FILE.py[:Class]     check the input of a workflow, read from standard input, and fill in defaults
  run FILE.py[:Class]       run a workflow in this process, without any engine
  worker FILE.py ...        run the actions of files for an engine, over standard input and output
"""


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command line and gives the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "compile":
        from .compiler import main as run
    elif command == "input":
        from .plain import input_main as run
    elif command == "run":
        from .plain import run_main as run
    elif command == "worker":
        from .worker import main as run
    elif command in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return 0
    else:
        sys.stderr.write(f"pulley: {'no command' if not command else 'there is no command ' + command}\n{USAGE}")
        return 2
    return run(rest) or 0


if __name__ == "__main__":
    sys.exit(main())

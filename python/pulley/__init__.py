"""Durable workflows in Python.

An action is a function that does work; a workflow is a class whose ``run`` says in which order.  The
decorators leave both as they are, so that a file runs without any engine:

    asyncio.run(DataPipeline().run(fan_out=8))

``pulley run FILE.py`` runs the same file durably: package ``pulley.compiler`` translates ``run`` into a program
of pulley's workflow language, and ``pulley.worker`` runs the actions in processes of their own.  Arguments
and results travel as JSON, by the type hints; package ``pulley.values`` says which types can.

Python 3.9 or later; nothing else is needed.  pydantic models work if pydantic is installed.
"""

from .attempt import Attempt, current_attempt
from .definitions import Action, DefinitionError, Workflow, action, workflow
from .signals import send_signal, wait_signal

__all__ = ["Action", "Attempt", "DefinitionError", "Workflow", "action", "current_attempt", "send_signal", "wait_signal", "workflow", "__version__"]

__version__ = "0.1.0"

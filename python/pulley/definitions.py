"""Actions and workflows: what the decorators note.

``@action`` gives back the function that it was given, with an Action in its attribute ``__pulley_action__``;
``@workflow`` gives back the class.  Both are kept by name, so that a worker and the compiler find what
a file defines and what it imports from other files.
"""

import dataclasses
import datetime
import inspect
import re
from typing import Any, Callable, ClassVar, Dict, Optional, Tuple, Type, TypeVar, Union

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

#: A time: seconds, a timedelta, or a text such as "200ms", "5s", "2m" or "1h".
Duration = Union[int, float, str, datetime.timedelta]

#: What an action's retries are limited to: exception classes, or their names.
Errors = Union[str, Type[BaseException], Tuple[Union[str, Type[BaseException]], ...]]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DURATION = re.compile(r"(\d+)\s*(ms|s|m|h)?\Z")
_UNIT_MS = {"ms": 1, "s": 1000, None: 1000, "m": 60_000, "h": 3_600_000}


class DefinitionError(TypeError):
    """An action or a workflow is defined in a way that cannot be run."""


@dataclasses.dataclass(frozen=True)
class Action:
    """What is known of an action beside its function."""

    name: str
    function: Callable[..., Any]
    retry: int = 0  # attempts after the first one
    backoff_ms: Optional[int] = None  # before the first retry; it doubles. None: the engine's default
    timeout_ms: Optional[int] = None  # of one attempt. None: there is none
    retry_on: Tuple[str, ...] = ()  # names of the errors that are tried again; empty: all are


#: All actions that have been defined in this process, by name.
actions: Dict[str, Action] = {}

#: All workflow classes that have been defined in this process, by module and qualified name.
workflows: Dict[Tuple[str, str], Type["Workflow"]] = {}


class Workflow:
    """The base of workflow classes, which ``@workflow`` decorates.

    name is what the workflow is called; the class's name if it is not set.  concurrent allows a loop whose
    iterations do not depend on each other to run them at the same time.
    """

    name: ClassVar[str] = ""
    concurrent: ClassVar[bool] = False

    async def run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no method run; write async def run(self, ...)")


def action(
    function: Optional[Function] = None,
    *,
    name: Optional[str] = None,
    retry: int = 0,
    backoff: Optional[Duration] = None,
    timeout: Optional[Duration] = None,
    retry_on: Errors = (),
) -> Any:
    """Makes a function an action, and gives it back unchanged.

    name is what the engine calls it; the function's name if it is not given.  An attempt that fails, or takes
    longer than timeout, is tried again up to retry times, after a wait of backoff that doubles each time.
    retry_on limits that to some errors: classes, or their names.  Calls from plain Python know nothing of this.
    """
    if function is None:
        return lambda f: action(f, name=name, retry=retry, backoff=backoff, timeout=timeout, retry_on=retry_on)
    what = f"@action {getattr(function, '__qualname__', function)!s}"
    if not inspect.isfunction(function):
        raise DefinitionError(f"{what}: only a function can be an action; write @action above def or async def")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise DefinitionError(f"{what}: a generator cannot be an action; return a list")
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            raise DefinitionError(f"{what}: arguments travel by name; give *{p.name} a name and a list as its type")
    called = function.__name__ if name is None else name
    if not isinstance(called, str) or not _NAME.match(called):
        raise DefinitionError(f"{what}: {called!r} cannot be an action's name; write letters, digits, _ and single dots")
    if isinstance(retry, bool) or not isinstance(retry, int) or retry < 0:
        raise DefinitionError(f"{what}: retry={retry!r}; write the number of attempts after the first one, 0 or more")
    made = Action(
        name=called,
        function=function,
        retry=retry,
        backoff_ms=milliseconds(what, "backoff", backoff),
        timeout_ms=milliseconds(what, "timeout", timeout),
        retry_on=_type_names(what, retry_on),
    )
    if made.timeout_ms == 0:
        raise DefinitionError(f"{what}: timeout={timeout!r}; write a time above 0, or leave it out")
    other = actions.get(called)
    if other is not None and _place(other.function) != _place(function):
        raise DefinitionError(f"{what}: an action is called {called} already, in {_file_line(other.function)}; give one of them another name=")
    actions[called] = made
    function.__pulley_action__ = made  # type: ignore[attr-defined]
    return function


def workflow(cls: Class) -> Class:
    """Makes a class that derives from Workflow a workflow, and gives it back."""
    if not isinstance(cls, type) or not issubclass(cls, Workflow):
        raise DefinitionError(f"@workflow {getattr(cls, '__qualname__', cls)!s}: write class {getattr(cls, '__name__', 'NAME')}(Workflow)")
    what = f"@workflow {cls.__qualname__}"
    run = inspect.getattr_static(cls, "run")
    if run is Workflow.run or not inspect.iscoroutinefunction(run):
        raise DefinitionError(f"{what}: it has no async def run(self, ...), which says what it does")
    if not isinstance(cls.name, str):
        raise DefinitionError(f"{what}: name is {cls.name!r}; write a text")
    if not isinstance(cls.concurrent, bool):
        raise DefinitionError(f"{what}: concurrent is {cls.concurrent!r}; write True or False")
    if not cls.__dict__.get("name"):
        cls.name = cls.__name__
    workflows[cls.__module__, cls.__qualname__] = cls
    return cls


def milliseconds(what: str, option: str, value: Optional[Duration]) -> Optional[int]:
    """Reads a duration, in whole milliseconds; what and option name it in errors."""
    if value is None:
        return None
    wrong = DefinitionError(f'{what}: {option}={value!r}; write seconds, a timedelta, or a text such as "200ms", "5s", "2m"')
    if isinstance(value, str):
        m = _DURATION.match(value)
        if m is None:
            raise wrong
        return int(m.group(1)) * _UNIT_MS[m.group(2)]
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        raise wrong
    ms = round(value * 1000)
    if abs(ms - value * 1000) > 1e-6:
        raise DefinitionError(f"{what}: {option}={value!r}; the engine counts in whole milliseconds")
    return ms


def _type_names(what: str, errors: Errors) -> Tuple[str, ...]:
    """Reads retry_on."""
    names = []
    for e in errors if isinstance(errors, (tuple, list, set, frozenset)) else (errors,):
        if isinstance(e, type) and issubclass(e, BaseException):
            e = e.__name__
        if not isinstance(e, str) or not _TYPE.match(e):
            raise DefinitionError(f"{what}: retry_on has {e!r}; write exception classes, or their names")
        names.append(e)
    return tuple(names)


def _place(function: Callable[..., Any]) -> Tuple[str, str]:
    """Says which function this is, also where its file was read twice."""
    return function.__code__.co_filename, function.__qualname__


def _file_line(function: Callable[..., Any]) -> str:
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"

"""Options of commands, made of the descriptions that Python, page and reference read too."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import typer

from unskew.campaigns.ledger.arrangement import ARRANGED
from unskew.campaigns.options import Option
from unskew.campaigns.start_options import START

Function = TypeVar("Function", bound=Callable[..., None])

OF_GUIDE = [option for option in ARRANGED.values() if option.commands]
"""What `guide` changes: a value that is left out stays as it is."""

AT_START = [replace(option, help=option.at_start) for option in OF_GUIDE if option.at_start]
"""What may change later, and is asked at the start too."""

PLACE = list(START).index("budget")

OF_START = [*list(START.values())[:PLACE], *AT_START, *list(START.values())[PLACE:]]
"""All options of `start`: the tables, what people read, and how much is labelled by which means."""


def declared(option: Option) -> Any:
    """The option as Typer knows it."""
    return typer.Option(option.flag, metavar=option.metavar, help=option.help)


def taking(options: Iterable[Option], *, optional: bool = False) -> Callable[[Function], Function]:
    """A decorator for a command that takes these options as `**chosen`.

    They follow the command's arguments and come before its own options. With `optional`, none has a
    default.
    """
    parameters = [_parameter(part, optional=optional) for option in options for part in option.typed]

    def taking_them(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        first = [each for each in own if each.default is each.empty]
        last = [each.replace(kind=each.KEYWORD_ONLY) for each in own if each not in first]
        together = signature.replace(parameters=[*first, *parameters, *last])
        function.__dict__["__signature__"] = together
        return function

    return taking_them


def _parameter(option: Option, *, optional: bool) -> inspect.Parameter:
    kind, default = option.type, option.default
    if option.required:
        default = inspect.Parameter.empty
    elif kind is not bool and (optional or default == ""):
        kind, default = kind | None, None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, declared(option)],
    )

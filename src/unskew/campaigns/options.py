"""What an option is: described once, and read by commands, page, Python, ledger and reference.

An option is a field of a class whose type is annotated with an `Option`. `campaigns.start_options`
describes what `start` takes, `ledger.arrangement` what may change later, and `ledger.remarks` what
is recorded with an answer.

>>> from typing import TypedDict
>>> class Coffee(TypedDict, total=False):
...     sugar: Annotated[int, Option("Lumps of sugar.", default=1, least=0, example=2)]
>>> sugar = described(Coffee)["sugar"]
>>> sugar.flag, sugar.type, check(sugar, 3, "sugar")
('--sugar', <class 'int'>, 3)
>>> check(sugar, -1, sugar.flag)
Traceback (most recent call last):
...
unskew.errors.InputError: --sugar must be at least 0; got -1. Pass one, such as 2.
"""

import dataclasses
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from unskew.errors import InputError, unknown

Step = Literal["columns", "begin", "campaign"]
"""A form of the page: the columns of a new campaign, its beginning, and what may change later."""

Kind = Literal["number", "percent", "line", "text", "choice", "column", "names", "own"]
"""A field of a form. `own` has markup of its own, and only its value goes the usual way."""

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """How a form of the page asks for an option."""

    step: Step
    kind: Kind
    label: str = ""
    hint: str = ""
    part: str = ""
    """The part of the form in which it stands: "more" is folded at first."""
    example: str = ""
    """What an empty field shows."""
    of: Literal["", "log", "pool"] = ""
    """The table whose columns are offered."""
    none: str = ""
    """What stands for no column."""
    says: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Each choice in words."""
    rows: int = 6
    """The height of a text, in lines."""


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that a person may choose."""

    help: str
    """What it is, for the command line."""
    _: dataclasses.KW_ONLY
    name: str = ""
    type: Any = Any
    default: Any = None
    """The annotated field gives the name and the type, and in a dataclass the default."""
    required: bool = False
    about: str = ""
    """What it is, for programs in Python and JSON, if that is to be said otherwise."""
    reference: str = ""
    """What it is, for the reference of commands, in Markdown, if that is to be said otherwise."""
    usual: str = ""
    """The default in words."""
    least: Any = None
    most: Any = None
    within: bool = False
    """Whether the value must lie between the bounds, which themselves are refused."""
    longest: int = 0
    """The most characters of a text."""
    choices: tuple[str, ...] = ()
    rule: str = ""
    """What it must be, as messages say it, if type and bounds do not say it well."""
    remedy: str = ""
    """What to do about a value that is refused."""
    example: Any = None
    flag: str = ""
    """How it is called on the command line."""
    metavar: str | None = None
    at_start: str = ""
    """Of what may change later: what it is, for `unskew start`, which then takes it as well."""
    commands: bool = True
    """Whether the command line takes it."""
    recorded: str = ""
    """Its name in the ledger's settings. What has none is not kept there."""
    pages: tuple[Page, ...] = ()
    typed_as: Any = None
    """Its type on the command line, if it is another; `join` then makes the value."""
    typed_default: Any = None
    parts: "tuple[Option, ...]" = ()
    """What the command line asks for instead, and the page too, unless it asks for the whole."""
    join: Callable[..., Any] | None = None
    """Makes the value of what was typed, or of its parts, which are passed by name."""

    @property
    def typed(self) -> "tuple[Option, ...]":
        """What the command line asks for."""
        if self.typed_as is None:
            return self.parts or (self,)
        return (replace(self, type=self.typed_as, default=self.typed_default),)

    @property
    def words(self) -> str:
        """Its name in messages.

        >>> Option("", name="pool_labels").words
        'pool labels'
        """
        return self.name.replace("_", " ")


def described(cls: Any) -> dict[str, Option]:
    """The options of a `TypedDict` or a dataclass, by name, in their order."""
    defaults = {}
    if dataclasses.is_dataclass(cls):
        for field in dataclasses.fields(cls):
            made = field.default_factory
            defaults[field.name] = field.default if made is dataclasses.MISSING else made()
    options = {}
    for name, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is not Annotated:
            continue
        kind, *more = get_args(hint)
        for option in more:
            if isinstance(option, Option):
                own = replace(
                    option,
                    name=name,
                    type=kind,
                    default=defaults.get(name, option.default),
                    required=name in getattr(cls, "__required_keys__", ()),
                    parts=tuple(_flagged(part) for part in option.parts),
                )
                options[name] = _flagged(own)
    return options


def _flagged(option: Option) -> Option:
    return option if option.flag else replace(option, flag="--" + option.name.replace("_", "-"))


def check(option: Option, value: Any, name: str) -> Any:
    """The value, or one line that says what is wrong with it: name, rule, value and remedy.

    `name` is how whoever reads that line calls the option. Whole numbers of NumPy become Python's.
    """
    if value is None and option.default is None:
        return value
    if option.choices:
        if value not in option.choices:
            rule = f"{', '.join(option.choices[:-1])} or {option.choices[-1]}"
            raise _refused(option, value, name, rule, "Name one of them.")
        return value
    kind, example = plain(option.type), f"Pass one, such as {option.example}."
    if kind is int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise _refused(replace(option, remedy=""), value, name, "a whole number", example)
        value = int(value)
    elif kind is float and (isinstance(value, bool) or not isinstance(value, Real)):
        raise _refused(option, value, name, option.rule or "a number", example)
    elif kind is timedelta and not isinstance(value, timedelta):
        raise _refused(option, value, name, option.rule, example)
    if kind in (int, float, timedelta) and not _in_range(option, value):
        raise _refused(option, value, name, option.rule or _range(option, value), example)
    return value


def _refused(option: Option, value: Any, name: str, rule: str, remedy: str) -> InputError:
    shown = str(value) if isinstance(value, timedelta) else repr(value)
    return InputError(f"{name} must be {rule}; got {shown}. {option.remedy or remedy}")


def _in_range(option: Option, value: Any) -> bool:
    least, most = option.least, option.most
    if option.within:
        return bool((least is None or least < value) and (most is None or value < most))
    return bool((least is None or least <= value) and (most is None or value <= most))


def _range(option: Option, value: Any) -> str:
    """The bounds in words; of a whole number, the one that it breaks.

    >>> _range(Option("", least=0), -1), _range(Option("", least=0, most=1, within=True), 1.0)
    ('at least 0', 'in (0, 1)')
    """
    least, most = option.least, option.most
    if least is not None and most is not None and plain(option.type) is not int:
        return f"in ({least}, {most})" if option.within else f"in [{least}, {most}]"
    above, below = ("above", "below") if option.within else ("at least", "at most")
    return f"{above} {least:,}" if least is not None and not value > least else f"{below} {most:,}"


def plain(kind: Any) -> Any:
    """The type without None.

    >>> plain(int | None), plain(str)
    (<class 'int'>, <class 'str'>)
    """
    if get_origin(kind) in (Union, types.UnionType):
        some = [each for each in get_args(kind) if each is not type(None)]
        return some[0] if len(some) == 1 else kind
    return kind


def complete(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option with the value given, checked, or its default."""
    for name in given:
        if name not in options:
            raise TypeError(str(unknown("option", name, options)))
    for name, option in options.items():
        if option.required and name not in given:
            raise TypeError(f"missing a required argument: {name!r}")
    checked = {name: check(options[name], value, name) for name, value in given.items()}
    return {name: checked.get(name, option.default) for name, option in options.items()}


def typed(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed on the command line, by the names of Python, without what was left out."""
    values = {}
    for name, option in options.items():
        own = {part.name: given[part.name] for part in option.typed if part.name in given}
        if all(value is None or value is False for value in own.values()):
            continue
        for part in option.parts:
            check(part, own[part.name], part.flag)
        if option.parts:
            values[name] = option.join(**own) if option.join is not None else own[name]
        else:
            value = own[name] if option.join is None else option.join(own[name])
            values[name] = check(option, value, option.flag)
    return values


def filled_in(options: Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was filled in on the page, by the names of Python: parts are joined."""
    values = dict(given)
    for name, option in options.items():
        parts = () if option.pages else option.parts
        own = {part.name: values.pop(part.name) for part in parts if part.name in given}
        if own and option.join is not None:
            values[name] = option.join(**own)
    return values


def on_page(options: Mapping[str, Option], step: Step) -> "dict[str, tuple[Option, Page]]":
    """The options for which that form asks, by name, and how it does."""
    asked: dict[str, tuple[Option, Page]] = {}
    for option in options.values():
        for each in (option,) if option.pages else option.parts:
            pages = [page for page in each.pages if page.step == step]
            asked.update((each.name, (each, page)) for page in pages)
    return asked


def taking(options: Mapping[str, Option]) -> Callable[[Function], Function]:
    """A decorator for a function that takes these options as `**options`.

    Its signature then names each. In its docstring, they take the place of a line ``**options``.
    """

    def described_by(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        places = (k for k, each in enumerate(own) if each.kind is each.KEYWORD_ONLY)
        place = next(places, len(own))
        together = [*own[:place], *map(_parameter, options.values()), *own[place:]]
        lines = (function.__doc__ or "").split("\n")
        at = next(k for k, line in enumerate(lines) if line.strip() == "**options")
        margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        texts = [margin + line for option in options.values() for line in _documented(option)]
        function.__doc__ = "\n".join([*lines[:at], *texts, *lines[at + 1 :]])
        function.__dict__["__signature__"] = signature.replace(parameters=together)
        return function

    return described_by


def _parameter(option: Option) -> inspect.Parameter:
    default = inspect.Parameter.empty if option.required else option.default
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option.name, kind, default=default, annotation=option.type)


def _documented(option: Option) -> list[str]:
    """The option as a parameter in a docstring."""
    kind = re.sub(r"\b[a-z_]+\.", "", inspect.formatannotation(option.type))  # without modules
    words = textwrap.TextWrapper(80, break_long_words=False, break_on_hyphens=False)
    lines = words.wrap(option.about or option.help)
    heading = f"{option.name} : {kind.replace(' | None', ', optional')}"
    return [heading, *(f"    {line}" for line in lines)]

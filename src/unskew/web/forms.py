"""The page's forms and what they send, made of the descriptions of options.

A form is a list of fields, which `templates/fields.html` draws and `static/fields.js` reads by
their names. The model of what it sends has the same names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, create_model

from unskew.campaigns.ledger.arrangement import ARRANGED, CHANGES
from unskew.campaigns.ledger.remarks import REMARKS
from unskew.campaigns.options import Option, Page, Step, check, on_page, plain
from unskew.campaigns.start_options import START

Model = TypeVar("Model", bound=BaseModel)

OPTIONS = {**START, **ARRANGED}

PERCENT = 100
"""The page shows shares in percent."""
INSIDE = 0.1
"""How far from a bound that is itself refused a percentage must stay."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A field as a template draws it."""

    name: str
    page: Page
    attributes: dict[str, str] = field(default_factory=dict)
    """Those of its input."""
    value: str = ""
    choices: Sequence[tuple[str, str]] = ()
    """Each value and what it is called."""


def form(step: Step) -> list[FormField]:
    """The fields of a form that have no markup of their own."""
    asked = on_page(OPTIONS, step).values()
    return [_field(option, page) for option, page in asked if page.kind != "own"]


def _field(option: Option, page: Page) -> FormField:
    attributes = {"placeholder": page.example} if page.example else {}
    if option.longest:
        attributes["maxlength"] = str(option.longest)
    if page.kind in ("number", "percent"):
        attributes |= _range(option, page)
        if option.default is not None and page.part != "more":  # what is folded cannot be pointed at
            attributes["required"] = ""
    if page.kind == "column":
        attributes |= {"data-of": page.of, "data-none": page.none}
    scale = PERCENT if page.kind == "percent" else 1
    value = option.default or ""
    if isinstance(option.default, int | float):
        value = f"{scale * option.default:g}"
    return FormField(option.name, page, attributes, value, list(page.says.items()))


def _range(option: Option, page: Page) -> dict[str, str]:
    """The bounds and steps of a number."""
    whole = plain(option.type) is int and page.kind == "number"
    scale, inside = (PERCENT, INSIDE) if page.kind == "percent" else (1, 0.0)
    attributes = {"type": "number", "step": "1" if whole else "any"}
    if page.kind == "percent":
        attributes["data-scale"] = str(PERCENT)
    for name, bound, sign in (("min", option.least, 1), ("max", option.most, -1)):
        if bound is not None:
            reached = scale * bound + sign * inside * option.within
            attributes[name] = f"{reached:.6f}".rstrip("0").rstrip(".")
    return attributes


def asking(step: Step) -> Callable[[type[Model]], type[Model]]:
    """A decorator for a model of what a form sends: a field for each option the form asks for."""
    asked = on_page(OPTIONS, step).items()
    return _with_fields(
        {name: (_checked(option, page), _described(option, _usual(option))) for name, (option, page) in asked}
    )


def changing() -> Callable[[type[Model]], type[Model]]:
    """A decorator for a model of changes: a field for each, None where it stays as it is."""
    return _left_open(CHANGES)


def showing() -> Callable[[type[Model]], type[Model]]:
    """A decorator for a model of how a campaign is: a field for each thing that may change."""
    kinds = {name: (_json(option), _described(option, ...)) for name, option in ARRANGED.items()}
    return _with_fields(kinds)


def remarking() -> Callable[[type[Model]], type[Model]]:
    """A decorator for a model of an answer: a field for each thing that may be recorded with it."""
    return _left_open(REMARKS)


def _left_open(options: Mapping[str, Option]) -> Callable[[type[Model]], type[Model]]:
    return _with_fields({name: (_checked(each, None) | None, _described(each, None)) for name, each in options.items()})


def _with_fields(fields: Mapping[str, tuple[Any, Any]]) -> Callable[[type[Model]], type[Model]]:
    def made(model: type[Model]) -> type[Model]:
        more: dict[str, Any] = dict(fields)
        about: dict[str, Any] = {"__module__": model.__module__, "__doc__": model.__doc__}
        return create_model(model.__name__, __base__=model, **about, **more)

    return made


def _described(option: Option, default: Any) -> Any:
    return Field(default, description=option.about or option.help)


def _checked(option: Option, page: Page | None) -> Any:
    """The type of an option in JSON, with its bounds, and our own words for what is wrong."""
    bounds: dict[str, Any] = {}
    if plain(option.type) in (int, float):
        least, most = ("gt", "lt") if option.within else ("ge", "le")
        both = {least: option.least, most: option.most}
        bounds = {name: bound for name, bound in both.items() if bound is not None}
    if option.longest:
        bounds["max_length"] = option.longest
    if option.type is bool:
        bounds["strict"] = True
    name = page.label if page is not None and page.kind in ("number", "choice") else option.name

    def check_it(value: Any) -> Any:
        whole = isinstance(value, float) and value.is_integer()  # 12.0 is an integer of JSON
        return check(option, int(value) if whole else value, name)

    kind: Any = Annotated[_json(option), Field(**bounds), BeforeValidator(check_it)]
    return kind | None if _usual(option) is None else kind


def _json(option: Option) -> Any:
    """The type of a value in JSON."""
    return Literal[option.choices] if option.choices else _plain_json(plain(option.type))


def _plain_json(kind: Any) -> Any:
    """The type of JSON that stands for one of Python: a list for every kind of sequence."""
    made, within = get_origin(kind), get_args(kind)
    if made is Mapping:
        return GenericAlias(dict, within)
    if made is Sequence or (made is tuple and within[-1] is ...):
        return GenericAlias(list, (_plain_json(within[0]),))
    if made is tuple:
        some: Any = GenericAlias(list, within[:1])
        return Annotated[some, Field(min_length=len(within), max_length=len(within))]
    return kind


def _usual(option: Option) -> Any:
    """The default of a form: of a list or table, an empty one."""
    made = get_origin(_json(option))
    return made() if made in (dict, list) else option.default

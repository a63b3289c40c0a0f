"""What may change while a campaign runs: whether it goes on, who sees rows twice, what people read.

Each is described once, like an option of `start`: a new one is a field of `Arrangement`, and its
use. Settings, on which models and estimates depend, never change. The budget may, and the ledger
keeps it in the same events.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from unskew.campaigns.ledger.texts import checked_text
from unskew.campaigns.options import Option, Page, check, described, plain
from unskew.campaigns.start_options import START
from unskew.errors import InputError, unknown

if TYPE_CHECKING:  # settings import NumPy, and the help of commands reads this module
    from unskew.campaigns.ledger.settings import Settings

QUESTION, GUIDELINES, EXPLANATION, WORD = 500, 50_000, 1000, 100
"""The most characters of the question, of the guidelines, of a word on a class, and of a name or a highlighted word."""
WORDS = 200
"""The most words that are highlighted."""


def guidelines_in(guidelines: Path) -> str:
    """The text of a file of guidelines."""
    try:
        return guidelines.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        remedy = "Name a text file in Markdown."
        raise InputError(f"{guidelines} cannot be read: {why}. {remedy}") from None


def _explanations(explain: Sequence[str]) -> dict[str, str]:
    """Words on classes, as they are typed: CLASS=WORDS."""
    for each in explain:
        if "=" not in each:
            remedy = 'Try --explain yes="all was paid".'
            raise InputError(f"--explain must be CLASS=WORDS; got {each!r}. {remedy}")
    pairs = (each.partition("=") for each in explain)
    return {name.strip(): words for name, _, words in pairs}


def _columns_to_show(show: Sequence[str] | None, show_all: bool) -> list[tuple[str, str]]:
    """Columns as they are typed: COLUMN or COLUMN=NAME."""
    if show is not None and show_all:
        raise InputError("--show and --show-all contradict each other. Leave one of them out.")
    pairs = (each.partition("=") for each in show or ())
    return [(column, name) for column, _, name in pairs]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What people see, and how the campaign is conducted.

    >>> Arrangement().changed({"overlap": 0.1, "columns": [["income", "Income a year"]], "colour": "red"}).columns
    (('income', 'Income a year'),)
    """

    ended: Annotated[bool, Option("Whether no more rows are handed out.", commands=False)] = False
    question: Annotated[
        str,
        Option(
            "What is asked of each row.",
            at_start="What people are asked of each row, on the page.",
            about="What is asked of each row; empty for the name of the label's column.",
            reference="What is asked of each row, [on the page](../howto/label-on-a-page.md#question-and-guidelines).",
            usual="the label's name",
            longest=QUESTION,
            pages=(
                Page(
                    step="begin",
                    kind="line",
                    label="Question",
                    example="Did the applicant repay within a year?",
                ),
                Page(step="campaign", kind="line", part="read", label="Question"),
            ),
        ),
    ] = ""
    guidelines: Annotated[
        str,
        Option(
            "How to decide, as a Markdown file. An empty one removes them.",
            at_start="How to decide, as a Markdown file, for the page.",
            metavar="FILE",
            typed_as=Path | None,
            join=guidelines_in,
            about="How to decide, as Markdown.",
            reference="How to decide: a Markdown file, which is shown beside each row. HTML in it "
            "is shown as text. An empty file removes them.",
            usual="none",
            longest=GUIDELINES,
            pages=(
                Page(
                    step="begin",
                    kind="text",
                    label="Guidelines",
                    hint="How to decide, for the people who label. Markdown: # heading, **bold**, - list.",
                ),
                Page(
                    step="campaign",
                    kind="text",
                    part="read",
                    label="Guidelines",
                    hint="How to decide, as Markdown: **bold**, lists, links. Shown beside every row.",
                    rows=8,
                ),
            ),
        ),
    ] = ""
    explained: Annotated[
        dict[str, str],
        Option(
            "A word of explanation for a class. Repeatable.",
            flag="--explain",
            metavar="CLASS=WORDS",
            typed_as=list[str] | None,
            join=_explanations,
            about="A word of explanation for classes.",
            reference="`CLASS=WORDS`: a word of explanation for a class. Repeatable.",
            usual="none",
            pages=(Page(step="campaign", kind="own"),),
        ),
    ] = field(default_factory=dict)
    columns: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "The columns that are shown.",
            about="The columns that are shown, in this order, each with the name it is shown "
            'under; "" for its own. Empty: all.',
            parts=(
                Option(
                    "A column that people see, under this name. In order; repeatable.",
                    name="show",
                    type=list[str] | None,
                    metavar="COLUMN[=NAME]",
                    reference="`COLUMN` or `COLUMN=NAME`: the columns that people see, in this "
                    "order, under these names. Others do not leave the server. Repeatable.",
                    usual="all columns",
                ),
                Option(
                    "Show all columns again, under their own names.",
                    name="show_all",
                    type=bool,
                    default=False,
                ),
            ),
            join=_columns_to_show,
            pages=(Page(step="campaign", kind="own"),),
        ),
    ] = ()
    highlighted: Annotated[
        tuple[str, ...],
        Option(
            "A word to highlight in texts. Repeatable; '' for none.",
            flag="--highlight",
            metavar="WORD",
            typed_as=list[str] | None,
            about="Words that are highlighted in texts.",
            reference="A word that is highlighted in texts. Repeatable. `--highlight ''` removes all.",
            usual="none",
            pages=(Page(step="campaign", kind="own"),),
        ),
    ] = ()
    overlap: Annotated[
        float,
        Option(
            "Share of the rows planned from now on that a second person sees too.",
            at_start="Share of the rows that a second person sees too.",
            least=0,
            most=1,
            rule="the share of rows that two people see, from 0 to 1",
            remedy="Try 0.1. What becomes of ids in both log and pool is --same-ids (same_ids=).",
            about="The share of the rows planned from now on that a second person sees too.",
            reference="The share of the rows chosen from now on that [a second person sees too]"
            "(../howto/label-on-a-page.md#two-people-on-one-row), from 0 to 1.",
            usual="0",
            pages=(
                Page(
                    step="begin",
                    kind="percent",
                    label="Shown to a second person, %",
                    hint="To see how far people agree. 10 is a good first value.",
                ),
                Page(
                    step="campaign",
                    kind="percent",
                    part="two",
                    label="Share of the rows that a second person sees, in percent",
                    hint="It applies to rows that are chosen from now on. Such a row counts once in the budget.",
                ),
            ),
        ),
    ] = 0.0

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """With changes as the ledger keeps them. What this version does not know is left out."""
        known = {each.name: changes[each.name] for each in fields(self) if each.name in changes}
        if "columns" in known:
            known["columns"] = tuple((column, name) for column, name in known["columns"])
        if "highlighted" in known:
            known["highlighted"] = tuple(known["highlighted"])
        return replace(self, **known)

    def as_record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            **plain,
            "explained": dict(self.explained),
            "columns": [list(one) for one in self.columns],
            "highlighted": list(self.highlighted),
        }


ARRANGED = described(Arrangement)
"""What may change later, by name."""

CHANGES = {"budget": START["budget"], **ARRANGED}
"""The same with the budget, which the ledger keeps with them."""


def checked_changes(changes: Mapping[str, Any], settings: "Settings") -> dict[str, Any]:
    """The changes as the ledger keeps them; or a refusal of the first that is wrong."""
    for name in changes:
        if name not in CHANGES:
            raise unknown("what to change", name, CHANGES)
    return {name: _checked(CHANGES[name], value, settings) for name, value in changes.items()}


def _checked(option: Option, value: Any, settings: "Settings") -> Any:
    if option.name in _CHECKS:
        return _CHECKS[option.name](value, settings)
    if option.longest:
        return checked_text(option.name, value, option.longest)
    checked = check(option, value, option.name)
    return float(checked) if plain(option.type) is float else checked


def _ended(value: Any, _: "Settings") -> bool:
    if not isinstance(value, bool):
        raise InputError(f"ended must be True or False; got {value!r}. Pass one of them.")
    return value


def _explained(value: Any, settings: "Settings") -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InputError(f"explained must be words for each class; got {type(value).__name__}. Pass {{class: words}}.")
    for name in value:
        if name not in settings.classes:
            raise unknown("class", str(name), settings.classes)
    found = {name: checked_text(f"the explanation of {name}", words, EXPLANATION) for name, words in value.items()}
    return {name: words for name, words in found.items() if words}


def _columns(value: Any, settings: "Settings") -> list[list[str]]:
    pairs = value.items() if isinstance(value, Mapping) else value
    try:
        found = [(column, name) for column, name in pairs]
    except (TypeError, ValueError):
        raise InputError(f"columns must be pairs of column and name; got {value!r:.60}. Pass them.") from None
    shown = [column for column, _ in found]
    for column in shown:
        if column not in settings.types:
            raise unknown("column", str(column), list(settings.types))
    if len(set(shown)) < len(shown):
        raise InputError(f"columns must differ; got {next(c for c in shown if shown.count(c) > 1)!r} twice. Drop one.")
    return [[column, checked_text(f"the name for column {column!r}", name, WORD)] for column, name in found]


def _highlighted(value: Any, _: "Settings") -> list[str]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InputError(f"highlighted must be a list of words; got {value!r:.60}. Pass a list.")
    found = list(dict.fromkeys(word for one in value if (word := checked_text("a word to highlight", one, WORD))))
    if len(found) > WORDS:
        raise InputError(f"at most {WORDS} words can be highlighted; got {len(found)}. Leave some out.")
    return found


_CHECKS = {
    "ended": _ended,
    "explained": _explained,
    "columns": _columns,
    "highlighted": _highlighted,
}
"""Those that depend on the campaign's classes and columns, or are lists."""

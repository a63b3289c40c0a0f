"""What may change while a campaign runs: whether it goes on, who sees rows twice, and what people read beside a row.

Settings, on which models and estimates rest, never change. The budget may, and the ledger keeps it in the same events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, Self

from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.texts import checked_text
from unskew.errors import InputError, unknown

QUESTION, GUIDELINES, EXPLANATION, WORD = 500, 50_000, 1000, 100
"""The most characters of the question, of the guidelines, of a word on a class, and of a name or a highlighted word."""
WORDS = 200
"""The most words that are highlighted."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What people see, and how the campaign is conducted.

    >>> Arrangement().changed({"overlap": 0.1, "columns": [["income", "Income a year"]], "colour": "red"}).columns
    (('income', 'Income a year'),)
    """

    ended: bool = False
    """Whether no more rows are handed out."""
    overlap: float = 0.0
    """The share of the rows planned from now on that a second person sees too."""
    question: str = ""
    """What is asked of each row; empty for the name of the label's column."""
    guidelines: str = ""
    """How to decide, as Markdown."""
    explained: dict[str, str] = field(default_factory=dict)
    """A word of explanation for classes."""
    columns: tuple[tuple[str, str], ...] = ()
    """The columns that are shown, in this order, each with the name it is shown under; "" for its own. Empty: all."""
    highlighted: tuple[str, ...] = ()
    """Words that are highlighted in texts."""

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


def checked_changes(changes: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The changes as the ledger keeps them; or a refusal of the first that is wrong."""
    names = ["budget", *(each.name for each in fields(Arrangement))]
    for name in changes:
        if name not in names:
            raise unknown("what to change", name, names)
    return {name: _CHECKS[name](value, settings) for name, value in changes.items()}


def _budget(value: Any, _: Settings) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"budget must be a whole number of labels; got {value!r}. Pass one, such as 500.")
    return int(value)


def _ended(value: Any, _: Settings) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"ended must be True or False; got {value!r}. Pass one of them.")
    return value


def checked_overlap(value: Any) -> float:
    """A share of rows that two people see."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise InputError(
            f"overlap must be the share of rows that two people see, from 0 to 1; got {value!r}. Try 0.1. What becomes "
            "of ids in both log and pool is --same-ids (same_ids=)."
        )
    return float(value)


def _explained(value: Any, settings: Settings) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InputError(f"explained must be words for each class; got {type(value).__name__}. Pass {{class: words}}.")
    for name in value:
        if name not in settings.classes:
            raise unknown("class", str(name), settings.classes)
    found = {name: checked_text(f"the explanation of {name}", words, EXPLANATION) for name, words in value.items()}
    return {name: words for name, words in found.items() if words}


def _columns(value: Any, settings: Settings) -> list[list[str]]:
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


def _highlighted(value: Any, _: Settings) -> list[str]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise InputError(f"highlighted must be a list of words; got {value!r:.60}. Pass a list.")
    found = list(dict.fromkeys(word for one in value if (word := checked_text("a word to highlight", one, WORD))))
    if len(found) > WORDS:
        raise InputError(f"at most {WORDS} words can be highlighted; got {len(found)}. Leave some out.")
    return found


_CHECKS = {
    "budget": _budget,
    "ended": _ended,
    "overlap": lambda value, _: checked_overlap(value),
    "question": lambda value, _: checked_text("question", value, QUESTION),
    "guidelines": lambda value, _: checked_text("guidelines", value, GUIDELINES),
    "explained": _explained,
    "columns": _columns,
    "highlighted": _highlighted,
}

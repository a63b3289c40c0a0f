"""Answers as they come in: which are new, which say the same again, and what is wrong with the others."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from unskew.campaigns.ledger.state import Row, State
from unskew.campaigns.tables.labels import canonical
from unskew.errors import UnskewError

Record = tuple[int, str, str | None]
"""(line, id, label); the label None is a skip."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A line of a file that is no answer, and why not."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class Told:
    """How many answers were new, skips, corrections, or known already."""

    answered: int = 0
    skipped: int = 0
    corrected: int = 0
    repeated: int = 0


class Rejected(UnskewError):  # noqa: N818  # a file was rejected: said as a person says it
    """Answers that cannot all be taken, so none was. `problems` are (line, what is wrong), in order.

    >>> print(Rejected([(2, "unknown id '17'. Check it."), (5, "label 'x' is no class. Correct it.")]))
    2 problems, nothing was changed. Line 2: unknown id '17'. Check it. Line 5: label 'x' is no class. Correct it.
    """

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = list(problems)
        told = " ".join(f"Line {line}: {what}" for line, what in self.problems)
        many = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(f"{many}, nothing was changed. {told}")


Draft = tuple[str, dict[str, Any]]


def judge(
    state: State,
    records: Sequence[Record | Unread],
    classes: Sequence[str],
    *,
    actor: str,
    now: datetime,
    in_pool: Callable[[Collection[str]], set[str]],
    force_correct: bool = False,
) -> tuple[list[Draft], Told]:
    """The events (kind, body) that take in what `actor` said; `Rejected` with every problem if one cannot be taken.

    `in_pool` says which of some ids rows of the pool have.
    """
    problems = [(record.line, record.problem) for record in records if isinstance(record, Unread)]
    answers = [record for record in records if not isinstance(record, Unread)]
    drafts: list[Draft] = []
    first: dict[str, tuple[int, str | None]] = {}
    counts = {"answered": 0, "skipped": 0, "corrected": 0, "repeated": 0}
    places = state.left
    strange = {id for _, id, _ in answers if id not in state.rows and id.strip() not in state.rows}
    known = in_pool(strange | {id.strip() for id in strange}) if strange else set()
    for line, written, said in answers:
        id = written if written in state.rows or written in known else written.strip()
        label = None if said is None else canonical(said, classes)
        row = state.rows.get(id)
        if row is None:
            told = f"row {id!r} was never asked for" if id in known else f"unknown id {id!r}"
            problems.append((line, f"{told}. Answer rows that `ask` gave out."))
        elif said is not None and label is None:
            problems.append(
                (line, f"label {said!r} of row {id!r} must be {classes[0]!r} or {classes[1]!r}. Correct it.")
            )
        elif id in first and first[id][1] != label:
            problems.append(
                (
                    line,
                    f"row {id!r} is {_shown(label)} here and {_shown(first[id][1])} in line {first[id][0]}. Keep one.",
                )
            )
        elif id in first or _says(row, label) or (label is None and _held_by_another(row, actor, now)):
            counts["repeated"] += 1
        elif row.status in ("answered", "skipped") and not (force_correct or _skipped_by_another(row, actor)):
            what = f"row {id!r} is {_shown(label)} here, but {row.by} said {_shown(row.label)}"
            problems.append((line, f"{what}. Drop the line, or correct it with --force-correct."))
        elif row.status == "skipped" and places < 1:
            problems.append((line, f"row {id!r} was skipped and its place in the budget is taken. Drop the line."))
        else:
            correction = row.status in ("answered", "skipped") and force_correct
            kind = "corrected" if correction else "skipped" if label is None else "answered"
            places += (label is None) - (row.status == "skipped")
            body = {"id": id} if kind == "skipped" else {"id": id, "label": label}
            drafts.append((kind, {**body, "was": row.label} if correction else body))
            counts[kind] += 1
        first.setdefault(id, (line, label))
    if problems:
        raise Rejected(sorted(problems, key=lambda problem: problem[0]))
    return drafts, Told(**counts)


def _says(row: Row, label: str | None) -> bool:
    return (row.status == "answered" and row.label == label) or (row.status == "skipped" and label is None)


def _held_by_another(row: Row, actor: str, now: datetime) -> bool:
    return row.status == "leased" and row.holder != actor and not row.expired(now)


def _skipped_by_another(row: Row, actor: str) -> bool:
    return row.status == "skipped" and row.by != actor


def _shown(label: str | None) -> str:
    return "skipped" if label is None else repr(label)

"""What people said, row by row: the history of a campaign that the page, the commands and scripts search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from unskew.campaigns.ledger.remarks import Remarks
from unskew.campaigns.ledger.state import Comment, Row, State
from unskew.campaigns.ledger.work import said_of


@dataclass(frozen=True, slots=True)
class Given:
    """What one person said of a row, and when; a label of None is a skip."""

    row: Row
    by: str
    label: str | None
    at: str
    comments: tuple[Comment, ...]
    remarks: Remarks = field(default_factory=Remarks)
    """What was recorded with it."""

    @property
    def counts(self) -> bool:
        """Whether this is what counts for the row."""
        return self.label == self.row.label

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "id": self.row.id,
            "round": self.row.round,
            "by": self.by,
            "label": self.label,
            "at": self.at,
            "counts": self.counts,
            "label_that_counts": self.row.label,
            "conflict": self.row.conflict,
            "settled": self.row.settled,
            "comments": [one.as_dict() for one in self.comments],
            **({"remarks": self.remarks} if self.remarks else {}),
        }


def answers_of(
    state: State,
    *,
    by: str | None = None,
    label: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    search: str = "",
    ids: Sequence[str] | None = None,
) -> list[Given]:
    """The answers that fit, latest first. An empty `label` finds skips."""
    rows = state.rows.values() if ids is None else [state.rows[id] for id in ids if id in state.rows]
    words = search.casefold().split()
    fitting = [
        given
        for row in rows
        if not words or _has(row, state, words)
        for given in _given(row, state)
        if (by is None or given.by == by) and _fits(given, label, since, until)
    ]
    return sorted(fitting, key=lambda given: given.at, reverse=True)


def own_answers(
    state: State, by: str, *, label: str | None = None, since: datetime | None = None, until: datetime | None = None
) -> list[Given]:
    """What one person knows of the answers: their own, latest first, with their own comments.

    What others answered, wrote or settled changes neither the answers nor their number or order.
    """
    own = [
        Given(state.rows[id], by, opinion.label, opinion.at, tuple(_comments(state, id, by)), opinion.remarks)
        for id, opinion in state.answers.get(by, {}).items()
    ]
    fitting = [given for given in own if _fits(given, label, since, until)]
    return sorted(fitting, key=lambda given: given.at, reverse=True)


def _fits(given: Given, label: str | None, since: datetime | None, until: datetime | None) -> bool:
    return (
        (label is None or given.label == (label or None))
        and (since is None or datetime.fromisoformat(given.at) >= since)
        and (until is None or datetime.fromisoformat(given.at) < until)
    )


def _comments(state: State, id: str, by: str) -> Iterator[Comment]:
    return (comment for comment in state.comments.get(id, ()) if comment.by == by)


def _given(row: Row, state: State) -> Iterator[Given]:
    for by, label, at in said_of(row):
        last = state.answers.get(by, {}).get(row.id)
        remarks = Remarks() if last is None else last.remarks
        yield Given(row, by, label, at, tuple(state.comments.get(row.id, ())), remarks)


def _has(row: Row, state: State, words: list[str]) -> bool:
    """Whether all words occur in the row's id, its values or what anybody wrote about it."""
    texts = (row.id, *map(str, row.values.values()), *(one.text for one in state.comments.get(row.id, ())))
    all_of_it = "\n".join(texts).casefold()
    return all(word in all_of_it for word in words)

"""What is done around labelling: answers looked up and corrected, conflicts settled, guidelines and people changed."""

from collections.abc import Sequence
from typing import Any

from unskew.campaigns import Row
from unskew.campaigns.ledger.answers import Given
from unskew.campaigns.ledger.remarks import REMARKS
from unskew.campaigns.ledger.state import Comment
from unskew.web import show
from unskew.web.access import SignedIn
from unskew.web.conduct_models import (
    PAGE,
    Answers,
    AnswerShown,
    Arranged,
    Changes,
    CommentShown,
    Conflict,
    Conflicts,
    Corrected,
    Correction,
    Said,
    Wanted,
    plain,
)
from unskew.web.desk import Desk, fields_of
from unskew.web.markdown import rendered
from unskew.web.planner import Runner

KEPT = 100_000
"""The most rows whose texts are kept for searches."""


class Office:
    """Works on the same campaign as the desk, in the same turns."""

    def __init__(self, desk: Desk, planner: Runner) -> None:
        self.desk, self.campaign, self.planner = desk, desk.campaign, planner
        self._columns: show.Columns | None = None
        self._texts: dict[str, str] = {}

    def answers(self, wanted: Wanted, person: SignedIn) -> Answers:
        """The answers that `person` may see and looks for."""
        admin, doubts, columns = person.role == "admin", self.planner.outlook.doubts, self.desk.columns()
        limits: dict[str, Any] = {"label": wanted.label, "since": wanted.since, "until": wanted.until}
        if admin:
            given = self.campaign.answers(by=wanted.by, **limits)
        else:
            given = self.campaign.own_answers(person.name, **limits)
        if admin and wanted.doubt is not None:
            given = [one for one in given if one.counts and doubts.get(one.row.id, -1.0) >= wanted.doubt]
        words = wanted.search.casefold().split()
        if words:  # in what is sent, and nothing else: what a search finds tells what is in it
            given = [one for one in given if self._has(one, columns, words)]
        shown = [_answer(one, person, doubts, columns) for one in given[wanted.after : wanted.after + PAGE]]
        people = sorted(self.campaign.status().annotators) if admin else []
        return Answers(found=len(given), answers=shown, people=people)

    def _has(self, given: Given, columns: show.Columns, words: Sequence[str]) -> bool:
        """Whether all words occur in the row's id, its values as they are shown, or the comments shown with it."""
        comments = (comment.text for comment in given.comments)
        whole = "\n".join((given.row.id, self._values(given.row, columns), *comments)).casefold()
        return all(word in whole for word in words)

    def _values(self, row: Row, columns: show.Columns) -> str:
        """The values as they are shown. They are kept: a row never changes, and people search while they type."""
        if columns != self._columns or len(self._texts) >= KEPT:
            self._columns, self._texts = columns, {}
        if row.id not in self._texts:
            shown = fields_of(row, columns)
            texts = (text for field in shown for text in (field.text, field.exact) if text)
            self._texts[row.id] = "\n".join(texts)
        return self._texts[row.id]

    def correct(self, wanted: Correction, person: SignedIn) -> Corrected:
        """Replace an answer: for annotators their own, for the administrator anybody's."""
        own = person.role != "admin"
        found = self.campaign.correct(wanted.id, wanted.label, by=person.name, reason=wanted.reason, own=own)
        said = found.said(person.name)
        label = found.label if not own or said is None else said.label
        return Corrected(id=found.id, label=label, conflict=not own and found.conflict)

    def comment(self, id: str, text: str, key: str, person: SignedIn) -> CommentShown:
        """Keep a comment on a row: for annotators, on one they were given."""
        own = person.role != "admin"
        return _shown(self.campaign.comment(id, text, by=person.name, own=own, key=key))

    def conflicts(self) -> Conflicts:
        """The rows on which people differ, oldest first."""
        state = self.campaign.refresh()
        rows = state.conflicts()
        columns = self.desk.columns()
        shown = [_conflict(row, state.comments, columns) for row in rows[:PAGE]]
        return Conflicts(found=len(rows), waiting=len(state.again), conflicts=shown)

    def arrange(self, changes: Changes, person: SignedIn) -> Arranged:
        """Change the campaign, and say how it is now."""
        wanted = plain(changes)
        if wanted:
            self.campaign.arrange(by=person.name, **wanted)
        return self.arranged()

    def arranged(self) -> Arranged:
        state, settings = self.campaign.refresh(), self.campaign.settings
        now: dict[str, Any] = state.arrangement.as_record()
        names = {column: show.name_of(column) for column in settings.types if column != settings.id}
        return Arranged(
            **now, budget=state.budget, spent=state.spent, rendered=rendered(now["guidelines"]), all_columns=names
        )


def _answer(given: Given, person: SignedIn, doubts: dict[str, float], columns: show.Columns) -> AnswerShown:
    row, admin = given.row, person.role == "admin"
    return AnswerShown(
        id=row.id,
        round=row.round,
        by=given.by,
        label=given.label,
        at=given.at,
        fields=fields_of(row, columns),
        counts=given.counts if admin else True,
        counted=row.label if admin else given.label,
        conflict=admin and row.conflict,  # nobody else is told what others said
        settled=admin and row.settled,
        mine=row.open_to(person.name),
        doubt=doubts.get(row.id) if admin and given.counts else None,
        remarks={REMARKS[name].words: value for name, value in given.remarks.items()},
        comments=[_shown(comment) for comment in given.comments],
    )


def _conflict(row: Row, comments: dict[str, list[Comment]], columns: show.Columns) -> Conflict:
    return Conflict(
        id=row.id,
        round=row.round,
        fields=fields_of(row, columns),
        said=[Said(by=one.by, label=one.label, at=one.at) for one in row.opinions],
        comments=[_shown(comment) for comment in comments.get(row.id, ())],
    )


def _shown(comment: Comment) -> CommentShown:
    return CommentShown(**comment.as_dict())

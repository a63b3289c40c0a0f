"""What is done around labelling: answers looked up and corrected, conflicts settled, guidelines and people changed."""

from collections.abc import Sequence
from typing import Any

from unskew.campaigns import Row
from unskew.campaigns.ledger.answers import Given
from unskew.campaigns.ledger.remarks import REMARKS
from unskew.campaigns.ledger.state import Comment
from unskew.errors import InputError
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


class Office:
    """Works on the same campaign as the desk, in the same turns."""

    def __init__(self, desk: Desk, planner: Runner) -> None:
        self.desk, self.campaign, self.planner = desk, desk.campaign, planner

    def answers(self, wanted: Wanted, person: SignedIn) -> Answers:
        """The answers that `person` may see and looks for."""
        admin, doubts = person.role == "admin", self.planner.outlook.doubts
        found = self.campaign.answers(
            by=wanted.by if admin else person.name, label=wanted.label, since=wanted.since, until=wanted.until,
            search=wanted.search,
        )  # fmt: skip
        if admin and wanted.doubt is not None:
            found = [one for one in found if one.counts and doubts.get(one.row.id, -1.0) >= wanted.doubt]
        some = found[wanted.after : wanted.after + PAGE]
        people = sorted(self.campaign.status().annotators) if admin else []
        columns = self.desk.columns()
        shown = [_answer(one, person, doubts, columns) for one in some]
        return Answers(found=len(found), answers=shown, people=people)

    def correct(self, wanted: Correction, person: SignedIn) -> Corrected:
        """Replace an answer: for annotators their own, for the administrator anybody's."""
        own = person.role != "admin"
        found = self.campaign.correct(wanted.id, wanted.label, by=person.name, reason=wanted.reason, own=own)
        said = found.said(person.name)
        label = found.label if not own or said is None else said.label
        return Corrected(id=found.id, label=label, conflict=not own and found.conflict)

    def comment(self, id: str, text: str, person: SignedIn) -> CommentShown:
        """Keep a comment on a row: for annotators, on one they were given."""
        if person.role != "admin" and id not in self.campaign.state.given.get(person.name, ()):
            raise InputError(f"row {id!r} was never given to you, so you cannot comment on it.")
        return _shown(self.campaign.comment(id, text, by=person.name))

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
    said, own = row.said(person.name), row.said(given.by)
    noted = {} if own is None else dict(own.remarks)
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
        settled=row.settled,
        mine=said is not None and not row.settled,
        doubt=doubts.get(row.id) if admin and given.counts else None,
        remarks={REMARKS[name].words: value for name, value in noted.items()},
        comments=_comments(given.comments, None if admin else person.name),
    )


def _conflict(row: Row, comments: dict[str, list[Comment]], columns: show.Columns) -> Conflict:
    return Conflict(
        id=row.id,
        round=row.round,
        fields=fields_of(row, columns),
        said=[Said(by=one.by, label=one.label, at=one.at) for one in row.opinions],
        comments=_comments(comments.get(row.id, ()), None),
    )


def _comments(comments: Sequence[Comment], only_by: str | None) -> list[CommentShown]:
    """All of them, or those of one person: what others wrote may say what they answered."""
    return [_shown(one) for one in comments if only_by in (None, one.by)]


def _shown(comment: Comment) -> CommentShown:
    return CommentShown(**comment._asdict())

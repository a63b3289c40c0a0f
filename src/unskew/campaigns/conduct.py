"""How a campaign is conducted: its budget and guidelines, its people, corrections, comments, second opinions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from unskew.campaigns.folder import Folder
from unskew.campaigns.ledger.answers import Given, answers_of, own_answers
from unskew.campaigns.ledger.arrangement import Arrangement, checked_changes
from unskew.campaigns.ledger.chain import Head
from unskew.campaigns.ledger.engines import serialised
from unskew.campaigns.ledger.events import Arranged, Commented, Corrected, Invited, Paused, Resumed, Revoked
from unskew.campaigns.ledger.live import Live
from unskew.campaigns.ledger.people import checked_name, checked_role, holder, new_token, token_hash
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Comment, Row, State
from unskew.campaigns.ledger.status import Status, room, status_of
from unskew.campaigns.ledger.store import Ledger
from unskew.campaigns.ledger.texts import checked_text
from unskew.campaigns.ledger.two_people import TwoPeople, two_people
from unskew.campaigns.ledger.work import work_of
from unskew.campaigns.tables.labels import canonical
from unskew.campaigns.telling import Label, label_text, never_given
from unskew.errors import InputError, unknown

COMMENT, COMMENT_BYTES = 2000, 8000
"""The most characters of a comment or a reason, and the most bytes that it takes in the ledger."""
COMMENTS = 20
"""The most comments of one person on a row, whatever others wrote. No reason for a correction is refused for them."""
CHANGES = 20
"""How often one person may correct or take back an answer to one row."""
KEY = 100
"""The most characters of a comment's key."""


class Conduct:
    """The part of `Campaign` that needs no model."""

    def __init__(self, folder: Folder, ledger: Ledger, campaign: str, settings: Settings) -> None:
        self.folder, self.ledger, self.id = folder, ledger, campaign
        self._live = Live(ledger, campaign, settings, Head(folder.head))

    @property
    def settings(self) -> Settings:
        """What the campaign was created with, and the rows that its pool has got since."""
        return self._live.settings

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.path.resolve().name

    @property
    def state(self) -> State:
        """What the ledger says now."""
        return self.refresh()

    def refresh(self) -> State:
        """Apply the events that others have written since."""
        return self._live.refresh()

    def room(self, state: State) -> int:
        """The number of rows that may still be planned: as many as both the budget and the pool allow."""
        return room(state, self.settings)

    def status(self) -> Status:
        """Where the campaign stands."""
        with self._live.lock:
            return status_of(self.refresh(), self.settings, self.ledger.now())

    def row(self, id: str) -> Row:
        """A row that was asked for."""
        return _row(self.refresh(), id)

    # What may change

    @property
    def arrangement(self) -> Arrangement:
        """What people are asked and shown, and how the campaign is conducted."""
        return self.refresh().arrangement

    def arrange(self, *, by: str = "", **changes: Any) -> Arrangement:
        """Change the budget, or what `ledger.arrangement.Arrangement` has: all of it, or nothing.

        ``loans.arrange(budget=600, question="Did the applicant repay?", overlap=0.1)``
        """
        wanted = checked_changes(changes, self.settings)
        with self._live.writing() as write:
            state = write.state
            least = max(len(state.rows) - state.skipped, 1)
            if wanted.get("budget", least) < least:
                raise InputError(
                    f"budget must be at least {least}: {state.spent} labels are given and {len(state.open)} rows are "
                    f"asked for; got {wanted['budget']}. Choose a larger one, or end the campaign."
                )
            before = {"budget": state.budget, **state.arrangement.as_record()}
            new = {name: value for name, value in wanted.items() if before[name] != value}
            if new:
                write.append(Arranged(new), by=by)
            return state.arrangement

    # Answers once given

    def answers(
        self,
        *,
        by: str | None = None,
        label: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        search: str = "",
        ids: Sequence[str] | None = None,
    ) -> list[Given]:
        """What people said, latest first: of one person, of one class, in some time, of rows in which a text occurs.

        An empty `label` finds skips.
        """
        wanted = self._class(label)
        with self._live.lock:
            if by is not None:
                self._check_known(self.refresh(), by)
            return answers_of(
                self.refresh(), by=by, label=wanted, since=since, until=until, search=search, ids=ids
            )  # fmt: skip

    def own_answers(
        self, by: str, *, label: str | None = None, since: datetime | None = None, until: datetime | None = None
    ) -> list[Given]:
        """What one person may know of the answers: their own, whatever became of them, and their own comments."""
        with self._live.lock:
            return own_answers(self.refresh(), by, label=self._class(label), since=since, until=until)

    def _class(self, label: str | None) -> str | None:
        """The class that is meant; an empty text, which finds skips, as it is."""
        meant = label and canonical(label, self.settings.classes)
        if label and meant is None:
            raise unknown("class", label, self.settings.classes)
        return meant

    def correct(self, id: str, label: Label, *, by: str, reason: str = "", own: bool = False) -> Row:
        """Replace what was answered; None makes it a skip. With `own`, only what `by` said, if it is still open.

        Where people differ, somebody else's correction settles the row. Any other answer that is somebody else's needs
        a reason. What they said stays in the ledger. Where the answer is this one already, it stays as it is, and the
        reason is kept as a comment, unless `by` gave it before.
        """
        checked_name(by)
        text = label_text(label)
        wanted = None if text is None else canonical(text, self.settings.classes)
        if text is not None and wanted is None:
            raise InputError(
                f"label {text!r} must be one of {', '.join(map(repr, self.settings.classes))}. Correct it."
            )
        reason = _comment("a reason", reason) if reason else ""
        with self._live.writing() as write:
            if own:
                _check_own(write.state, by, id)
            row = _row(write.state, id)
            said = row.said(by)
            if not row.done:
                raise InputError(f"row {id!r} has no answer to correct. Answer it.")
            mine = said is not None and not row.settled
            was = said.label if said is not None and mine else row.label
            if was == wanted and (mine or row.settled or not row.conflict):
                if reason and not _reason_known(write.state, id, wanted, by, reason):
                    check_comments(write.state, id, by)
                    write.append(Commented(id, reason), by=by)
                return row
            if not reason and not mine and row.by != by and not row.conflict:
                raise InputError(f"row {id!r} was answered by {row.by!r}. Say why you change somebody else's answer.")
            if wanted is not None and row.label is None and write.state.left < 1:
                remedy = "Leave it as it is." if own else "Raise the budget first."
                raise InputError(f"row {id!r} was skipped and its place in the budget is taken. {remedy}")
            check_changes(write.state, id, by)
            write.append(Corrected(id, wanted, was=was, reason=reason), by=by)
            return write.state.rows[id]

    def comment(self, id: str, text: str, *, by: str, own: bool = False, key: str = "") -> Comment:
        """Write something about a row that was asked for. With `own`, only about one that `by` was given.

        With a `key`, such as a random text, the same comment may be sent again: it is kept once. Do so where it is not
        known whether it was kept (`LedgerUnsure`).
        """
        checked_name(by)
        text, key = _comment("a comment", text), checked_text("a comment's key", key, KEY)
        with self._live.writing() as write:
            if own and not write.state.has_seen(by, id):
                raise InputError(never_given(id, "Comment only on"))
            _row(write.state, id)
            for one in write.state.comments.get(id, ()):
                if key and (one.by, one.text, one.key) == (by, text, key):
                    return one
            check_comments(write.state, id, by)
            write.append(Commented(id, text, key), by=by)
            return write.state.comments[id][-1]

    def two_people(self) -> TwoPeople:
        """How far people agree on the rows that two of them saw."""
        with self._live.lock:
            return two_people(self.refresh())

    # People

    def invite(self, name: str, role: str = "annotator") -> str:
        """A new token for somebody, which replaces any earlier one. It is not stored: hand it over now."""
        token = new_token()
        with self._live.writing() as write:
            write.append(Invited(checked_name(name), checked_role(role), token_hash(token)))
        return token

    def who(self, token: str) -> tuple[str, str] | None:
        """Name and role of the token's owner."""
        with self._live.lock:
            person = holder(self.refresh(), token)
        return None if person is None else (person.name, person.role)

    def revoke(self, name: str) -> None:
        """Make somebody's token worthless. Their answers stay."""
        with self._live.writing() as write:
            people = write.state.people
            if name not in people:
                raise InputError(f"nobody named {name!r} was invited. Invited: {', '.join(people) or 'nobody'}.")
            write.append(Revoked(name))

    def pause(self, name: str, *, by: str = "") -> None:
        """Give somebody no more rows until `resume`. Those they hold go to others."""
        with self._live.writing() as write:
            self._check_known(write.state, name)
            if name not in write.state.paused:
                write.append(Paused(name), by=by)

    def resume(self, name: str, *, by: str = "") -> None:
        """Give somebody rows again, who was paused or skipped too many."""
        with self._live.writing() as write:
            self._check_known(write.state, name)
            if write.state.barred(name) in ("paused", "skips"):
                write.append(Resumed(name), by=by)

    def _check_known(self, state: State, name: str) -> None:
        """Refuse the name of somebody who neither has a link nor was given a row or answered one."""
        known = sorted({*state.people, *state.given, *work_of(state, self.ledger.now())})
        if name not in known:
            if known:
                raise unknown("person", name, known)
            raise InputError(f"unknown person {name!r}: nobody was invited yet, and nobody has labelled. Invite them.")


def _check_own(state: State, name: str, id: str) -> None:
    """Refuse to change an answer that is not this person's, or no longer theirs to change.

    Rows that they never had are refused alike, whether or not there is one of that id. Why an answer of theirs is
    closed is not told: others may have answered, corrected or settled it.
    """
    if not state.has_seen(name, id):
        raise InputError(never_given(id, "Change only your answers to"))
    if id not in state.answers.get(name, {}):
        raise InputError(f"row {id!r} has no answer of yours to change. Answer it first.")
    if not state.rows[id].open_to(name):
        raise InputError(f"your answer to row {id!r} can no longer be changed. Ask whoever runs the campaign.")


def _row(state: State, id: str) -> Row:
    found = state.rows.get(id)
    if found is None:
        raise InputError(f"row {id!r} was never asked for. Check the id.")
    return found


def _reason_known(state: State, id: str, label: str | None, by: str, reason: str) -> bool:
    """Whether this person gave it before: then the same correction was sent again."""
    written = [one.text for one in state.comments.get(id, ()) if one.by == by]
    return any(text == reason or text.endswith(f" → {label or 'skipped'}: {reason}") for text in written)


def check_comments(state: State, id: str, by: str) -> None:
    """Refuse another comment of somebody who wrote as many on the row as one may.

    Those of others do not count: a refusal would tell how much they wrote.
    """
    if sum(comment.by == by for comment in state.comments.get(id, ())) >= COMMENTS:
        raise InputError(
            f"row {id!r} has {COMMENTS} comments by {by!r} already, which is the most. Go on with other rows."
        )


def check_changes(state: State, id: str, by: str) -> None:
    """Refuse that somebody changes the answer to a row once more who has done so as often as one may."""
    if state.changes[by, id] >= CHANGES:
        raise InputError(
            f"the answer to row {id!r} was changed {CHANGES} times by {by!r}, which is the most. Leave it, or let "
            "somebody else decide."
        )


def _comment(what: str, text: str) -> str:
    """A text that says something."""
    found = checked_text(what, text, COMMENT)
    if not found:
        raise InputError(f"{what} must have a word; got {text!r}. Write one.")
    size = len(serialised(found).encode())
    if size > COMMENT_BYTES + 2:  # in quotes
        raise InputError(
            f"{what} may take at most {COMMENT_BYTES:,} bytes; got {size - 2:,}. Shorten it, or leave out "
            "control characters."
        )
    return found

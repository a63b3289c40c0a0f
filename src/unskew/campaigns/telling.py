"""Answers as they come in: which are new, which repeat what is known, and what is wrong with the others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from numbers import Integral, Real
from typing import Any

from unskew.campaigns.ledger.events import Answered, Corrected, Event, Seconded, Skipped
from unskew.campaigns.ledger.opinions import Opinion
from unskew.campaigns.ledger.state import Row, RowStatus, State
from unskew.campaigns.tables.labels import canonical
from unskew.errors import InputError, UnskewError, brief

Label = str | int | float | bool | None
"""A label as a person writes it. It is matched to the classes as labels in files are. None is a skip."""

Line = tuple[int | None, str, str | None]
"""An answer (line, id, label): the line of the file it stands in, if it does; the label None is a skip."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A line of a file that is not an answer, and why not."""

    line: int
    problem: str


class NotAnswers(InputError):
    """A file that does not hold answers: of another form, broken or empty."""


@dataclass(frozen=True, slots=True)
class Told:
    """The number of answers that were new labels, skips, corrections, or known already."""

    answered: int = 0
    skipped: int = 0
    corrected: int = 0
    repeated: int = 0


class Rejected(UnskewError):
    """Answers that could not all be taken, so none was. `problems` are (line, what is wrong), in order.

    `conflicts` says whether some of them differ from answers given before, which `force_correct` would overwrite.

    >>> print(Rejected([(2, "row '17' is not known. Fix it."), (5, "label 'x' is not a class. Fix it.")]))
    2 problems, nothing was changed. Line 2: row '17' is not known. Fix it. Line 5: label 'x' is not a class. Fix it.
    """

    def __init__(self, problems: Sequence[tuple[int | None, str]], *, conflicts: bool = False) -> None:
        self.problems, self.conflicts = [(line, brief(what)) for line, what in problems], conflicts
        told = " ".join(what if line is None else f"Line {line}: {what}" for line, what in self.problems)
        many = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        super().__init__(f"{many}, nothing was changed. {told}")
        if conflicts:
            self.add_note("To overwrite answers deliberately, pass force_correct=True.")


def lines_of(answers: Mapping[str, Label]) -> list[Line]:
    """Answers by row id as lines, which have no number.

    >>> lines_of({"17": True, "18": 1.0, "19": None})
    [(None, '17', 'true'), (None, '18', '1.0'), (None, '19', None)]
    """
    if not isinstance(answers, Mapping):
        raise InputError(
            f"answers must be a label for each row id; got {type(answers).__name__}. Pass {{row.id: label}}."
        )
    return [(None, id_text(id), label_text(label)) for id, label in answers.items()]


def id_text(id: Any) -> str:
    """A row's id as it would be written in a file."""
    if isinstance(id, str | Integral):
        return _text(id)
    raise InputError(f"answers must be by row id; got {type(id).__name__} in its place. Pass {{row.id: label}}.")


def label_text(label: Any) -> str | None:
    """A label as it would be written in a file.

    >>> label_text(1), label_text(True), label_text(None)
    ('1', 'true', None)
    """
    if label is None:
        return None
    item = label.item() if hasattr(label, "item") and not getattr(label, "shape", 0) else label  # NumPy's numbers
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, str | Real):
        return _text(item)
    raise InputError(f"a label must be text, a number or true or false; got {type(label).__name__}. Pass a class.")


def _text(value: Any) -> str:
    """A value as text that can be stored: half of a pair of surrogates cannot."""
    try:
        text = str(value)
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"ids and labels must be whole characters; got {text!r:.60}. Write it again.") from None
    except ValueError:
        raise InputError("an id or a label may not be a number of thousands of digits. Correct it.") from None
    return text


def _checked(one: Any) -> Line:
    """A line as `Line` has it, also if it has an id or a label that is not text yet."""
    if not isinstance(one, Sequence) or len(one) != 3 or not isinstance(one[0], int | None):
        raise InputError(f"an answer must be (line, id, label), its line a number or None; got {one!r:.60}. Pass that.")
    return one[0], id_text(one[1]), label_text(one[2])


def judge(
    state: State,
    lines: Sequence[Line | Unread],
    classes: Sequence[str],
    *,
    actor: str,
    now: datetime,
    force_correct: bool = False,
    only_given: bool = False,
) -> tuple[list[Event], Told]:
    """The events that take in what `actor` said. If one line cannot be taken, `Rejected` lists every problem.

    With `only_given`, an answer counts only for rows that were handed to `actor`, now or earlier. The problems of all
    other rows are worded alike, and say nothing of what others hold or answered.
    """
    problems: list[tuple[int | None, str]] = [(one.line, one.problem) for one in lines if isinstance(one, Unread)]
    answers = [_checked(one) for one in lines if not isinstance(one, Unread)]
    events: list[Event] = []
    first: dict[str, tuple[int | None, str | None]] = {}
    repeated, conflicts, places = 0, False, state.left
    known: Collection[str] = state.given.get(actor, ()) if only_given else state.rows
    for line, written, text in answers:
        id = written if written in known else written.strip()
        if id not in known:
            told = f"row {written!r} was never asked for. Answer only rows that were."
            problems.append((line, never_given(written, "Answer only") if only_given else told))
            continue
        own = state.answers.get(actor, {}).get(id) if only_given else state.rows[id].said(actor)
        row, label = state.rows[id], None if text is None else canonical(text, classes)
        if text is not None and label is None:
            told = f"label {text!r} of row {id!r} must be {_either(classes)}. Correct it."
            problems.append((line, told))
        elif id in first and first[id][1] != label:
            before, earlier = first[id]
            told = f"row {id!r} is {_shown(label)} here and {_shown(earlier)} in line {before}. Keep one."
            if before is None:
                told = f"row {id!r} has two answers, {_shown(earlier)} and {_shown(label)}. Keep one."
            problems.append((line, told))
        elif id in first:
            repeated += 1
        elif _wanted_of(state, row, actor):
            events.append(Seconded(id, label))
        elif not force_correct and _said_so(row, label, own, several=only_given or _of_several(row, actor)):
            repeated += 1
        elif only_given and own is None and _taken(row, label, actor, places):
            problems.append((line, f"row {written!r} was answered meanwhile. Go on with the next."))
        elif (_says(row, label) and not _changed(row, label, actor, own if only_given else None)) or (
            label is None and _held_by_another(row, actor, now)
        ):
            repeated += 1
        elif row.done and not (force_correct or (own is None and _skipped_by_another(row, actor))):
            conflicts = True
            told = f"row {id!r} is {_shown(label)} here, but {row.by} said {_shown(row.label)}."
            problems.append((line, _to_the_person(id, own) if only_given else told))
        elif row.status == RowStatus.SKIPPED and places < 1:
            problems.append((line, f"row {id!r} was skipped and its place in the budget is taken. Leave it out."))
        else:
            places += (label is None) - (row.status == RowStatus.SKIPPED)
            if row.done and force_correct:
                replaced = own if own is not None and _of_several(row, actor) else row
                events.append(Corrected(id, label, was=replaced.label))
            else:
                events.append(Skipped(id) if label is None else Answered(id, label))
        first.setdefault(id, (line, label))
    if problems:
        raise Rejected(sorted(problems, key=lambda problem: problem[0] or 0), conflicts=conflicts)
    kinds = [type(event) for event in events]
    passed = sum(isinstance(event, Seconded) and event.label is None for event in events)
    answered, skipped = kinds.count(Answered) + kinds.count(Seconded) - passed, kinds.count(Skipped) + passed
    return events, Told(answered, skipped, kinds.count(Corrected), repeated)


def _either(classes: Sequence[str]) -> str:
    """The classes, or the first few of many."""
    if len(classes) == 2:
        return f"{classes[0]!r} or {classes[1]!r}"
    return f"one of {', '.join(map(repr, classes[:8]))}{', ...' if len(classes) > 8 else ''}"


def _says(row: Row, label: str | None) -> bool:
    """Whether the row was answered in this way already."""
    return row.status == (RowStatus.SKIPPED if label is None else RowStatus.ANSWERED) and row.label == label


def _wanted_of(state: State, row: Row, actor: str) -> bool:
    """Whether one more opinion of the row is wanted, and the actor was asked for it."""
    return row.id in state.again and row.said(actor) is None and row.id in state.given.get(actor, ())


def _of_several(row: Row, actor: str) -> bool:
    """Whether the actor is one of several people who said something of the row, and nobody has settled it."""
    return len(row.opinions) > 1 and not row.settled and row.said(actor) is not None


def _said_so(row: Row, label: str | None, own: Opinion | None, *, several: bool) -> bool:
    """Whether the actor repeats their own answer, though another counts: one of several people's, or on the page."""
    return row.done and own is not None and own.label == label and several


def _changed(row: Row, label: str | None, actor: str, own: Opinion | None) -> bool:
    """Whether it is not what the actor said before, so that to take it in silence would say what others said."""
    return _of_several(row, actor) or (own is not None and own.label != label)


def _taken(row: Row, label: str | None, actor: str, places: int) -> bool:
    """Whether somebody else finished the row. A skip of theirs leaves room for a label, if the budget has a place."""
    skipped = row.status == RowStatus.SKIPPED and (label is None or places > 0)
    return row.done and row.by != actor and not skipped


def _held_by_another(row: Row, actor: str, now: datetime) -> bool:
    return row.status == RowStatus.LEASED and row.holder != actor and not row.expired(now)


def _skipped_by_another(row: Row, actor: str) -> bool:
    return row.status == RowStatus.SKIPPED and row.by != actor


def _to_the_person(id: str, own: Opinion | None) -> str:
    """What somebody reads who answered the row otherwise before. What others said of it, or settled, is not told."""
    if own is None:
        return f"row {id!r} was answered meanwhile. Go on with the next."
    yours = "was skipped by you" if own.label is None else f"already has your other answer, {own.label!r}"
    return f"row {id!r} {yours}. To change it, open History."


def never_given(id: str, only: str) -> str:
    """What somebody reads of every row that was not handed to them, whether or not there is one of that id.

    >>> never_given("17", "Answer only")
    "row '17' was never given to you. Answer only rows that were."
    """
    return f"row {id!r} was never given to you. {only} rows that were."


def _shown(label: str | None) -> str:
    return "skipped" if label is None else repr(label)


def to_undo(state: State, by: str, id: str | None) -> Row | None:
    """The row whose answer `by` may take back, or that `by` holds again already; None if there is none."""
    last, newest = state.undoable(by), next(reversed(state.done.get(by, [])), None)
    wanted = id if id is not None else last or newest
    if wanted is None:
        return None
    if wanted != last:
        held = state.open.get(wanted) or state.again.get(wanted)
        if held is not None and held.holder == by:
            return held
        own = state.answers.get(by, {})
        if id is not None and id != next(reversed(own), None):
            told = f"only your last answer can be taken back; {wanted!r} is not it. Answer the next row."
        elif own[wanted].label is None and state.rows[wanted].status == RowStatus.SKIPPED:
            told = f"row {wanted!r} was skipped and its place in the budget is taken. Go on with the next."
        else:  # somebody else has seen it, or settled it: which of these is not told
            told = f"your answer to row {wanted!r} can no longer be taken back. Go on with the next."
        raise InputError(told)
    return state.rows[wanted]

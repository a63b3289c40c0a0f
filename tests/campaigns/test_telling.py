"""Answers as they come in: what becomes of each, by the state of its row and by who answers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from unskew.campaigns.ledger.events import (
    Answered,
    Arranged,
    Corrected,
    Event,
    Leased,
    Planned,
    PlannedRow,
    Recorded,
    Seconded,
    Skipped,
    Undone,
)
from unskew.campaigns.ledger.state import State
from unskew.campaigns.telling import Rejected, Told, Unread, judge, to_undo
from unskew.errors import InputError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLASSES = ("no", "yes")


class Scene:
    """A round of three rows, of which ada holds the first two, and a budget."""

    def __init__(self, budget: int = 3, *, two_people: bool = False) -> None:
        self.state = State(budget)
        self.add(Arranged({"overlap": float(two_people)}))
        rows = tuple(PlannedRow(id, int(id), "drawn", 0.1, {}) for id in ("1", "2", "3"))
        self.add(Planned(1, rows, 100, spread=1.0))
        self.lease("ada", "1", "2")

    def add(self, event: Event, by: str = "") -> None:
        self.state.apply(Recorded(self.state.last + 1, NOW.isoformat(), by, event))

    def lease(self, by: str, *ids: str) -> None:
        self.add(Leased(ids, NOW + timedelta(minutes=10)), by)

    def judge(
        self,
        by: str,
        *answers: Any,
        minutes: float = 0,
        **how: bool,
    ) -> tuple[list[Event], Told]:
        now = NOW + timedelta(minutes=minutes)
        return judge(self.state, answers, CLASSES, actor=by, now=now, **how)

    def tell(self, by: str, id: str, label: str | None, **how: bool) -> Told:
        events, told = self.judge(by, (None, id, label), **how)
        for event in events:
            self.add(event, by)
        return told


def waiting() -> Scene:
    return Scene()


def answered() -> Scene:
    scene = Scene()
    scene.tell("ada", "1", "yes")
    return scene


def skipped() -> Scene:
    scene = Scene()
    scene.tell("ada", "1", None)
    return scene


def skipped_and_replaced() -> Scene:
    """The place in the budget of the row that ada skipped is taken by another."""
    scene = skipped()
    scene.add(Planned(2, (PlannedRow("4", 4, "drawn", 0.1, {}),), 97, spread=1.0))
    return scene


def seen_by_two() -> Scene:
    """Ada said yes, bob no; eve was given the row as the third."""
    scene = Scene(two_people=True)
    scene.tell("ada", "1", "yes")
    scene.lease("bob", "1")
    scene.tell("bob", "1", "no")
    scene.lease("eve", "1")
    return scene


def settled() -> Scene:
    scene = seen_by_two()
    scene.tell("grace", "1", "no", force_correct=True)
    return scene


REPEATED = Told(repeated=1)
TABLE = [
    # the row, who answers what, in which way, and what becomes of it
    (waiting, "ada", "yes", {}, Answered("1", "yes")),
    (waiting, "ada", None, {}, Skipped("1")),
    (waiting, "bob", "yes", {}, Answered("1", "yes")),
    (waiting, "bob", None, {}, REPEATED),  # ada holds it
    (waiting, "bob", "yes", {"only_given": True}, "was never given to you"),
    (waiting, "ada", "yes", {"only_given": True}, Answered("1", "yes")),
    (waiting, "ada", "yes", {"force_correct": True}, Answered("1", "yes")),
    (answered, "ada", "yes", {}, REPEATED),
    (answered, "bob", "yes", {}, REPEATED),
    (answered, "ada", "no", {}, "row '1' is 'no' here, but ada said 'yes'"),
    (answered, "bob", "no", {}, "row '1' is 'no' here, but ada said 'yes'"),
    (answered, "bob", None, {}, "row '1' is skipped here, but ada said 'yes'"),
    (answered, "ada", "no", {"only_given": True}, "already has your other answer, 'yes'"),
    (answered, "ada", "no", {"force_correct": True}, Corrected("1", "no", was="yes")),
    (answered, "bob", None, {"force_correct": True}, Corrected("1", None, was="yes")),
    (answered, "bob", "yes", {"force_correct": True}, REPEATED),
    (skipped, "ada", None, {}, REPEATED),
    (skipped, "bob", None, {}, REPEATED),
    (skipped, "bob", "yes", {}, Answered("1", "yes")),
    (skipped, "ada", "yes", {}, "row '1' is 'yes' here, but ada said skipped"),
    (skipped, "ada", "yes", {"only_given": True}, "was skipped by you. To change it"),
    (skipped, "ada", "yes", {"force_correct": True}, Corrected("1", "yes", was=None)),
    (skipped_and_replaced, "bob", "yes", {}, "was skipped and its place in the budget is taken"),
    (skipped_and_replaced, "ada", "yes", {"force_correct": True}, "its place in the budget"),
    (skipped_and_replaced, "bob", None, {}, REPEATED),
    (seen_by_two, "eve", "no", {}, Seconded("1", "no")),
    (seen_by_two, "eve", None, {}, Seconded("1", None)),
    (seen_by_two, "bob", "no", {}, REPEATED),
    (seen_by_two, "bob", "no", {"force_correct": True}, Corrected("1", "no", was="no")),
    (seen_by_two, "bob", "yes", {"force_correct": True}, Corrected("1", "yes", was="no")),
    (seen_by_two, "bob", "yes", {}, "row '1' is 'yes' here, but ada said 'yes'"),
    (seen_by_two, "grace", "yes", {}, REPEATED),
    (settled, "ada", "yes", {}, "row '1' is 'yes' here, but grace said 'no'"),
    (settled, "ada", "yes", {"only_given": True}, REPEATED),
    (settled, "ada", "no", {"only_given": True}, "already has your other answer, 'yes'"),
    (settled, "eve", "yes", {"only_given": True}, "was answered meanwhile"),
]  # fmt: skip


@pytest.mark.parametrize(("scene", "by", "label", "how", "becomes"), TABLE)
def test_what_becomes_of_an_answer(
    scene: Any, by: str, label: str | None, how: dict[str, bool], becomes: Event | Told | str
) -> None:
    made = scene()
    if isinstance(becomes, str):
        with pytest.raises(Rejected, match=becomes):
            made.judge(by, (None, "1", label), **how)
        return
    events, told = made.judge(by, (None, "1", label), **how)
    if isinstance(becomes, Told):
        assert (events, told) == ([], becomes)
        return
    assert events == [becomes]
    kind = "corrected" if isinstance(becomes, Corrected) else "answered" if label else "skipped"
    assert told == Told(**{kind: 1})


def test_somebody_who_was_given_a_row_may_answer_it_after_a_skip() -> None:
    scene = skipped()
    scene.lease("bob", "2")
    scene.state.given["bob"].add("1")
    events, _ = scene.judge("bob", (None, "1", "yes"), only_given=True)
    assert events == [Answered("1", "yes")]
    assert scene.judge("bob", (None, "1", None), only_given=True) == ([], REPEATED)
    full = skipped_and_replaced()
    full.state.given["bob"] = {"1"}
    with pytest.raises(Rejected, match="was answered meanwhile"):
        full.judge("bob", (None, "1", "yes"), only_given=True)


def test_a_skip_of_a_row_whose_lease_has_ended_counts() -> None:
    scene = Scene()
    assert scene.judge("bob", (None, "1", None), minutes=9.9)[0] == []
    assert scene.judge("bob", (None, "1", None), minutes=10)[0] == [Skipped("1")]


def test_a_skip_in_the_same_file_makes_a_place() -> None:
    """And a label of a skipped row takes it: one of the two that are told here has none."""
    scene = skipped_and_replaced()
    events, told = scene.judge("bob", (1, "3", None), (2, "1", "yes"))
    assert events == [Skipped("3"), Answered("1", "yes")] and told == Told(1, 1)
    other = skipped_and_replaced()
    other.tell("ada", "2", None)
    with pytest.raises(Rejected) as refused:
        other.judge("bob", (1, "1", "yes"), (2, "2", "no"))
    assert [line for line, _ in refused.value.problems] == [2]


def test_every_problem_is_listed_in_the_order_of_the_lines() -> None:
    scene = answered()
    lines = [(5, "1", "no"), (4, "17", "yes"), Unread(2, "no comma"), (3, "2", "maybe")]
    lines += [(6, "3", "no"), (7, " 3 ", "yes"), (8, "3", "no")]
    with pytest.raises(Rejected) as refused:
        scene.judge("ada", *lines)
    assert [line for line, _ in refused.value.problems] == [2, 3, 4, 5, 7]
    assert refused.value.conflicts
    assert "row '3' is 'yes' here and 'no' in line 6" in str(refused.value)
    with pytest.raises(Rejected) as other:
        scene.judge("ada", (1, "17", "yes"))
    assert not other.value.conflicts


def test_answers_are_counted_by_what_they_were() -> None:
    scene = seen_by_two()
    lines = [(1, "1", None), (2, "2", "yes"), (3, "3", None), (4, "2", "yes")]
    events, told = scene.judge("eve", *lines)
    assert [type(event) for event in events] == [Seconded, Answered, Skipped]
    assert told == Told(answered=1, skipped=2, repeated=1)
    assert scene.judge("eve", (1, "1", "yes"))[1] == Told(answered=1)


def test_ids_and_labels_may_have_blanks_around_them() -> None:
    events, _ = Scene().judge("ada", (1, " 1", " yes "))
    assert events == [Answered("1", "yes")]


def test_the_last_answer_is_taken_back_and_no_other() -> None:
    scene = Scene()
    assert to_undo(scene.state, "ada", None) is None
    scene.tell("ada", "1", "yes")
    scene.tell("ada", "2", "no")
    row = to_undo(scene.state, "ada", None)
    assert row is not None and row.id == "2"
    with pytest.raises(InputError, match="only your last answer can be taken back; '1' is not it"):
        to_undo(scene.state, "ada", "1")
    assert to_undo(scene.state, "bob", None) is None
    scene.add(Undone("2", "no", NOW + timedelta(minutes=10)), "ada")
    again = to_undo(scene.state, "ada", "2")
    assert again is not None and again.holder == "ada", "doing so twice changes nothing"
    earlier = to_undo(scene.state, "ada", None)
    assert earlier is not None and earlier.id == "1"


def test_why_an_answer_cannot_be_taken_back() -> None:
    with pytest.raises(InputError, match="'1' was skipped and its place in the budget is taken"):
        to_undo(skipped_and_replaced().state, "ada", None)
    with pytest.raises(InputError, match="your answer to row '1' can no longer be taken back"):
        to_undo(seen_by_two().state, "ada", None)
    row = to_undo(seen_by_two().state, "bob", None)
    assert row is not None and row.id == "1"

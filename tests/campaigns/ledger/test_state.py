"""The state of a campaign from its events alone, by example and beside a slow twin."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from faults.replay import Replay
from unskew.campaigns.ledger.events import (
    Answered,
    Arranged,
    Closed,
    Corrected,
    Event,
    Extended,
    Invited,
    Leased,
    Measured,
    Paused,
    Planned,
    PlannedRow,
    Recorded,
    Resumed,
    Revoked,
    Seconded,
    Skipped,
    Started,
    Undone,
)
from unskew.campaigns.ledger.state import SKIPS, RowStatus, State
from unskew.campaigns.telling import Rejected, judge, to_undo
from unskew.errors import InputError, StoreError
from unskew.estimation.population import PopulationEstimate
from unskew.methods.prospect import Prospect

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LEASE = timedelta(minutes=10)
ERROR = PopulationEstimate(0.1, 0.05, 0.2, 0.03, 0.95, "error", 40, 31.0)
PROSPECT = Prospect(50, 0.012, 0.004)


class Story:
    """A state, the events that led to it, and a clock."""

    def __init__(self, budget: int = 40) -> None:
        self.state, self.now = State(budget), BEGIN
        self.events: list[Recorded] = []

    def add(self, event: Event, by: str = "") -> None:
        recorded = Recorded(len(self.events) + 1, self.now.isoformat(), by, event)
        self.state.apply(recorded)
        self.events.append(recorded)

    def plan(self, *ids: str) -> None:
        rows = tuple(PlannedRow(id, int(id), "chosen", 1.0, {}) for id in ids)
        self.add(Planned(len(self.state.batches) + 1, rows, 100, spread=1.0))

    def lease(self, by: str, *ids: str) -> None:
        self.add(Leased(ids, self.now + LEASE), by)

    def undo(self, by: str, id: str) -> None:
        row = self.state.rows[id]
        own = row.said(by)
        was = row.label if own is None else own.label
        self.add(Undone(id, was, self.now + LEASE), by)

    def wait(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)

    def close(self, *numbers: int, error: PopulationEstimate | None = ERROR) -> None:
        labels = len(self.state.answered())
        for number in numbers:
            self.add(Closed(number, labels, error, PROSPECT))

    def due(self) -> list[int]:
        return [batch.number for batch in self.state.due(self.now)]

    def closed(self) -> list[int]:
        return [batch.number for batch in self.state.batches if batch.closed is not None]


@pytest.fixture
def story() -> Story:
    """Two rounds of two rows, all of which ada holds."""
    begun = Story()
    begun.plan("1", "2")
    begun.plan("3", "4")
    begun.lease("ada", "1", "2", "3", "4")
    return begun


@pytest.mark.parametrize("label", ["yes", None])
def test_an_answer_that_is_taken_back_reopens_its_round(story: Story, label: str | None) -> None:
    """The round waits for the row. If nobody answers it, it closes with the labels left."""
    story.add(Answered("1", "yes"), "ada")
    story.add(Skipped("2") if label is None else Answered("2", label), "ada")
    story.add(Answered("3", "no"), "ada")
    story.add(Answered("4", "no"), "ada")
    story.close(1, 2)
    assert story.closed() == [1, 2] and story.due() == []
    story.undo("ada", "2")
    assert story.closed() == [2], "only that of the row"
    assert story.due() == [], "ada has it again"
    story.wait(10)
    assert story.due() == [1]
    assert len(story.state.answered()) == 3


def test_a_corrected_answer_reopens_its_round_alone(story: Story) -> None:
    for id in ("1", "2", "3", "4"):
        story.add(Answered(id, "yes"), "ada")
    story.close(1, 2)
    story.add(Corrected("3", "no", was="yes"), "bob")
    assert story.closed() == [1] and story.due() == [2]
    assert (story.state.spent, story.state.skipped, story.state.corrections["bob"]) == (4, 0, 1)
    assert story.state.done == {"ada": ["1", "2", "4"], "bob": ["3"]}


def test_a_label_after_a_skip_reopens_the_round(story: Story) -> None:
    story.add(Skipped("1"), "ada")
    story.add(Answered("2", "yes"), "ada")
    story.close(1)
    story.add(Answered("1", "no"), "bob")
    assert story.closed() == [] and (story.state.spent, story.state.skipped) == (2, 0)
    assert story.state.done == {"ada": ["2"], "bob": ["1"]}


def many_rows(n: int = 60, share: float = 0.0) -> Story:
    begun = Story(budget=200)
    begun.add(Arranged({"overlap": share}))
    begun.plan(*map(str, range(1, n + 1)))
    begun.lease("ada", *map(str, range(1, n + 1)))
    return begun


def test_a_label_ends_a_streak_of_skips() -> None:
    story = many_rows()
    for k in range(1, SKIPS):
        story.add(Skipped(str(k)), "ada")
    assert story.state.streaks["ada"] == SKIPS - 1 and story.state.barred("ada") is None
    story.add(Answered(str(SKIPS), "yes"), "ada")
    for k in range(SKIPS + 1, 2 * SKIPS):
        story.add(Skipped(str(k)), "ada")
    assert story.state.streaks["ada"] == SKIPS - 1 and story.state.barred("ada") is None
    story.add(Skipped(str(2 * SKIPS)), "ada")
    assert story.state.barred("ada") == "skips" and story.state.barred("bob") is None
    assert story.state.available("ada", story.now) == []


def test_a_label_of_a_second_person_ends_a_streak_too() -> None:
    story = many_rows(share=1.0)
    for k in range(1, 4):
        story.add(Answered(str(k), "yes"), "ada")
    story.lease("bob", "1", "2", "3")
    story.add(Seconded("1", None), "bob")
    story.add(Seconded("2", None), "bob")
    assert story.state.streaks["bob"] == 2 and story.state.streaks["ada"] == 0
    story.add(Seconded("3", "no"), "bob")
    assert story.state.streaks["bob"] == 0


def test_only_a_skip_that_is_taken_back_shortens_a_streak() -> None:
    story = many_rows()
    story.add(Answered("1", "yes"), "ada")
    for id in ("2", "3"):
        story.add(Skipped(id), "ada")
    story.undo("ada", "3")
    assert story.state.streaks["ada"] == 1
    story.undo("ada", "1")
    assert story.state.streaks["ada"] == 1
    story.add(Skipped("3"), "ada")
    story.add(Resumed("ada"))
    story.undo("ada", "3")
    assert story.state.streaks["ada"] == 0, "it never falls below 0"


def test_a_lease_ends_at_its_end_and_not_before(story: Story) -> None:
    story.wait(10)
    row = story.state.rows["1"]
    assert not row.expired(story.now - timedelta(microseconds=1)) and row.expired(story.now)
    assert {one.id for one in story.state.available("bob", story.now)} == {"1", "2", "3", "4"}
    early = BEGIN - LEASE
    assert not row.expired(early), "as long before as the lease lasts"
    assert row.expired(early - timedelta(microseconds=1)), "a lease from the future counts as ended"


def test_rows_come_in_order_own_late_for_two_and_new() -> None:
    story = Story()
    story.add(Arranged({"overlap": 1.0}))
    story.plan("1", "2", "3", "4", "5")
    story.lease("bob", "2")
    story.wait(10)
    story.lease("ada", "1", "4")
    story.add(Answered("4", "yes"), "ada")
    assert [row.id for row in story.state.available("bob", story.now)] == ["2", "4", "3", "5"]
    assert [row.id for row in story.state.available("ada", story.now)] == ["1", "2", "3", "5"]
    assert [row.id for row in story.state.available("eve", story.now)] == ["2", "4", "3", "5"]
    shown = story.state.available("bob", story.now)[1]
    assert shown.label is None and shown.opinions == ()


def test_rows_of_somebody_who_leaves_are_free(story: Story) -> None:
    story.add(Invited("ada", "annotator", "hash"))
    story.add(Paused("ada"))
    assert all(row.free(story.now) for row in story.state.open.values())
    assert story.state.barred("ada") == "paused"
    story.add(Resumed("ada"))
    story.lease("ada", "1")
    story.add(Revoked("ada"))
    assert story.state.rows["1"].status == RowStatus.WAITING
    assert story.state.people == {} and story.state.old_tokens == {"hash": "ada"}


def test_a_new_token_makes_the_old_one_invalid(story: Story) -> None:
    story.add(Invited("ada", "annotator", "first"))
    story.add(Invited("ada", "annotator", "second"))
    assert story.state.people["ada"].token_sha256 == "second"
    assert story.state.old_tokens == {"first": "ada"}


def test_estimates_from_as_many_labels_or_more_are_dropped(story: Story) -> None:
    story.add(Started(ERROR))
    story.add(Answered("1", "yes"), "ada")
    story.add(Answered("2", "yes"), "ada")
    story.close(1)
    story.add(Answered("3", "yes"), "ada")
    story.add(Answered("4", "yes"), "ada")
    story.close(2)
    assert list(story.state.estimates) == [0, 2, 4]
    story.add(Corrected("4", None, was="yes"), "ada")
    story.add(Corrected("3", None, was="yes"), "ada")
    story.close(2)
    assert list(story.state.errors) == [0, 2] and story.state.prospect == PROSPECT


def test_a_pool_that_grew_makes_estimates_stale(story: Story) -> None:
    story.add(Started(ERROR))
    story.close(1)
    assert list(story.state.errors) == [0]
    story.close(2, error=None)
    assert story.state.errors == {}, "what rested on as many labels is out of date"
    story.add(Extended(50, "digest", "more.parquet", 2))
    assert story.state.stale and story.state.latest == {} and story.state.prospect is None
    assert story.state.rows_then(0, 400) == 400
    story.add(Measured(0, ERROR, PROSPECT))
    assert not story.state.stale and story.state.rows_then(0, 400) == 450
    assert story.state.latest == {"error": ERROR} and story.state.prospect == PROSPECT


def test_a_place_in_the_budget_is_free_again_after_a_skip() -> None:
    story = Story(budget=3)
    story.plan("1", "2", "3")
    story.lease("ada", "1", "2", "3")
    assert story.state.left == 0
    story.add(Skipped("1"), "ada")
    assert story.state.left == 1 and story.state.undoable("ada") == "1"
    story.plan("4")
    assert story.state.left == 0 and story.state.undoable("ada") is None
    story.add(Arranged({"budget": 4}))
    assert story.state.left == 1 and story.state.undoable("ada") == "1"


def test_events_that_do_not_fit_are_named(story: Story) -> None:
    wrong = Recorded(9, BEGIN.isoformat(), "ada", Answered("17", "yes"))
    with pytest.raises(StoreError, match="event 9 of the ledger, 'answered', does not fit those"):
        story.state.replay([wrong])


PEOPLE, CLASSES = ("ada", "bob", "eve"), ("no", "yes")


class Twin:
    """What the state should say, from all events anew, in the slowest and plainest way."""

    def __init__(self, story: Story, budget: int) -> None:
        self.replay = Replay(budget)
        self.streaks = dict.fromkeys(PEOPLE, 0)
        self.closed: dict[int, dict[str, str | None]] = {}
        """The labels of each closed round when it was closed."""
        for one in story.events:
            self.apply(one)

    def apply(self, one: Recorded) -> None:
        event, actor = one.event, one.actor
        if isinstance(event, Undone) and event.was is None:
            self.streaks[actor] = max(self.streaks[actor] - 1, 0)
        elif isinstance(event, Resumed):
            self.streaks[event.name] = 0
        elif isinstance(event, Skipped) or (isinstance(event, Seconded) and event.label is None):
            self.streaks[actor] += 1
        elif isinstance(event, Answered | Seconded):
            self.streaks[actor] = 0
        body = {"id": one.id, "kind": event.kind, "body": event.as_body(), "actor": actor}
        self.replay.apply({**body, "at": one.at})
        if isinstance(event, Closed):
            self.closed[event.round] = self.labels(event.round)
        for number in [k for k, labels in self.closed.items() if labels != self.labels(k)]:
            del self.closed[number]

    def labels(self, number: int) -> dict[str, str | None]:
        """Answers of the round's rows: ten rows a round, by their numbers."""
        rows = (str(k) for k in range(10 * number - 9, 10 * number + 1))
        return {id: self.replay.labels[id] for id in rows if id in self.replay.labels}


def one_step(story: Story, rng: np.random.Generator) -> None:
    """Something that somebody may do at this moment, as the campaign would let them."""
    state, by = story.state, str(rng.choice(PEOPLE))
    deed = rng.choice(["plan", "ask", "tell", "force", "undo", "pause", "close", "wait", "budget"],
                      p=[0.05, 0.2, 0.35, 0.1, 0.1, 0.03, 0.1, 0.05, 0.02])  # fmt: skip
    if deed == "plan" and state.left >= 10 and len(state.batches) < 6:
        first = 10 * len(state.batches) + 1
        story.plan(*map(str, range(first, first + 10)))
    elif deed == "ask":
        rows = state.available(by, story.now)[: int(rng.integers(1, 6))]
        if rows:
            story.lease(by, *(row.id for row in rows))
    elif deed in ("tell", "force") and state.rows:
        given = sorted(state.given.get(by, ())) or list(state.rows)
        ids = list(state.rows) if rng.random() < 0.1 else given
        label = [None, *CLASSES][int(rng.integers(3))]
        force, strict = deed == "force", bool(rng.random() < 0.5)
        answer = (None, str(rng.choice(ids)), label)
        try:
            events, _ = judge(
                state,
                [answer],
                CLASSES,
                actor=by,
                now=story.now,
                force_correct=force,
                only_given=strict and not force,
            )
        except Rejected:
            return
        for event in events:
            story.add(event, by)
    elif deed == "undo":
        try:
            row = to_undo(state, by, None)
        except InputError:
            return
        if row is not None and row.id == state.undoable(by):
            story.undo(by, row.id)
    elif deed == "pause":
        story.add(Resumed(by) if by in state.paused else Paused(by))
    elif deed == "close":
        story.close(*story.due()[:1])
    elif deed == "wait":
        story.wait(float(rng.uniform(1, 8)))
    elif deed == "budget" and state.budget < 60:
        story.add(Arranged({"budget": state.budget + 5, "overlap": float(rng.random())}))


@pytest.mark.parametrize("seed", range(8))
def test_the_state_is_what_a_slow_twin_says(seed: int) -> None:
    """Three people ask, answer, skip, correct, take back, pause, as they like; rounds close."""
    rng, story = np.random.default_rng(seed), Story(budget=30)
    story.add(Arranged({"overlap": 0.5}))
    story.plan(*map(str, range(1, 11)))
    twin, kinds = Twin(story, 30), set()
    for _ in range(500):
        told = len(story.events)
        one_step(story, rng)
        for recorded in story.events[told:]:
            twin.apply(recorded)
            kinds.add(type(recorded.event))
        compare(story, twin)
    again = Story(budget=30).state.replay(story.events)
    assert again == story.state
    answers = {Answered, Skipped, Seconded, Corrected, Undone}
    assert answers | {Closed, Leased, Paused, Resumed} <= kinds


def compare(story: Story, twin: Twin) -> None:
    state, replay = story.state, twin.replay
    assert replay.faults == []
    assert {id: row.label for id, row in state.rows.items() if row.done} == replay.labels
    done = {id: row.by for id, row in state.rows.items() if row.done}
    assert done == {id: replay.by[id] for id in replay.labels}
    assert (state.spent, state.skipped) == (replay.spent, replay.skipped)
    labelled = {id for id, label in replay.labels.items() if label is not None}
    assert {row.id for row in state.answered()} == labelled
    assert set(state.open) == set(replay.planned) - set(replay.labels)
    assert {name: state.streaks[name] for name in PEOPLE} == twin.streaks
    assert set(story.closed()) <= set(twin.closed), "a round whose labels changed is not closed"
    assert {id for id, row in state.rows.items() if row.for_two} == replay.for_two
    wanted = {row.id for row in state.rows.values() if row.wants_another}
    assert set(state.again) == wanted, "only rows that one more person should see"
    for name in PEOPLE:
        own = state.done.get(name, [])
        assert len(set(own)) == len(own)
        for id in own:
            row = state.rows[id]
            assert row.done and (row.said(name) is not None or (row.settled and row.by == name))
        for row in state.available(name, story.now):
            assert row.free(story.now) or row.holder == name
            assert row.label is None and row.opinions == ()

"""What becomes of an answer: the lines of the decision table, one by one."""

from datetime import UTC, datetime, timedelta

import pytest

from unskew.campaigns.ledger.events import (
    Answered,
    Arranged,
    Event,
    Leased,
    Planned,
    PlannedRow,
    Recorded,
    Seconded,
    Skipped,
)
from unskew.campaigns.ledger.state import State
from unskew.campaigns.telling import Outcome, Rules, outcome

NOW = datetime(2026, 11, 15, 10, tzinfo=UTC)
UNTIL = NOW + timedelta(minutes=30)


def state_after(*events: tuple[str, Event], budget: int = 2) -> State:
    """One row, "7", that was planned, and what people did with it."""
    rows = tuple(PlannedRow(id, 0, "drawn", 0.5, {}) for id in ("7", "8"))
    state = State(budget)
    planned: tuple[str, Event] = ("", Planned(1, rows, 10))
    for number, (actor, event) in enumerate((planned, *events), 1):
        state.apply(Recorded(number, NOW.isoformat(), actor, event))
    return state


def handed(actor: str) -> tuple[str, Event]:
    return actor, Leased(("7",), UNTIL)


TWICE = ("", Arranged({"overlap": 1.0}))


def result(state: State, label: str | None, actor: str = "bob", *, places: int = 1, **rules: bool) -> Outcome:
    return outcome(state, state.rows["7"], label, places, Rules(actor, NOW, **rules))


@pytest.fixture
def two_people() -> State:
    """Ada said yes, and bob was asked for a second opinion."""
    rows = (PlannedRow("7", 0, "drawn", 0.5, {}),)
    state = State(2)
    events = (
        TWICE,
        ("", Planned(1, rows, 10)),
        handed("ada"),
        ("ada", Answered("7", "yes")),
        handed("bob"),
    )
    for number, (actor, event) in enumerate(events, 1):
        state.apply(Recorded(number, NOW.isoformat(), actor, event))
    return state


def second(state: State, actor: str, label: str) -> State:
    state.apply(Recorded(state.last + 1, NOW.isoformat(), actor, Seconded("7", label)))
    return state


def test_line_1_one_more_opinion(two_people: State) -> None:
    assert result(two_people, "no") is Outcome.SECOND
    assert result(two_people, None) is Outcome.SECOND
    assert result(two_people, "no", actor="eve") is not Outcome.SECOND  # nobody asked eve


def test_line_2_own_answer_again_though_another_counts(two_people: State) -> None:
    state = second(two_people, "bob", "no")
    assert state.rows["7"].label == "yes"
    assert result(state, "no") is Outcome.REPEAT
    assert result(state, "no", force_correct=True) is Outcome.CORRECTION


def test_line_3_somebody_else_was_faster() -> None:
    state = state_after(handed("bob"), handed("ada"), ("ada", Answered("7", "yes")))
    assert result(state, "no", only_given=True) is Outcome.LATE
    assert result(state, "yes", only_given=True) is Outcome.LATE  # or it would tell what ada chose


def test_line_4_the_answer_that_is_there() -> None:
    state = state_after(handed("ada"), ("ada", Answered("7", "yes")))
    assert result(state, "yes", actor="ada") is Outcome.REPEAT
    assert result(state, "yes") is Outcome.REPEAT


def test_line_4_not_in_silence_where_it_would_reveal_the_other_opinion(two_people: State) -> None:
    state = second(two_people, "bob", "no")
    assert result(state, "yes", only_given=True) is Outcome.CONFLICT


def test_line_5_a_skip_of_a_row_that_somebody_else_holds() -> None:
    state = state_after(handed("ada"))
    assert result(state, None) is Outcome.REPEAT
    assert result(state, "yes") is Outcome.FIRST


def test_line_6_another_answer_stays_unless_forced() -> None:
    state = state_after(handed("ada"), ("ada", Answered("7", "yes")))
    assert result(state, "no") is Outcome.CONFLICT
    assert result(state, None, actor="ada") is Outcome.CONFLICT
    assert result(state, "no", force_correct=True) is Outcome.CORRECTION


def test_line_7_a_skipped_row_whose_place_is_taken() -> None:
    state = state_after(handed("ada"), ("ada", Skipped("7")))
    assert result(state, "yes", places=0) is Outcome.NO_PLACE
    assert result(state, "yes", places=1) is Outcome.FIRST


def test_line_8_a_correction_that_is_forced() -> None:
    state = state_after(handed("ada"), ("ada", Skipped("7")))
    assert result(state, "yes", actor="ada", force_correct=True) is Outcome.CORRECTION
    assert result(state, "yes", actor="ada") is Outcome.CONFLICT


def test_line_9_the_first_answer() -> None:
    assert result(state_after(), "yes") is Outcome.FIRST
    assert result(state_after(handed("bob")), None) is Outcome.FIRST

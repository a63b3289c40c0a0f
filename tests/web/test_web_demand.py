"""Who asks for rows, who waits, and how large rounds are then."""

from pathlib import Path

import pytest

from unskew.campaigns import Campaign
from unskew.web.demand import LATELY, MOST, READY, Demand, Wish, rows_ready
from unskew.web.desk import Desk
from unskew.web.models import Answer
from unskew.web.planner import ROUND, InProcess, Planner
from web_page import begin, wait_for

WAITING = [f"annotator {k:02d}" for k in range(20)]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("seconds", [0.0, 0.1, 1.0, 60.0])
@pytest.mark.parametrize("wish", [Wish(), Wish(100, 0.001), Wish(3, 5.0)])
def test_somebody_alone_gets_small_rounds_at_any_pace(wish: Wish, seconds: float) -> None:
    assert rows_ready({"ada": wish}, {"ada": 2}, seconds) == rows_ready({}, {}, seconds) == READY


def test_everybody_counts_once_whether_they_hold_rows_or_wait() -> None:
    waiting = {name: Wish(missing=1) for name in WAITING}
    assert rows_ready(waiting, {}, 1.0) == 3 * 20
    assert rows_ready(waiting, {WAITING[0]: 1, "bob": 10}, 1.0) == 3 * 21
    assert rows_ready({}, {"ada": 1, "bob": 1}, 1.0) == 3 * 2


def test_rows_last_for_the_time_of_a_round_with_a_margin() -> None:
    fast = {"ada": Wish(seconds=0.5), "bob": Wish(seconds=0.25)}
    assert rows_ready(fast, {}, 4.0) == 12 + 24  # within 1.5 times 4 s
    assert rows_ready(fast, {"ada": 2, "bob": 20}, 4.0) == 10 + 4  # and not what they hold


def test_who_asked_for_many_and_got_few_gets_the_rest() -> None:
    assert rows_ready({"ada": Wish(missing=10), "bob": Wish(missing=2)}, {}, 1.0) == 10 + READY


def test_the_number_is_bounded_however_fast_people_are_and_never_less_than_before() -> None:
    assert rows_ready({name: Wish(100, 0.0) for name in WAITING}, {}, 60.0) == MOST
    crowd = {f"annotator {k}": Wish(100, 0.0) for k in range(400)}
    assert rows_ready(crowd, {}, 60.0) == 3 * 400


def test_who_did_not_ask_for_half_a_minute_does_not_count() -> None:
    clock = Clock()
    demand = Demand(clock)
    demand.asked("ada", 1, given=0)
    clock.now = LATELY
    demand.asked("bob", 1, given=1)
    assert set(demand.lately()) == {"ada", "bob"}
    clock.now += 0.1
    assert set(demand.lately()) == {"bob"}


def test_the_pace_is_the_median_and_leaves_out_time_without_a_row() -> None:
    clock = Clock()
    demand = Demand(clock)
    demand.asked("ada", 2, given=1)
    for seconds in (2.0, 3.0, 900.0):  # the last: a long break
        clock.now += seconds
        demand.answered("ada", 1)
        demand.asked("ada", 2, given=0)
        clock.now += 50.0  # no row to answer
        demand.asked("ada", 2, given=2)
    assert demand.lately() == {"ada": Wish(0, 3.0)}
    clock.now += 10.0
    demand.answered("ada", 100)  # the answers of a while, sent together
    assert demand.lately() == {"ada": Wish(0, 2.5)}


def test_the_desk_notes_who_waits_but_not_who_may_have_no_rows(tmp_path: Path) -> None:
    clock = Clock()
    with Campaign.open(begin(tmp_path, budget=40)) as campaign:
        campaign.plan(3)
        desk = Desk(campaign, Demand(clock))
        held = desk.ask("ada", 2).rows
        assert len(desk.ask("bob", 5).rows) == 1
        campaign.invite("eve")
        campaign.pause("eve")
        assert desk.ask("eve", 5).stand == "paused"
        assert desk.demand.lately() == {"ada": Wish(0), "bob": Wish(4)}
        clock.now = 6.0
        desk.tell("ada", [Answer(id=row.id, label="yes") for row in held], 2)
        assert desk.demand.lately() == {"ada": Wish(2, 3.0), "bob": Wish(4)}


def test_people_who_wait_enlarge_the_next_round(tmp_path: Path) -> None:
    demand = Demand()
    with Campaign.open(begin(tmp_path, budget=150)) as campaign:
        planner = Planner(campaign, demand.lately)
        planner.step()
        assert campaign.hand_out(ROUND, by=WAITING[0])
        for name in WAITING[1:]:
            demand.asked(name, 1, given=len(campaign.hand_out(1, by=name)))
        planner.step()
        assert [len(batch.ids) for batch in campaign.state.batches] == [ROUND, READY * len(WAITING)]


def test_a_round_is_never_larger_than_the_budget_allows(tmp_path: Path) -> None:
    demand = Demand(lambda: 0.0)
    for name in WAITING:
        demand.asked(name, 100, given=0)
    with Campaign.open(begin(tmp_path, budget=25)) as campaign:
        Planner(campaign, demand.lately).step()
        assert [len(batch.ids) for batch in campaign.state.batches] == [25]


def test_the_process_that_chooses_rows_hears_who_waits(tmp_path: Path) -> None:
    folder = begin(tmp_path, budget=150)
    planner = InProcess(folder)
    for name in WAITING:
        planner.demand.asked(name, 1, given=0)
    planner.start()
    try:
        with Campaign.open(folder) as campaign:
            wait_for(lambda: campaign.refresh().batches, "a round is chosen")
            assert len(campaign.state.batches[0].ids) == READY * len(WAITING)
    finally:
        planner.stop()

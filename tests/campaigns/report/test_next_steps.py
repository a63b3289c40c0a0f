"""What the report says to do next, for every stand of a campaign."""

from dataclasses import replace

import pytest

from unskew.campaigns.audit.filling import Filled
from unskew.campaigns.ledger.status import Status
from unskew.campaigns.report.next_steps import ENOUGH, next_steps
from unskew.estimation.ahead import Ahead, Needed
from unskew.estimation.aims import Aim
from unskew.methods.prospect import Prospect
from unskew.web.overview import _advice
from unskew.web.planner import Outlook

STATUS = Status(
    method="Unskew", budget=100, spent=60, skipped=2, open=0, waiting=0, leased=0, expired=0, left=40, rounds=3,
    closed=3, log_rows=500, pool_rows=1000, classes=["no", "yes"], aim=Aim(), decision=None, estimates={},
    prospect=Prospect(50, 0.012, 0.004), annotators={},
)  # fmt: skip
ENDED = replace(STATUS, spent=100, left=0)
LITTLE = Prospect(50, 0.0001, 0.004)
AHEAD = Ahead(40, 0.03, (Needed(0.02, 140, 70), Needed(0.01, None, None)))
SPOT = Filled("at home", "at_home is true", 600, 5, 10, 5, 0.4, 200, 260)


@pytest.mark.parametrize(
    ("status", "title", "command", "says"),
    [
        (replace(STATUS, spent=0, left=100), "Label the first rows", "unskew serve 'my bank'", "Nobody has"),
        (STATUS, "Go on labelling: 40 of 100 labels are left", "unskew serve 'my bank'", "by about 1.2 points"),
        (replace(STATUS, prospect=LITTLE), ENOUGH, "unskew serve 'my bank'", "would gain little"),
        (ENDED, "Raise the budget, if you can", "unskew budget 'my bank' 150", "The budget is spent. The next 50"),
        (replace(ENDED, pool_rows=122), "Raise the budget, if you can", "unskew budget 'my bank' 120", "is spent."),
        (replace(ENDED, prospect=None), "Raise the budget, if you can", "unskew budget", "cannot be said yet"),
        (replace(ENDED, prospect=LITTLE), ENOUGH, "unskew budget 'my bank' 240", "±2 points needs about 140"),
        (replace(STATUS, left=0, pool_rows=62), "Stop here, or find more rows", "unskew extend", "Every row"),
        (replace(STATUS, left=0, ended=True), "Stop here, or reopen the campaign", "unskew reopen", "ended"),
    ],
)  # fmt: skip
def test_labels_come_first(status: Status, title: str, command: str | None, says: str) -> None:
    first, *_, last = next_steps("my bank", status, AHEAD, [])
    assert first.title == title and says in first.text
    assert first.commands[0].startswith(command) if command else first.commands == ()
    assert last.title == "Use the model" and last.commands[1] == "unskew export 'my bank'"


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (STATUS, "Go on: more labels are worth it."),
        (replace(STATUS, prospect=None), "It is too early to say whether more labels are worth it. Go on."),
        (replace(STATUS, prospect=LITTLE), "You can stop here: more labels would gain little."),
        (ENDED, "The budget is spent, and more labels are worth it: raise it, if you can."),
        (replace(ENDED, prospect=None), "The budget is spent. It is too early to say whether more labels are worth it"),
        (replace(ENDED, prospect=LITTLE), "The budget is spent, and you can stop here: more labels would gain little."),
        (replace(STATUS, left=0, pool_rows=62), "Every row of the pool was asked for."),
        (replace(STATUS, left=0, ended=True), "The campaign has ended with 60 of 100 labels."),
    ],
)  # fmt: skip
def test_the_advice_knows_the_budget(status: Status, says: str) -> None:
    """Status, page and report show this, or what follows from it."""
    assert status.advice.startswith(says)


def test_what_the_next_labels_should_do_is_about_those_that_are_left() -> None:
    """The planner looked at it when 60 labels were given, and the next 40: later it is about fewer."""
    seen = Outlook(spent=60, ahead=AHEAD, next=(40, 0.03))
    for spent, labels, gain in ((60, 40, 0.0096), (76, 24, 0.00576), (99, 1, 0.00024)):
        status = replace(STATUS, spent=spent, left=100 - spent)
        found = _advice(status, seen)
        assert (found.labels, found.half_width, found.spent) == (labels, 0.03, False)
        assert found.gain == pytest.approx(gain)
        assert f"The {labels} label" in status.ahead(AHEAD.after(spent - 60))
    none_left = _advice(ENDED, seen)
    assert (none_left.spent, none_left.labels, none_left.half_width) == (True, 50, None)
    raised = _advice(ENDED, Outlook(spent=100, next=(50, 0.02)))
    assert (raised.spent, raised.labels, raised.half_width, raised.gain) == (True, 50, 0.02, pytest.approx(0.012))


def test_a_blind_spot_that_is_still_thin_is_looked_at_by_its_rule() -> None:
    _, look, _ = next_steps("bank", STATUS, None, [SPOT])
    assert look.commands == ("unskew error bank --where 'at_home is true'",)
    assert "where at home has 40.0 % of everyone and 7.7 % of the labels" in look.text
    covered = replace(SPOT, drawn=100, all_labels=345)
    assert len(next_steps("bank", STATUS, None, [covered])) == 2
    assert len(next_steps("bank", replace(STATUS, spent=0), None, [SPOT])) == 2

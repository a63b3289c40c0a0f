"""Estimates for the population: intervals that hold the truth, and what happens where a log cannot be trusted."""

from dataclasses import replace

import numpy as np
import pytest

from people import (
    NONE,
    Population,
    first_round_loses_12_of_15,
    held,
    last_round_open,
    second_round_loses_all_it_chose,
    three_in_ten_skipped,
)
from unskew.errors import EmptyMeasure, InputError, NoRandomLabel
from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone


@pytest.fixture(scope="module")
def campaigns():
    """The model is wrong about a whole region. Recall and log loss then rest on few drawn rows and are skewed."""
    people, rng = Population(), np.random.default_rng(6)
    return people, [people.campaign(rng) for _ in range(250)]


@pytest.mark.parametrize("measure", ["error", "precision", "recall", "log_loss"])
def test_coverage(campaigns, measure):
    people, runs = campaigns
    found, truth = [run.estimate(measure) for run in runs], people.truth(measure)
    assert 0.92 <= held(found, truth) <= 0.995
    values = np.array([e.value for e in found])
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(len(values)))


def too_sure_near_the_boundary():
    """The model expects few losses at the rows that are chosen first, where it errs most."""
    people = Population()
    people.margin = np.sign(people.x) * (3 + 5 * np.abs(people.x))
    return people


@pytest.mark.parametrize(
    ("lose", "rounds"),
    [
        (three_in_ten_skipped, 4),
        (last_round_open, 2),
        (first_round_loses_12_of_15, 4),
        (second_round_loses_all_it_chose, 4),  # those of the first stand for them: much the same rows
    ],
)
def test_rows_lost_at_random_leave_the_estimate_unbiased(lose, rounds):
    """The chosen rows err far more often than others: taking lost rows for rows never asked would show."""
    people, rng = too_sure_near_the_boundary(), np.random.default_rng(8)
    runs = [people.campaign(rng, m=200, n=200, drawn=8, rounds=rounds, lose=lose) for _ in range(400)]
    found, truth = [run.estimate() for run in runs], people.truth("error")
    values = np.array([e.value for e in found])
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(len(values)))
    assert 0.92 <= held(found, truth) <= 0.995


def test_an_open_round_changes_nothing_until_it_is_answered():
    everyone = Population().campaign(np.random.default_rng(13), rounds=2)
    design = everyone.design
    later = Design(design.z, design.q0, design.n, (*design.rounds, Picked(NONE, NONE, np.zeros(0), 40, 10, 5.0)))
    assert replace(everyone, design=later).estimate() == everyone.estimate()


def test_no_error_among_the_labels_still_leaves_a_width():
    people, rng = Population(noise=0.0), np.random.default_rng(8)
    people.margin = 8.0 * (people.x - 0.15)  # always right
    found = [people.campaign(rng).estimate() for _ in range(200)]
    assert max(e.low for e in found) == 0.0
    assert min(e.high for e in found) > 0.0
    assert held(found, 0.0) == 1.0


def test_few_errors_are_not_missed():
    people, rng = Population(noise=0.005), np.random.default_rng(8)
    people.margin = 5.0 * (people.x - 0.15)
    found = [people.campaign(rng).estimate() for _ in range(200)]
    assert held(found, people.truth("error")) > 0.92
    assert min(e.high for e in found) > 0.005


# A log that is not what it claims to be


def test_wrong_propensities_are_noticed_and_the_draw_wins():
    """The log reveals errors four times as often as it says."""
    people, rng = Population(), np.random.default_rng(20)
    wrong = (people.margin >= 0) != (people.y > 0)
    claimed = people.q0 / 4
    people.q0 = np.where(wrong, np.minimum(people.q0, 0.9), people.q0 / 4)
    runs = [people.campaign(rng, drawn=25, m=1500, claimed=claimed) for _ in range(150)]
    found, truth = [run.estimate() for run in runs], people.truth("error")
    left_out = [e for e in found if e.log_share == 0.0]
    assert len(left_out) > 0.9 * len(found)
    assert all(e.agreement < 0.01 and e.rests_on == "the drawn labels" for e in left_out)
    assert all(e.log.low > truth for e in left_out)  # what the log says by itself is wrong
    assert held(found, truth) >= 0.92


def test_right_propensities_count_beside_the_draw():
    people, rng = Population(), np.random.default_rng(21)
    found = [people.campaign(rng).estimate() for _ in range(200)]
    assert np.mean([e.log_share > 0.0 for e in found]) > 0.9
    alone = [e.draw.high - e.draw.low for e in found]
    assert np.mean([e.high - e.low for e in found]) < 0.95 * np.mean(alone)
    assert np.mean([e.agreement < 0.01 for e in found]) < 0.03


def test_a_log_with_estimated_propensities_speaks_only_until_labels_are_drawn():
    people = Population()
    everyone = people.campaign(np.random.default_rng(22), log="estimated")
    found = everyone.estimate()
    assert (found.log_share, found.q0_estimated) == (0.0, True)
    assert (found.value, found.low, found.high) == found.draw
    assert found.log is not None and found.labels == 120
    before = replace(everyone, design=Design(everyone.design.z, everyone.design.q0, everyone.design.n)).estimate()
    assert (before.log_share, before.draw, before.agreement) == (1.0, None, None)


def test_a_log_of_labelled_rows_only_never_speaks():
    everyone = Population().campaign(np.random.default_rng(23), log="selected")
    found = everyone.estimate()
    assert (found.log_share, found.log, found.agreement) == (0.0, None, None)
    nothing_drawn = replace(everyone, design=Design(everyone.design.z, everyone.design.q0, everyone.design.n))
    with pytest.raises(NoRandomLabel, match="the log shows only those who were picked"):
        nothing_drawn.estimate()


def test_beside_the_error_stands_that_of_the_commoner_class():
    people, rng = Population(), np.random.default_rng(24)
    found = [people.campaign(rng).estimate() for _ in range(100)]
    assert np.mean([e.commoner for e in found]) == pytest.approx(
        min(np.mean(people.y > 0), np.mean(people.y < 0)), abs=0.03
    )
    assert np.mean([e.flagged for e in found]) == pytest.approx(np.mean(people.margin >= 0), abs=0.01)
    assert "commoner class" in str(found[0])


# A group, another model, a threshold


def test_a_group_has_an_error_of_its_own():
    people, rng = Population(), np.random.default_rng(25)
    truth = float(np.mean(((people.margin >= 0) != (people.y > 0))[people.x > 0]))
    found = []
    for _ in range(200):
        everyone = people.campaign(rng)
        found.append(everyone.estimate(where=everyone.margin > 0))
    assert 0.91 <= held(found, truth) <= 0.995
    assert np.mean([e.value for e in found]) == pytest.approx(truth, abs=0.01)


def test_two_models_are_compared_on_the_same_labels():
    people, rng = Population(), np.random.default_rng(26)
    other = 5.0 * (people.x - 0.15)  # better
    truth = people.truth("error") - float(np.mean((other >= 0) != (people.y > 0)))
    found = []
    for _ in range(200):
        everyone = people.campaign(rng)
        found.append(everyone.estimate(against=everyone.margin - 0.75))
    assert truth > 0.04
    assert 0.91 <= held(found, truth) <= 0.999
    assert np.mean([e.value for e in found]) == pytest.approx(truth, abs=0.01)
    wide = np.mean([e.high - e.low for e in found])
    assert wide < 0.8 * np.mean([(e := people.campaign(rng).estimate()).high - e.low for _ in range(50)])


def test_a_higher_threshold_flags_fewer():
    everyone = Population().campaign(np.random.default_rng(27))
    low, high = (everyone.estimate("recall", threshold=t) for t in (0.2, 0.9))
    assert low.flagged > high.flagged and low.value > high.value
    assert everyone.estimate("auc", threshold=0.2).value == everyone.estimate("auc", threshold=0.9).value


# Odd input


def test_degenerate_designs():
    margin, y = np.array([1.0, -1.0, 2.0, -2.0, 3.0]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    q0, hidden = np.full(2, 0.5), np.zeros(2, dtype=bool)
    chosen = Picked(np.array([0]), NONE, np.zeros(0))
    with pytest.raises(NoRandomLabel, match="Set drawn= above 0"):
        Everyone(Design(hidden, q0, 3, (chosen,)), margin, y).estimate()
    assert Everyone(Design(~hidden, q0, 3, (chosen,)), margin, y).estimate().labels == 2  # the chosen row says nothing
    no_log = Design(hidden, q0, 3, (Picked(np.array([0]), np.array([2]), np.array([2.0]), spread=0.5),))
    found = Everyone(no_log, margin, y).estimate()
    assert found.labels == 2 and found.low == 0.0 and found.high > 0.1  # one draw without a loss shows little
    nobody = Everyone(no_log, -np.abs(margin), -np.ones(5))
    with pytest.raises(EmptyMeasure, match="precision needs some rows to divide by"):
        nobody.estimate("precision")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"measure": "errors"}, "did you mean 'error'"),
        ({"level": 95}, "got 95"),
        ({"threshold": 1.0}, "threshold must be in (0, 1); got 1.0"),
        ({"where": np.zeros(3, dtype=bool)}, "where must be True for some of the 3 rows"),
        ({"where": [1, 0, 0]}, "Pass one bool per row"),
        ({"against": np.ones(2)}, "one value for each of the 3 rows"),
        ({"y": np.ones(2)}, "one value for each of the 3 rows"),
        ({"margin": [1.0, np.nan, 1.0]}, "margin must be finite; got nan at row 1"),
        ({"y": [1.0, 0.0, 1.0]}, "+1 or -1 where labelled; got 0.0 at row 1"),
    ],
)
def test_bad_input_is_named_in_one_line(change, says):
    rows = {"margin": np.ones(3), "y": np.ones(3)}
    rows |= {name: change.pop(name) for name in ("margin", "y") if name in change}
    with pytest.raises(InputError) as error:
        Everyone(Design(np.ones(3, dtype=bool), np.ones(3)), **rows).estimate(**change)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_group_without_a_drawn_row_is_not_known_well():
    """Twenty rows of the pool, none of them drawn: the interval says how little the labels tell about them."""
    everyone = Population().campaign(np.random.default_rng(28), log="selected")
    design = everyone.design
    drawn = np.concatenate([r.drawn for r in design.rounds])
    left = np.setdiff1d(np.flatnonzero(~design.labelled[design.m :]), drawn)[:20]
    group = np.zeros(len(everyone.margin), dtype=bool)
    group[design.m + left] = True
    alone, whole = everyone.estimate(where=group), everyone.estimate()
    assert alone.high - alone.low > 1.5 * (whole.high - whole.low)


def test_a_model_does_not_differ_from_itself():
    everyone = Population().campaign(np.random.default_rng(29))
    for measure in ("error", "recall", "auc", "log_loss"):
        found = everyone.estimate(measure, threshold=0.2, against=everyone.margin)
        assert (found.value, found.low, found.high) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)

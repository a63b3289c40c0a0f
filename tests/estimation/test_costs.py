"""What errors cost: the threshold they lead to, and the mean cost of a row."""

import numpy as np
import pytest

from unskew.errors import InputError
from unskew.estimation.calibration import Calibration
from unskew.estimation.costs import Costs
from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import THRESHOLDS, Everyone
from unskew.sampling.draws import doubt


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf"), 1e7, "10", None])
def test_a_cost_is_a_positive_number(cost):
    with pytest.raises(InputError, match="the cost of a false negative must be a number from 1e-06 to 1e"):
        Costs(false_negative=cost)
    with pytest.raises(InputError, match="the cost of a false positive"):
        Costs(false_positive=cost)


def test_the_threshold_is_where_both_decisions_cost_the_same():
    costs = Costs(false_positive=2.0, false_negative=7.0)
    p = costs.threshold
    assert (1.0 - p) * 2.0 == pytest.approx(p * 7.0)
    assert costs.log_odds == pytest.approx(np.log(p / (1.0 - p)))
    assert Costs(3.0, 3.0).log_odds == 0.0


def labelled(costs):
    rng = np.random.default_rng(0)
    margin = rng.normal(-1.0, 2.0, 400)
    y = np.where(rng.random(400) < 1.0 / (1.0 + np.exp(-margin)), 1.0, -1.0)
    return Everyone(Design(np.ones(400, dtype=bool), np.ones(400)), margin, y, costs=costs)


def test_with_all_labels_the_cost_is_what_was_paid():
    costs = Costs(false_positive=1.0, false_negative=10.0)
    everyone = labelled(costs)
    flagged = everyone.margin >= np.log(0.1)
    paid = np.where(everyone.y > 0, 10.0 * ~flagged, 1.0 * flagged).mean()
    found = everyone.estimate("cost")
    assert found.value == pytest.approx(paid)
    assert found.low < paid < found.high
    assert found.flagged == flagged.mean()
    assert everyone.estimate().value == pytest.approx(np.mean(flagged != (everyone.y > 0)))
    assert everyone.estimate("recall").value == pytest.approx(flagged[everyone.y > 0].mean())


def test_a_threshold_that_is_given_comes_before_the_costs():
    everyone, usual = labelled(Costs(1.0, 10.0)), labelled(Costs())
    assert everyone.estimate(threshold=0.5).value == usual.estimate().value
    assert everyone.estimate().value != usual.estimate().value


def test_a_cost_may_exceed_1():
    found = labelled(Costs(false_positive=50.0, false_negative=400.0)).estimate("cost")
    assert found.value > 1.0
    assert found.high > found.value


def test_the_other_classifier_of_a_difference_is_judged_at_the_same_threshold():
    everyone = labelled(Costs(1.0, 10.0))
    found = everyone.estimate("cost", against=everyone.margin + 20.0)
    always = np.where(everyone.y > 0, 0.0, 1.0).mean()
    assert found.value == pytest.approx(everyone.estimate("cost").value - always)


def test_wrong_is_about_the_decision():
    calibration = Calibration(np.zeros(0), np.zeros(0))
    margin = np.array([-1.0, 1.0])
    assert calibration.wrong(margin, -2.0) == pytest.approx(1.0 - calibration.chances(margin))


def test_rows_are_drawn_in_proportion_to_the_deviation_of_their_cost():
    w = doubt(np.array([0.5, 0.5, 0.1]), np.array([1.0, 10.0, 10.0]), evenly=0.0)
    assert w == pytest.approx(np.array([0.5, 5.0, 3.0]) / 8.5)


def test_over_thresholds_agrees_with_single_estimates():
    everyone = labelled(Costs())
    found = everyone.over_thresholds([0.2, 0.5])
    assert [at.threshold for at in found] == [0.2, 0.5]
    assert found[1].recall == everyone.estimate("recall").log
    assert found[0].precision.low == everyone.estimate("precision", threshold=0.2).low
    values = [at.recall.value for at in everyone.over_thresholds(THRESHOLDS)]
    assert values == sorted(values, reverse=True)


def test_over_thresholds_rests_on_the_same_labels_throughout():
    rng = np.random.default_rng(1)
    margin = rng.normal(0.0, 2.0, 700)
    y = np.where(rng.random(700) < 1.0 / (1.0 + np.exp(-margin)), 1.0, -1.0)
    drawn = Picked(np.zeros(0, dtype=int), np.arange(40), np.full(40, 10.0))
    design = Design(rng.random(300) < 0.3, np.full(300, 0.3), 400, (drawn,))
    everyone = Everyone(design, margin, y, costs=Costs(1.0, 3.0))
    share = everyone.estimate("recall").log_share
    assert 0.0 < share < 1.0
    for at in everyone.over_thresholds([0.05, 0.25, 0.9]):
        found = everyone.estimate("recall", threshold=at.threshold, log_share=share)
        assert found.log_share == share
        assert at.recall == (found.value, found.low, found.high)


def test_over_thresholds_has_no_precision_where_nobody_is_flagged():
    (at,) = labelled(Costs()).over_thresholds([0.999999])
    assert at.precision is None
    assert at.recall == (0.0, 0.0, 0.0)

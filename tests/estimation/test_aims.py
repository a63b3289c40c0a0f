"""What a classifier is for: a wanted recall leads to a threshold, and sentences say how far the model gets."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from unskew.errors import InputError
from unskew.estimation.aims import Aim
from unskew.estimation.costs import Costs
from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate, Side

RECALL = PopulationEstimate(
    0.84, 0.78, 0.89, 0.03, 0.95, "recall", 200, 150.0, draw=Side(0.84, 0.78, 0.89), positives=0.1, flagged=0.2,
    threshold=0.12,
)  # fmt: skip
COST, ERROR, PRECISION = (replace(RECALL, measure=measure) for measure in ("cost", "error", "precision"))


@pytest.mark.parametrize("recall", [0.0, 1.0, -0.5, float("nan"), "0.9", True])
def test_a_recall_is_a_share(recall):
    with pytest.raises(InputError, match=r"recall must be in \(0, 1\); got .* pass 0.9"):
        Aim(recall=recall)


def test_a_recall_and_costs_exclude_each_other():
    with pytest.raises(InputError, match="exclude each other.* got recall 0.9 and costs 10 and 1. Give one of them"):
        Aim(Costs(false_negative=10.0), 0.9)


def everyone(rows=4000, m=0):
    rng = np.random.default_rng(0)
    margin = rng.normal(-2.0, 2.0, rows)
    y = np.where(rng.random(rows) < expit(margin), 1.0, -1.0)
    picked = Picked(np.zeros(0, dtype=int), np.arange(rows - m), np.ones(rows - m))
    return Everyone(Design(np.zeros(m, dtype=bool), np.ones(m), rows - m, (picked,)), margin, y)


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99])
def test_the_threshold_is_the_largest_that_is_expected_to_find_enough(recall):
    found = everyone()
    costs = found.costs_for(recall)
    p = found.calibration.chances(found.margin)
    expected = p[found.margin >= costs.log_odds].sum() / p.sum()
    last = np.min(found.margin[found.margin >= costs.log_odds])
    assert expected >= recall > p[found.margin > last].sum() / p.sum()
    assert replace(found, costs=costs).estimate("recall").value == pytest.approx(recall, abs=0.03)
    assert np.array_equal(expit(found.margin) >= costs.threshold, found.margin >= costs.log_odds)


def test_the_threshold_is_for_the_pool_and_not_for_the_log():
    found = everyone(m=2000)
    only = replace(found, margin=np.concatenate([found.margin[:2000] + 5.0, found.margin[2000:]]))
    assert only.costs_for(0.9) == found.costs_for(0.9)


def test_where_all_rows_are_alike_all_are_flagged():
    alike = Everyone(Design(np.zeros(3, dtype=bool), np.ones(3)), np.zeros(3), np.zeros(3))
    assert alike.costs_for(0.2).log_odds < 0.0


def test_a_recall_that_is_missed_is_said_in_words():
    aim, found = Aim(recall=0.9), {"recall": RECALL, "precision": PRECISION, "error": ERROR}
    assert aim.told(found, "yes") == (
        "finds 84.0 % of all “yes” (recall), 95 % interval 78.0 to 89.0 %, where 90 % are wanted"
    )
    assert aim.beside(found, ["no", "yes"]) == [
        "That is less than the 90 % that are wanted: the whole interval lies below. The threshold follows the model, "
        "so label more rows, or begin again with a higher recall.",
        "It is right on 84.0 % of those it flags (precision), 95 % interval 78.0 to 89.0 %.",
        "It is wrong on 84.0 % of everyone, 95 % interval 78.0 to 89.0 %. Always saying “no” would be wrong on 10.0 %. "
        "It flags 20.0 % of rows as “yes”.",
        "The number rests on the drawn labels alone.",
    ]
    assert "less than" not in " ".join(Aim(recall=0.88).beside(found, ["no", "yes"]))


@pytest.mark.parametrize(
    ("value", "flagged", "judged"),
    [(0.3, 0.2, "cheaper"), (0.88, 0.2, "not clearly cheaper"), (1.4, 0.2, "dearer"), (0.9, 1.0, "does just that")],
)
def test_a_cost_stands_beside_that_of_the_cheaper_constant_rule(value, flagged, judged):
    cost = replace(COST, value=value, low=value - 0.1, high=value + 0.1, flagged=flagged)
    aim, found = Aim(Costs(false_negative=10.0)), {"cost": cost, "recall": RECALL, "error": ERROR}
    assert aim.told(found, "yes").startswith(f"costs {value:g} a row on average, 95 % interval")
    first, second, *_ = aim.beside(found, ["no", "yes"])
    assert first.startswith("Flagging everybody would cost 0.9 a row: the model ") and judged in first
    assert second.startswith("It finds 84.0 % of all “yes”")
    rarer = {**found, "cost": replace(cost, positives=0.01, flagged=0.2)}
    assert aim.beside(rarer, ["no", "yes"])[0].startswith("Flagging nobody would cost 0.1 a row")


@pytest.mark.parametrize("aim", [Aim(Costs(false_negative=10.0)), Aim(recall=0.9), Aim()])
def test_an_old_ledger_has_the_error_alone(aim):
    assert aim.leading({"error": ERROR}) is ERROR
    assert aim.told({"error": ERROR}, "yes") == "is wrong on 84.0 % of everyone, 95 % interval 78.0 to 89.0 %"
    assert aim.told({}, "yes") == "not known yet: no label was drawn at random" and aim.beside({}, ["no", "yes"]) == []

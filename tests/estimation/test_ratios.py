"""Intervals of ratios where the class is rare: they exist, and hold the truth."""

import numpy as np
import pytest
from scipy.special import expit, logit

from unskew.errors import EmptyMeasure
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.sample import Sample


def rare(seed, m=3000):
    """A log in which one row in a hundred is positive, half of it revealed."""
    rng = np.random.default_rng(seed)
    margin = rng.normal(-6.0, 2.5, m)
    y = np.where(rng.random(m) < expit(margin), 1.0, -1.0)
    q0 = np.full(m, 0.1)
    return Everyone(Design(rng.random(m) < q0, q0), margin, y), y


def test_recall_of_a_rare_class_holds_the_truth():
    held = []
    for seed in range(60):
        everyone, y = rare(seed)
        found = everyone.estimate("recall", threshold=0.2)
        truth = np.mean(everyone.margin[y > 0] >= logit(0.2))
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.9


def corrected_away():
    """The labels that count are all negative and weigh more than the few positives that the model expects."""
    z, q0 = np.repeat([True, False], [4, 6]), np.repeat([0.05, 1.0], [4, 6])
    return Everyone(Design(z, q0), np.array([1.0, 1.0, -1.0, -1.0, *[-2.0] * 6]), -np.ones(10))


def test_recall_is_unknown_but_not_refused_where_the_labels_show_no_positive():
    everyone = corrected_away()
    sample = Sample(everyone.design, everyone.calibration.chances(everyone.margin), everyone.y)
    assert sample.masses((1.0, 0.0)).plus.sum() < 0.0
    found = everyone.estimate("recall")
    assert (found.low, found.high) == (0.0, 1.0)
    assert 0.0 < found.value < 1.0
    assert 0.0 <= everyone.estimate("balanced_error").value <= 1.0


def test_a_model_that_flags_nobody_has_recall_0_and_no_precision():
    everyone, _ = rare(0)
    found = everyone.estimate("recall", threshold=0.999999)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
    with pytest.raises(EmptyMeasure, match="precision needs some rows"):
        everyone.estimate("precision", threshold=0.999999)


def test_recall_is_not_certain_where_all_labelled_positives_were_found():
    rng = np.random.default_rng(0)
    margin = np.repeat([1.0, -30.0], [30, 970])
    design = Design(rng.random(1000) < 0.1, np.full(1000, 0.1))
    found = Everyone(design, margin, np.sign(margin)).estimate("recall")
    assert found.value == pytest.approx(1.0)
    assert found.standard_error < 1e-6
    assert found.low < 0.99


def test_the_log_loss_of_a_group_has_an_interval_with_two_ends():
    everyone, _ = rare(1)
    found = everyone.estimate("log_loss", where=everyone.margin > -6.0)
    assert 0.0 <= found.low < found.value < found.high < 1.0


def test_a_difference_in_log_loss_may_exceed_1():
    everyone, _ = rare(2)
    found = everyone.estimate("log_loss", against=everyone.margin + 12.0)
    assert found.low < found.value < -1.0

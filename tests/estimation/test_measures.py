"""Measures are what they are called when every label is known, and their slopes are their derivatives."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss, precision_score, recall_score, roc_auc_score

from unskew.errors import EmptyMeasure
from unskew.estimation.measures import MEASURES, Masses, difference, measured, restricted

RNG = np.random.default_rng(3)
MARGIN = np.round(RNG.normal(0, 2, 60), 1)  # with ties
Y = np.where(RNG.random(60) < 1 / (1 + np.exp(-MARGIN)), 1.0, -1.0)
SAYS = np.where(MARGIN >= 0, 1.0, -1.0)
KNOWN = Masses((Y > 0) / 60, (Y < 0) / 60)
SCIKIT_LEARN = {
    "error": np.mean(SAYS != Y),
    "precision": precision_score(Y, SAYS),
    "recall": recall_score(Y, SAYS),
    "f1": f1_score(Y, SAYS),
    "balanced_error": 1 - balanced_accuracy_score(Y, SAYS),
    "auc": roc_auc_score(Y, MARGIN),
    "log_loss": log_loss(Y, 1 / (1 + np.exp(-MARGIN))),
}


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_with_every_label_known_it_is_scikit_learns(name):
    assert measured(MEASURES[name](MARGIN), KNOWN)[0] == pytest.approx(SCIKIT_LEARN[name])


def test_every_measure_is_compared():
    assert set(SCIKIT_LEARN) == set(MEASURES)


def wobbling():
    """Masses as an estimate has them: fractions, a few of them below 0."""
    return Masses(*(mass + RNG.normal(0, 0.003, 60) for mass in KNOWN))


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("name", MEASURES)
def test_slopes_are_derivatives(name, group):
    what, masses, step = MEASURES[name](MARGIN), wobbling(), 1e-6
    if group:
        what = restricted(what, (MARGIN > -1.0).astype(float))
    value, slopes = measured(what, masses)
    assert value != 0.0
    for i in (0, 7, 31):
        moved = masses.plus.copy()
        moved[i] += step
        up = (measured(what, Masses(moved, masses.minus))[0] - value) / step
        assert up == pytest.approx(slopes.plus[i], abs=1e-3)
        moved = masses.minus.copy()
        moved[i] += step
        up = (measured(what, Masses(masses.plus, moved))[0] - value) / step
        assert up == pytest.approx(slopes.minus[i], abs=1e-3)


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_a_group_is_measured_as_if_the_others_were_not_there(name):
    group = MARGIN > -1.0
    alone = Masses((Y[group] > 0) / group.sum(), (Y[group] < 0) / group.sum())
    expected = measured(MEASURES[name](MARGIN[group]), alone)[0]
    assert measured(restricted(MEASURES[name](MARGIN), group.astype(float)), KNOWN)[0] == pytest.approx(expected)


@pytest.mark.parametrize("name", MEASURES)
def test_a_difference_is_one_minus_the_other(name):
    other = RNG.normal(size=60)
    one, two = MEASURES[name](MARGIN), MEASURES[name](other)
    found, slopes = measured(difference(one, two, name), KNOWN)
    (first, up), (second, down) = measured(one, KNOWN), measured(two, KNOWN)
    assert found == pytest.approx(first - second)
    assert slopes.plus == pytest.approx(up.plus - down.plus)


def test_nothing_to_divide_by_is_said():
    nobody = np.full(60, -1.0)
    with pytest.raises(EmptyMeasure, match="precision needs some rows to divide by"):
        measured(MEASURES["precision"](nobody), KNOWN, "precision")
    one_class = Masses(np.zeros(60), np.full(60, 1 / 60))
    for name in ("recall", "auc", "balanced_error"):
        with pytest.raises(EmptyMeasure, match="Label more rows"):
            measured(MEASURES[name](MARGIN), one_class, name)

"""Estimates where there are more than two classes."""

import numpy as np
import pytest
from scipy.special import expit

from unskew.errors import EmptyMeasure, InputError
from unskew.estimation.calibration import Calibration
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.planning import Widths


def drawn(n, seed, K=4, q=None):
    """Rows with probabilities that are right, their classes, and who is labelled."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(K, 0.4), n)
    y = 1.0 + (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    q0 = np.where(p[:, 0] > 0.3, 0.8, 0.3) if q is None else np.full(n, q)
    z = rng.random(n) < q0
    return Everyone(Design(z, q0), np.log(np.maximum(p, 1e-9)), np.where(z, y, 0.0)), y


def test_with_every_label_the_estimates_are_the_counts():
    everyone, y = drawn(500, 0, q=1.0)
    said = everyone.predicted + 1.0
    assert everyone.estimate().value == pytest.approx(np.mean(said != y))
    assert everyone.estimate("log_loss").value == pytest.approx(
        -everyone.margin[np.arange(500), y.astype(int) - 1].mean()
    )
    for k in range(4):
        found = everyone.of_class(k)
        assert found.share == pytest.approx(np.mean(y == k + 1))
        assert found.recall.value == pytest.approx(np.mean(said[y == k + 1] == k + 1))
        assert found.precision.value == pytest.approx(np.mean(y[said == k + 1] == k + 1))
    cells = everyone.confusion()
    for k in range(4):
        for j in range(4):
            assert cells[k][j].value == pytest.approx(np.mean((y == k + 1) & (said == j + 1)))


def test_estimates_are_unbiased_and_intervals_hold():
    """Mean of many logs against the mean truth; and how often the interval of the error holds."""
    off, held = [], []
    for seed in range(60):
        everyone, y = drawn(400, seed)
        truth = np.mean(everyone.predicted + 1.0 != y)
        found = everyone.estimate()
        off.append(found.value - truth)
        held.append(found.low <= truth <= found.high)
    assert abs(np.mean(off)) < 3.0 * np.std(off) / np.sqrt(60)
    assert np.mean(held) > 0.85


def of_two(n, seed):
    """Rows with log-odds that are right and the labels -1.0 and +1.0, and who is labelled."""
    rng = np.random.default_rng(seed)
    margin = rng.normal(0.0, 2.0, n)
    y = np.where(rng.random(n) < expit(margin), 1.0, -1.0)
    z = rng.random(n) < 0.6
    return Everyone(Design(z, np.full(n, 0.6)), margin, np.where(z, y, 0.0)), y


def test_a_class_of_two_is_measured_like_one_of_many():
    """Of two classes, measures are those of the positive one; the other may be named."""
    everyone, _ = of_two(400, 3)
    other = Everyone(everyone.design, -everyone.margin, -everyone.y)
    for measure in ("error", "precision", "recall", "f1"):
        assert everyone.estimate(measure, of=1) == everyone.estimate(measure)
        named, swapped = everyone.estimate(measure, of=0), other.estimate(measure)
        for part in ("value", "low", "high", "positives", "flagged"):
            assert getattr(named, part) == pytest.approx(getattr(swapped, part), rel=1e-4)
    assert everyone.of_class(0).share + everyone.of_class(1).share == pytest.approx(1.0)
    cells = everyone.confusion()
    assert cells[0][1].value + cells[1][0].value == pytest.approx(everyone.estimate().value)
    with pytest.raises(InputError, match="measures of a class against the others are error, precision, recall, f1"):
        everyone.estimate("auc", of=0)


def test_a_class_is_compared_between_two_models():
    everyone, y = drawn(600, 1, q=1.0)
    other = np.roll(everyone.margin, 1, axis=1)
    found = everyone.estimate("recall", of=2, against=other)
    said, theirs, actual = everyone.predicted == 2, other.argmax(axis=1) == 2, y == 3.0
    assert found.measure == "difference in recall"
    assert found.value == pytest.approx(said[actual].mean() - theirs[actual].mean())


def test_a_group_and_another_model():
    everyone, y = drawn(600, 1, q=1.0)
    group = everyone.margin[:, 0] > everyone.margin[:, 1]
    wrong = everyone.predicted + 1.0 != y
    assert everyone.estimate(where=group).value == pytest.approx(wrong[group].mean())
    other = np.roll(everyone.margin, 1, axis=1)
    worse = np.mean(other.argmax(axis=1) + 1.0 != y)
    found = everyone.estimate(against=other)
    assert found.measure == "difference in error" and found.value == pytest.approx(wrong.mean() - worse)
    assert found.low < found.value < found.high < 0.0
    within = everyone.estimate(against=other, where=group)
    assert within.value == pytest.approx(wrong[group].mean() - np.mean((other.argmax(axis=1) + 1.0 != y)[group]))


def test_labels_for_a_width_can_be_planned():
    everyone, _ = drawn(600, 2)
    rows = len(everyone.y)
    pool = Everyone(
        Design(everyone.design.z[:200], everyone.design.q0[:200], rows - 200),
        everyone.margin,
        np.where(np.arange(rows) < 200, everyone.y, 0.0),
    )
    plan = Widths(pool, 0.5)
    assert plan.half_width(200) < plan.half_width(50)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"measure": "auc"}, "measures of all 4 classes are error, log_loss; got 'auc'"),
        ({"measure": "recall"}, "recall is that of one class, and there are 4. Name the class"),
        (
            {"measure": "log_loss", "of": 1},
            "measures of a class against the others are error, precision, recall, f1; got 'log_loss'",
        ),
        ({"measure": "recall", "of": 4}, "of must be a position from 0 to 3; got 4"),
        ({"threshold": 0.3}, "a threshold tells two classes apart; there are 4"),
        ({"against": np.zeros(5)}, "margin and y must have one value for each of the 50 rows"),
        ({"where": np.zeros(3, dtype=bool)}, "where must be True for some of the 50 rows"),
    ],
)
def test_what_means_nothing_is_refused(how, message):
    with pytest.raises(InputError, match=message):
        drawn(50, 0)[0].estimate(**how)


def test_shapes_labels_and_numbers_are_checked():
    everyone, _ = drawn(30, 0, q=1.0)
    for margin, y, message in (
        (everyone.margin[:20], everyone.y, "one value for each of the 30 rows"),
        (np.full((30, 4), np.inf), everyone.y, "margin must be finite"),
        (everyone.margin, np.full(30, 9.0), "y must be 1 to 4 where labelled; got 9.0 at row 0"),
    ):
        with pytest.raises(InputError, match=message):
            Everyone(everyone.design, margin, y)


def test_a_class_that_is_never_predicted_has_no_precision():
    everyone, _ = drawn(80, 0, q=1.0)
    margin = everyone.margin - np.array([50.0, 0.0, 0.0, 0.0])
    never = Everyone(everyone.design, margin, everyone.y)
    assert never.of_class(0).precision is None
    with pytest.raises(EmptyMeasure):
        never.estimate("precision", of=0)


def test_calibration_takes_back_too_much_certainty():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5], 800)
    y = 1.0 + (rng.random(800)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    sure = Calibration(3.0 * np.log(np.maximum(p, 1e-6)), y)
    assert 0.2 < sure.slope < 0.5
    right = Calibration(np.log(np.maximum(p, 1e-6)), y)
    assert 0.8 < right.slope < 1.25 and np.abs(right.intercept).max() < 0.3

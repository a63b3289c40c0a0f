"""Agreement of two people: kappa against its definition and scikit-learn, intervals by simulation, noise by algebra."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from unskew.estimation.agreement import against_true_labels, agreement, label_noise, wrong_labels


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_cohens(classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(classes, size=80).astype(str)
    second = np.where(rng.random(80) < 0.6, first, rng.integers(classes, size=80).astype(str))
    found = agreement(first.tolist(), second.tolist())
    assert found is not None and found.rows == 80
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
    assert found.raw == (first == second).mean()
    assert found.low < found.raw < found.high and found.kappa_low < found.kappa < found.kappa_high


def test_edges() -> None:
    assert agreement([], []) is None
    one = agreement(["yes"] * 8, ["yes"] * 8)
    assert one is not None and one.raw == 1.0 and one.kappa is None, "with one label there is nothing to agree on"
    all_agree = agreement(["yes", "no"] * 6, ["yes", "no"] * 6)
    assert all_agree is not None and all_agree.kappa == all_agree.kappa_high == 1.0
    assert all_agree.kappa_low < 0.6, "twelve rows do not prove that people always agree"
    never = agreement(["yes", "no"], ["no", "yes"])
    assert never is not None and never.kappa == never.kappa_low == -1.0


@pytest.mark.parametrize(("n", "wrong", "share"), [(30, 0.02, 0.5), (60, 0.1, 0.5), (60, 0.1, 0.15), (200, 0.2, 0.3)])
def test_intervals_cover(n: int, wrong: float, share: float) -> None:
    rng = np.random.default_rng(n)
    agree = (1 - wrong) ** 2 + wrong**2
    positive = share * (1 - wrong) + (1 - share) * wrong
    by_chance = positive**2 + (1 - positive) ** 2
    kappa = (agree - by_chance) / (1 - by_chance)
    held = {"raw": 0, "kappa": 0}
    runs = 600
    for _ in range(runs):
        truth = rng.random(n) < share
        one, two = (np.where(rng.random(n) < wrong, ~truth, truth).astype(str).tolist() for _ in range(2))
        found = agreement(one, two)
        assert found is not None
        held["raw"] += found.low <= agree <= found.high
        held["kappa"] += found.kappa is None or found.kappa_low <= kappa <= found.kappa_high
    assert min(held.values()) / runs > 0.92, held


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_wrong_labels_and_errors_by_enumeration(classes: int) -> None:
    wrong, error = 0.13, 0.21
    spread = np.full((classes, classes), wrong / (classes - 1)) + np.eye(classes) * (1 - wrong - wrong / (classes - 1))
    same = sum(spread[0, a] * spread[0, b] * (a == b) for a, b in itertools.product(range(classes), repeat=2))
    assert wrong_labels(1.0 - same, classes) == pytest.approx(wrong)
    predicted = np.full(classes, error / (classes - 1))
    predicted[0] = 1.0 - error
    seen = sum(predicted[a] * spread[0, b] * (a != b) for a, b in itertools.product(range(classes), repeat=2))
    assert against_true_labels(seen, wrong, classes) == pytest.approx(error)


def test_noise_is_told_when_it_matters() -> None:
    two = agreement(["yes"] * 50 + ["no"] * 50, ["yes"] * 40 + ["no"] * 60)
    assert "about 7.5 %, from 3.0 % to 12 %" in str(label_noise(two, (0.12, 0.08, 0.16), 2))
    assert label_noise(two, (0.12, 0.0, 0.9), 2) is None, "the interval is far wider than that"
    assert label_noise(agreement(["a"] * 9, ["b"] * 9), (0.1, 0.05, 0.15), 2) is None, "nine rows say little"
    assert label_noise(None, (0.1, 0.05, 0.15), 2) is None
    assert "nothing about the error" in str(label_noise(agreement(["a"] * 20, ["b"] * 20), (0.1, 0.05, 0.15), 2))

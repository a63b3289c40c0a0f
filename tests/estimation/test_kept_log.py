"""A long log of which some rows are kept gives the estimates of the whole log, and says how uncertain they are."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.measures import MEASURES
from unskew.kept import Kept
from unskew.sampling.diagnostics import balance, diagnose
from unskew.sampling.propensity import estimated_log, of_whole_log
from unskew.sampling.weights import thinness

ROWS, LABELLED, OTHERS = 6000, 300, 900


class World:
    """A log with a model's log-odds, and a way to keep some of its rows."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.margin = rng.normal(0.0, 2.0, ROWS)
        self.y = np.where(rng.random(ROWS) < expit(0.8 * self.margin + 0.2), 1.0, -1.0)
        self.q0 = np.where(self.margin > 0.0, 0.3, 0.05)
        self.z = rng.random(ROWS) < self.q0

    def log(self, rows: NDArray[np.int64], kept: Kept | None = None) -> LoggedData:
        y = np.where(self.z, self.y, np.nan)[rows]
        return LoggedData(self.margin[rows, None], y, q0=self.q0[rows], classes=(-1.0, 1.0), kept=kept)

    def everyone(self, rows: NDArray[np.int64], kept: Kept | None = None) -> Everyone:
        return Everyone(Design.of(self.log(rows, kept)), self.margin[rows], np.where(self.z, self.y, 0.0)[rows])

    @property
    def whole(self) -> Kept:
        return Kept(int(self.z.sum()), int((~self.z).sum()))

    def some(self, rng: np.random.Generator) -> NDArray[np.int64]:
        parts = (rng.choice(np.flatnonzero(self.z == bit), k, False) for bit, k in ((True, LABELLED), (False, OTHERS)))
        return np.concatenate(list(parts))


def test_a_log_of_which_all_rows_are_kept_is_any_log() -> None:
    world = World()
    log = world.log(np.arange(ROWS), world.whole)
    assert log.kept is None and log.counts is None and log.rows == log.m == ROWS
    assert log.chance is log.q0 and log.chance_here is log.q0


def test_estimates_are_right_on_average_and_say_how_far_they_stray() -> None:
    world, rng = World(), np.random.default_rng(1)
    whole = world.everyone(np.arange(ROWS))
    kept = [world.everyone(world.some(rng), world.whole) for _ in range(300)]
    for measure in ("error", "recall", "precision", "log_loss"):
        wanted, found = whole.estimate(measure), [one.estimate(measure) for one in kept]
        values, errors = (np.array([getattr(one, name) for one in found]) for name in ("value", "standard_error"))
        strays = values.std(ddof=1)
        assert abs(values.mean() - wanted.value) < 3.5 * strays / np.sqrt(len(kept)) + 0.002
        # The variance is that of the whole log, and what is added by keeping some rows
        assert errors.mean() ** 2 == pytest.approx(wanted.standard_error**2 + strays**2, rel=0.25)
        assert {one.labels for one in found} == {LABELLED}
        assert np.mean([one.flagged for one in found]) == pytest.approx(wanted.flagged, abs=0.003)


@pytest.mark.parametrize("measure", MEASURES)
def test_rows_that_occur_several_times_or_stand_for_others(measure: str) -> None:
    """Kept rows that stand for copies of themselves: the value is that of the log with the copies."""
    world = World(3)
    few = np.arange(500)
    z = world.z[few]
    kept = Kept(3 * int(z.sum()), 5 * int((~z).sum()))
    copies = np.concatenate([few, few, few, few[~z], few[~z]])
    some, all = world.everyone(few, kept), world.everyone(copies)
    vars(all)["calibration"] = some.calibration  # with three times the labels, it would be surer of itself
    held, whole = some.estimate(measure), all.estimate(measure)
    assert held.value == pytest.approx(whole.value, rel=1e-12)
    assert held.flagged == pytest.approx(whole.flagged) and held.standard_error > whole.standard_error


def test_a_wanted_recall_counts_rows_that_are_not_here() -> None:
    world, rng = World(), np.random.default_rng(2)
    thresholds = [world.everyone(world.some(rng), world.whole).costs_for(0.9).threshold for _ in range(20)]
    assert np.mean(thresholds) == pytest.approx(world.everyone(np.arange(ROWS)).costs_for(0.9).threshold, abs=0.02)


def test_diagnostics_are_those_of_the_whole_log() -> None:
    world, rng = World(), np.random.default_rng(4)
    whole = diagnose(world.log(np.arange(ROWS)))
    found = [diagnose(world.log(world.some(rng), world.whole)) for _ in range(200)]
    assert {(one.m, one.revealed) for one in found} == {(ROWS, whole.revealed)}
    assert np.mean([one.mean_weight for one in found]) == pytest.approx(whole.mean_weight, abs=0.02)
    assert np.mean([one.below_0_05 for one in found]) == whole.below_0_05 == 0.0
    assert np.mean([one.effective_labels for one in found]) == pytest.approx(whole.effective_labels, rel=0.02)
    assert sum(one.one_inside for one in found) > 185
    # Propensities are exact, so their calibration error is that of chance; a fixed number of rows is kept, so less
    assert 0.6 < np.mean([one.calibration_error / one.calibration_error_by_chance for one in found]) < 1.1


def test_wrong_propensities_are_seen_in_the_rows_that_are_kept() -> None:
    world, rng = World(), np.random.default_rng(5)
    right, wrong = [], []
    for _ in range(40):
        rows = world.some(rng)
        right.append(balance(world.log(rows, world.whole)))
        y = np.where(world.z, world.y, np.nan)[rows]
        share = world.z.mean()
        wrong.append(balance(LoggedData(world.margin[rows, None], y, q0=share, classes=(-1.0, 1.0), kept=world.whole)))
    assert np.mean(np.array(right) < 0.1) < 0.25 and max(wrong) < 1e-6


def test_propensities_are_estimated_for_the_whole_log() -> None:
    from sklearn.linear_model import LogisticRegression

    world, rng = World(), np.random.default_rng(6)
    rows = world.some(rng)
    y = np.where(world.z, world.y, np.nan)[rows]
    X = (world.margin[rows, None] > 0.0).astype(float)
    log, found = estimated_log(X, y, classes=(-1, 1), kept=world.whole, model=LogisticRegression(), random_state=0)
    assert log.q0_estimated and log.kept == world.whole
    for side, q0 in ((X[:, 0] > 0, 0.3), (X[:, 0] == 0, 0.05)):
        assert log.q0[side].mean() == pytest.approx(q0, rel=0.2) and found.q0[side].mean() > 1.2 * q0
    assert of_whole_log(found.q0, log.z, None) is found.q0


def test_weights_of_labels_are_those_of_the_whole_log() -> None:
    world, rng = World(), np.random.default_rng(7)
    log, kept = world.log(np.arange(ROWS)), world.log(world.some(rng), world.whole)
    bought = np.full(20, 0.05)
    whole = thinness(log.q0, np.repeat([0.3, 0.05], LABELLED // 2), bought, rate=LABELLED / log.labelled)
    found = thinness(kept.q0, np.repeat([0.3, 0.05], LABELLED // 2), bought, counts=kept.counts, rate=kept.rate)
    assert np.allclose(found, whole, rtol=0.02)


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (Kept(1, 10), "kept.labelled must be the number of labelled rows of the whole log; got 1 with 2"),
        (Kept(5, 0), "kept.unlabelled must be .* got 0 with 1 such rows here"),
    ],
)
def test_numbers_that_cannot_be(kept: Kept, told: str) -> None:
    with pytest.raises(InputError, match=told):
        LoggedData([[0.0], [1.0], [2.0]], y=[1, 0, None], q0=0.5, kept=kept)


def test_counts_need_a_value_for_each_row() -> None:
    with pytest.raises(InputError, match=r"log_counts must have one value per row of the log; got shape \(3,\) for 2"):
        Design([True, False], [0.5, 0.5], log_counts=np.ones(3))

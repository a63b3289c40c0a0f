"""Estimated propensities against simulated logs whose Q0 is known; diagnostics against what they claim."""

import json
import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from unskew import LoggedData
from unskew.errors import InputError
from unskew.sampling import policies, propensity
from unskew.sampling.diagnostics import diagnose
from unskew.sampling.propensity import estimate, estimated_log

PLAIN = LogisticRegression()  # where the test is not about the model, a fast one


def logistic(X):
    return np.maximum(0.005, expit(X[:, 0] - X[:, 1] + 0.5 * X[:, 2] - 1.0))


def steps(X):
    return np.where(X[:, 0] > 0.5, 0.8, np.where(X[:, 1] > 0.0, 0.3, 0.05))


def distance(kind):
    def Q0(X):
        y = np.where(X @ np.array([1.0, 1.0, -1.0, 0.5, 0.0]) > 0.0, 1.0, -1.0)
        return kind.fit(X, y)(X)

    return Q0


def drawn(Q0, m=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 5))
    q0 = Q0(X)
    return X, rng.random(m) < q0, q0


def log_ratio(found, q0):
    """Mean |log(found / q0)|: the typical relative error of a weight."""
    return np.abs(np.log(found / q0)).mean()


@pytest.mark.parametrize(
    ("Q0", "error", "correlation"),
    [
        # The standard error of log q0 in a logistic fit of the right form: sqrt(6 (1 - q0) / (m q0)), 0.08 at
        # the median q0 = 0.27 if all six directions counted at every row; selection among models adds to it.
        (logistic, 0.15, 0.98),
        # The jumps are blurred: a tenth of the rows near a threshold, off by log 6 there, is 0.18 already.
        (steps, 0.35, 0.96),
        # exp(-c r^2) and c r^4 run from 0.005 to 1 along one unknown direction; the reveal rate alone is off
        # by more than 2 (a factor of 8), and 0.45 is a factor of 1.6.
        (distance(policies.Uncertainty), 0.45, 0.95),
        (distance(policies.Certainty), 0.45, 0.96),
    ],
    ids=["logistic", "steps", "uncertainty", "certainty"],
)
def test_close_to_the_truth(Q0, error, correlation):
    X, z, q0 = drawn(Q0)
    found = estimate(X, z, folds=3, random_state=0)
    assert log_ratio(found.q0, q0) < error
    assert log_ratio(found.q0, q0) < 0.5 * log_ratio(z.mean(), q0)
    assert np.corrcoef(found.q0, q0)[0, 1] > correlation
    report = diagnose(LoggedData(X, z, z, found.q0, classes=(0, 1), q0_estimated=True))
    assert report.calibration_error < report.calibration_error_by_chance + 0.03
    # what Q0 says of the log's own rows has seen their z, but is about the same function
    assert log_ratio(found.Q0(X), q0) < error


def test_new_rows_get_the_same_function():
    X, z, _ = drawn(logistic)
    Q0 = estimate(X, z, model=PLAIN, random_state=0).Q0
    fresh, _, q0 = drawn(logistic, seed=1)
    assert log_ratio(Q0(fresh), q0) < 0.15
    assert np.array_equal(pickle.loads(pickle.dumps(Q0))(fresh), Q0(fresh))
    assert Q0(fresh[:0]).shape == (0,)
    with pytest.raises(InputError, match="the log's 5 features; got 2"):
        Q0(fresh[:, :2])


def test_weights_from_estimates_undo_the_selection():
    """The mean of a feature over everyone, from the revealed rows alone."""
    plain, weighted = [], []
    for seed in range(6):
        X, z, _ = drawn(logistic, 1000, seed)
        q0 = estimate(X, z, model=PLAIN, random_state=0).q0
        plain.append(X[z, 0].mean() - X[:, 0].mean())
        weighted.append(np.average(X[z, 0], weights=1.0 / q0[z]) - X[:, 0].mean())
    assert np.mean(plain) > 0.4
    assert abs(np.mean(weighted)) < 0.1


class Watchful(LogisticRegression):
    """Refuses to judge a row it was fitted to; the first column is the row's number."""

    def fit(self, X, y):
        self.seen_ = set(X[:, 0])
        return super().fit(X / len(X), y)

    def predict_proba(self, X):
        assert self.seen_.isdisjoint(X[:, 0])
        return super().predict_proba(X / len(X))


def test_no_model_judges_a_row_it_was_fitted_to():
    X, z, _ = drawn(logistic, 300)
    X[:, 0] = np.arange(300)
    assert estimate(X, z, model=Watchful(), random_state=0).q0.shape == (300,)


@pytest.mark.parametrize("model", [KNeighborsClassifier(1), DecisionTreeClassifier(random_state=0)])
def test_a_memorising_model_does_not_get_its_own_z_back(model):
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(2000, 3)), rng.random(2000) < 0.3
    assert model.fit(X, z).score(X, z) == 1.0
    found = estimate(X, z, model=model, random_state=0)
    assert abs(np.corrcoef(found.q0, z)[0, 1]) < 0.08  # noise: 1 / sqrt(2000) = 0.022
    assert log_ratio(found.q0, 0.3) < 0.15  # and calibration sees that there is nothing in it


def test_copies_share_a_fold():
    X, z, _ = drawn(logistic, 500)
    X[480:] = X[:20]
    z[480:] = z[:20]
    for rows in (X, sparse.csr_array(X)):
        fold = estimate(rows, z, model=PLAIN, random_state=0).fold
        assert np.array_equal(fold[480:], fold[:20])
        assert np.bincount(fold).min() > 85


def test_equal_rows_of_discrete_data_are_spread():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1000, 1)).astype(float)
    q0 = np.where(X[:, 0] == 1, 0.8, 0.2)
    found = estimate(X, rng.random(1000) < q0, model=PLAIN, random_state=0)
    assert np.unique(found.fold[X[:, 0] == 1]).tolist() == [0, 1, 2, 3, 4]
    assert log_ratio(found.q0, q0) < 0.15


def test_floor():
    X, z, _ = drawn(logistic)
    free = estimate(X, z, model=PLAIN, floor=1e-9, random_state=0)
    floored = estimate(X, z, model=PLAIN, floor=0.1, random_state=0)
    assert free.raised == 0 and free.q0.min() < 0.1
    assert floored.raised == (free.q0 < 0.1).sum() == (floored.q0 == 0.1).sum()
    assert np.array_equal(floored.q0, np.maximum(free.q0, 0.1))
    assert floored.Q0(X).min() == 0.1


def test_csr_equals_dense():
    X, z, _ = drawn(logistic, 200)
    X[np.abs(X) < 0.7] = 0.0
    dense, csr = (estimate(rows, z, folds=2, random_state=0) for rows in (X, sparse.csr_array(X)))
    assert np.array_equal(dense.q0, csr.q0)
    assert np.array_equal(dense.Q0(X), csr.Q0(sparse.csr_matrix(X)))


def test_wide_rows_stay_sparse():
    """Only the first of 400 columns matters, and it is common; the others are rare."""
    rng = np.random.default_rng(0)
    X = (rng.random((300, 400)) < 0.02).astype(float)
    X[:, 0] = rng.random(300) < 0.5
    z = rng.random(300) < np.where(X[:, 0] == 1, 0.9, 0.1)
    csr, dense = (estimate(rows, z, folds=2, random_state=0).q0 for rows in (sparse.csr_array(X), X))
    assert csr[X[:, 0] == 1].mean() > 3.0 * csr[X[:, 0] == 0].mean()
    assert np.allclose(csr, dense, rtol=1e-3)


def test_the_seed_decides():
    X, z, _ = drawn(logistic, 200)
    one, same = (estimate(X, z, folds=2, random_state=0) for _ in range(2))
    assert np.array_equal(one.q0, same.q0) and np.array_equal(one.fold, same.fold)
    assert not np.array_equal(one.fold, estimate(X, z, model=PLAIN, random_state=1).fold)


def test_every_row_revealed():
    found = estimate([[1.0], [2.0]], [1, 1])
    assert found.q0.tolist() == [1.0, 1.0] and found.raised == 0
    assert found.Q0(np.zeros((3, 1))).tolist() == [1.0] * 3


X, Z, _ = drawn(logistic, 100)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"z": np.zeros(100)}, "needs 10 distinct revealed rows and as many unrevealed; got 0"),
        ({"z": np.arange(100) < 3}, r"got 3 of the rarer kind among 100 rows.*pass q0=0\.03 to LoggedData"),
        ({"z": np.arange(100) >= 3}, r"got 3 of the rarer kind"),
        ({"X": X[:4], "z": [1, 0, 1, 0]}, "got 2 of the rarer kind among 4 rows"),
        ({"X": np.vstack([X[:1]] * 10 + [X[:95]]), "z": np.arange(105) < 10}, "got 1 of the rarer kind"),
        ({"folds": 40}, "needs 80 distinct revealed rows"),
        ({"folds": 1}, "folds must be at least 2; got 1"),
        ({"floor": 0.0}, r"floor must be in \(0, 1\]; got 0\.0"),
        ({"z": np.full(100, 2)}, "z must be 0 or 1; got 2 at row 0"),
        ({"z": [1, 0]}, r"z must have one value per row of X; got shape \(2,\) for 100 rows"),
        ({"X": np.full((100, 2), np.nan)}, "X must be finite"),
        ({"model": SVC()}, r"model must have predict_proba; got SVC\(\)"),
    ],
)
def test_refusals(changed, message):
    with pytest.raises(InputError, match=message) as caught:
        estimate(**({"X": X, "z": Z, "model": PLAIN} | changed))
    assert "\n" not in str(caught.value)


def test_ten_of_each_kind_are_enough():
    q0 = estimate(X[:20], np.arange(20) % 2, random_state=0).q0
    assert ((q0 > 0.0) & (q0 <= 1.0)).all()
    assert estimate(X[:20], np.arange(20) % 2, folds=2, model=PLAIN, random_state=0).q0.shape == (20,)


def test_estimated_log():
    y = np.where(Z, np.where(X[:, 3] > 0, "paid", "default"), None)
    log, found = estimated_log(X, y, model=PLAIN, floor=0.2, random_state=0)
    assert log.q0_estimated and np.array_equal(log.q0, found.q0) and log.q0.min() == 0.2
    assert np.array_equal(log.z, Z) and log.classes.tolist() == ["default", "paid"]
    assert np.array_equal(found.q0, estimate(X, Z, model=PLAIN, floor=0.2, random_state=0).q0)
    # z decides where y holds more, and classes may be named
    log, _ = estimated_log(X, np.ones(100), Z, classes=(0, 1), model=PLAIN, random_state=0)
    assert np.array_equal(log.z, Z) and (log.y[~log.z] == 0.0).all()
    assert not LoggedData(X, np.ones(100), Z, 0.5, classes=(0, 1)).q0_estimated


def log_of(X, z, q0, **given):
    return LoggedData(X, z, z, q0, classes=(0, 1), **given)


def test_diagnostics_by_hand():
    log = log_of(np.zeros((8, 1)), [1, 1, 0, 0, 1, 0, 0, 0], [0.5] * 4 + [0.25] * 2 + [0.005] * 2)
    report = diagnose(log)
    assert (report.m, report.revealed, report.q0_estimated) == (8, 3, False)
    assert (report.least_q0, report.at_least_q0, report.below_0_01, report.below_0_05) == (0.005, 2, 0.25, 0.25)
    assert report.effective_labels == pytest.approx(8.0**2 / (4 + 4 + 16))
    half = 1.96 * np.sqrt(4 * 1.0 + 2 * 3.0 + 2 * 199.0) / 8  # Var(z/q0) = 1/q0 - 1
    assert report.mean_weight == 1.0 and report.interval == pytest.approx((1.0 - half, 1.0 + half))
    assert [(b.rows, b.q0, b.rate) for b in report.bins] == [(2, 0.005, 0.0), (2, 0.25, 0.5), (4, 0.5, 0.5)]
    assert report.calibration_error == pytest.approx((2 * 0.005 + 2 * 0.25) / 8)


def test_diagnostics_can_be_read_and_stored():
    report = diagnose(log_of(X, Z, 0.3))
    text = str(report)
    assert text.splitlines() == report.summary() and "q0 given" in text and f"of {report.m} rows revealed" in text
    assert len(report.bins) == 1  # one q0, one bin
    stored = json.loads(json.dumps(report.as_dict()))
    assert stored["one_inside"] is report.one_inside and stored["bins"][0]["rows"] == 100
    assert "q0 estimated" in str(diagnose(log_of(X, Z, 0.3, q0_estimated=True)))
    none = diagnose(log_of(X, np.zeros(100), 0.3))
    assert none.mean_weight == none.effective_labels == 0.0 and "does NOT contain 1" in str(none)


def rarely(X):
    return np.where(X[:, 0] > 0.5, 0.8, 0.005)


@pytest.mark.parametrize(("Q0", "m"), [(steps, 2000), (rarely, 500)])
def test_exact_propensities_pass(Q0, m):
    """1 is inside in about 95 of 100 logs (88 or fewer: chance 0.003), and calibration is off by chance alone.

    Also where a mere two rows of small q0 are revealed in a log, often none.
    """
    reports = [diagnose(log_of(*drawn(Q0, m, seed))) for seed in range(100)]
    assert sum(report.one_inside for report in reports) >= 89
    error, by_chance = (
        [getattr(r, name) for r in reports] for name in ("calibration_error", "calibration_error_by_chance")
    )
    assert np.mean(error) == pytest.approx(np.mean(by_chance), rel=0.1)


def test_estimated_propensities_pass_when_the_model_fits():
    reports = []
    for seed in range(12):
        X, z, _ = drawn(logistic, 1000, seed)
        q0 = estimate(X, z, model=PLAIN, random_state=0).q0
        reports.append(diagnose(log_of(X, z, q0, q0_estimated=True)))
    assert sum(report.one_inside for report in reports) >= 10
    assert np.mean([report.mean_weight for report in reports]) == pytest.approx(1.0, abs=0.05)


def test_wrong_propensities_are_reported():
    X, z, q0 = drawn(steps)
    halved = diagnose(log_of(X, z, q0 / 2.0))
    assert not halved.one_inside and halved.mean_weight == pytest.approx(2.0, rel=0.1)
    shuffled = diagnose(log_of(X, z, np.random.default_rng(0).permutation(q0)))
    for report in (halved, shuffled):
        assert not report.one_inside
        assert report.calibration_error > 5.0 * report.calibration_error_by_chance


def test_too_plain_a_model_is_not_always_caught():
    """The reveal rate for every row satisfies both checks: they say nothing of what a model leaves out."""
    X, z, q0 = drawn(steps)
    report = diagnose(log_of(X, z, z.mean()))
    assert report.one_inside and report.calibration_error < 1e-12
    assert log_ratio(z.mean(), q0) > 0.5


@pytest.mark.parametrize("share", [0.02, 0.3, 0.95])
def test_models_of_a_long_log_are_fitted_to_some_of_its_rows(monkeypatch, share):
    monkeypatch.setattr(propensity, "FITTED_ROWS", 1000)
    m = 8000 if share > 0.1 else 60_000
    X = np.random.default_rng(0).normal(size=(m, 3))
    q0 = share * np.where(X[:, 0] > 0.0, 1.0, 0.5)
    z = np.random.default_rng(1).random(m) < q0
    signs = (X > 0.0).astype(float)
    found = estimate(signs, z, model=PLAIN, random_state=0)
    fitted = found.fold >= 0
    few = min(500, z.sum(), (~z).sum())
    assert fitted.sum() == 1000 and sorted((z[fitted].sum(), (~z)[fitted].sum())) == [few, 1000 - few]
    assert log_ratio(found.q0, q0) < 0.15 and found.q0.mean() == pytest.approx(z.mean(), rel=0.1)
    assert np.array_equal(found.Q0(signs[~fitted]), found.q0[~fitted])
    again = estimate(signs, z, model=PLAIN, random_state=0)
    assert np.array_equal(again.q0, found.q0) and pickle.loads(pickle.dumps(found.Q0))(signs[:5]).shape == (5,)

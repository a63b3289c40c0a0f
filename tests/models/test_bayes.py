"""`BayesianLogistic`: the prior it chooses, its probabilities, its updates, and every refusal."""

from copy import copy

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import NotFittedError

from unskew.errors import InputError
from unskew.models import bayes, inputs
from unskew.models.bayes import STEPS, BayesianLogistic, Prior
from unskew.models.laplace import posterior


@pytest.fixture
def line():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    p = expit(2.0 * X[:, 0])
    return X, np.where(rng.random(3000) < p, 1.0, -1.0), p


def test_evidence_switches_the_curve_on_and_off():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (400, 5))
    disc = (X[:, :2] ** 2).sum(axis=1) > 0.6
    linear = BayesianLogistic(random_state=0).fit(X, X[:, 0] + 0.3 * rng.normal(size=400) > 0)
    curved = BayesianLogistic(random_state=0).fit(X, disc)
    assert linear.prior_.fourier < 1.0 < curved.prior_.fourier
    assert curved.score(X, disc) > 0.9


def test_no_neighbouring_prior_has_more_evidence(line):
    X, y, _ = line
    model = BayesianLogistic(random_state=0).prepare(X, np.array([-1, 1]))
    model.update(X[:40], y[:40], np.ones(40), choose=True)
    kept, sizes = model.prior_, model.features_.sizes
    for name in ("linear", "fourier"):
        k = STEPS[name].index(getattr(kept, name))
        for value in STEPS[name][max(k - 1, 0) : k + 2]:
            tried = Prior(**{**vars(kept), name: value})
            found = posterior(model.features_(X[:40], tried.width), y[:40], np.ones(40), tried.precision(sizes))
            assert found.evidence <= model.posterior_.evidence + 2e-3
    model.update(X[:60], y[:60], np.ones(60), choose=False)
    assert model.prior_ == kept


def test_probabilities_are_calibrated_on_a_noisy_line(line):
    X, y, p = line
    model = BayesianLogistic(random_state=0).fit(X[:600], y[:600])
    assert np.abs(model.predict_proba(X[600:])[:, 1] - p[600:]).mean() < 0.06


def test_probabilities_average_over_the_posterior(line):
    """MacKay's formula beside a mean over draws of the coefficients; both are closer to 1/2 than the mean margin's."""
    X, y, _ = line
    model = BayesianLogistic(random_state=0).fit(X[:25], y[:25])
    F, found = model.expand(X[25:225]), model.posterior_
    draws = found.mode[:, None] + found.inverse_root().T @ np.random.default_rng(0).normal(size=(len(found.mode), 4000))
    averaged, p = expit(F @ draws).mean(axis=1), model.predict_proba(X[25:225])
    np.testing.assert_allclose(p[:, 1], averaged, atol=0.03)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    mean = model.margin(X[25:225])
    np.testing.assert_array_equal(mean, model.belief(X[25:225]).mu)
    assert np.all(np.abs(p[:, 1] - 0.5) < np.abs(expit(mean) - 0.5))
    np.testing.assert_allclose(model.decision_function(X[25:225]), np.log(p[:, 1]) - np.log(p[:, 0]), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X[25:225]), np.where(p[:, 1] >= 0.5, 1.0, -1.0))


def test_blocks_do_not_change_the_answers(line, monkeypatch):
    X, y, _ = line
    model = BayesianLogistic(random_state=0).fit(X[:50], y[:50])
    whole = model.margin(X), model.predict_proba(X)
    monkeypatch.setattr(inputs, "BLOCK", 7)
    np.testing.assert_allclose(model.margin(X), whole[0], rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), whole[1], rtol=1e-9)
    assert model.predict_proba(X[:0]).shape == (0, 2)


@pytest.mark.parametrize("columns", [3, 450])
def test_dense_and_sparse_rows_give_the_same_model(columns):
    X = sparse.random_array((80, columns), density=0.3, random_state=0, format="csr")
    y = X[:, [0]].toarray()[:, 0] > 0.2
    dense, csr = (BayesianLogistic(random_state=0).fit(rows, y) for rows in (X.toarray(), X))
    np.testing.assert_allclose(dense.margin(X.toarray()), csr.margin(X), rtol=1e-9, atol=1e-12)


def test_a_later_update_does_not_change_the_model_handed_out(line):
    X, y, _ = line
    model = BayesianLogistic(random_state=0).prepare(X, np.array([-1, 1]))
    model.update(X[:20], y[:20], np.ones(20), choose=True)
    handed_out = model.model
    said = handed_out.margin(X)
    model.update(X[:200], -y[:200], np.ones(200), choose=True)
    np.testing.assert_array_equal(handed_out.margin(X), said)
    assert not np.allclose(model.margin(X), said)


def test_no_label_yet(line):
    X, _, _ = line
    for rows in (X, sparse.random_array((50, 450), density=0.1, random_state=0, format="csr")):
        model = BayesianLogistic(random_state=0).prepare(rows, np.array(["no", "yes"]))
        with pytest.raises(NotFittedError):
            model.predict(rows)
        model.update(rows[:0], np.zeros(0), np.zeros(0), choose=True)
        np.testing.assert_array_equal(model.predict_proba(rows), 0.5)


@pytest.mark.parametrize("fails_at", range(1, 6))
def test_a_failed_update_leaves_the_model_as_it_was(line, monkeypatch, fails_at):
    """The search tries one prior after the other; memory may run out at any of them."""
    X, y, _ = line
    model = BayesianLogistic(random_state=0).prepare(X, np.array([-1, 1]))
    model.update(X[:30], y[:30], np.ones(30), choose=True)
    twin, before, tried = copy(model), dict(vars(model)), []

    def runs_out(*args):
        tried.append(args)
        if len(tried) == fails_at:
            raise MemoryError
        return posterior(*args)

    curved = np.where((X[:400] ** 2).sum(axis=1) > 1.0, 1.0, -1.0)  # moves the prior at once
    monkeypatch.setattr(bayes, "posterior", runs_out)
    with pytest.raises(MemoryError):
        model.update(X[:400], curved, np.ones(400), choose=True)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    monkeypatch.undo()
    for one in (model, twin):
        one.update(X[:400], curved, np.ones(400), choose=True)
    np.testing.assert_array_equal(model.margin(X), twin.margin(X))


def test_a_failed_fit_leaves_the_model_as_it_was(line, monkeypatch):
    X, y, _ = line
    model = BayesianLogistic(random_state=0).fit(X[:50], y[:50])
    said = model.margin(X)

    def runs_out(*_):
        raise MemoryError

    monkeypatch.setattr(bayes, "posterior", runs_out)
    with pytest.raises(MemoryError):
        model.fit(X[:500], -y[:500])
    np.testing.assert_array_equal(model.margin(X), said)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: m.fit(np.eye(3), [1, 1, 1]), "y must show two classes; got one class: 1. Add rows"),
        (lambda m: m.fit(np.eye(3), [0, 1, 1], [0, 1, 1]), "got one class: 1"),
        (lambda m: m.fit(np.eye(3), [0, 1]), r"X and y must have one entry per row: .*\[3, 2\]. Align them"),
        (
            lambda m: m.fit(np.eye(2), [0, 1], [1.0, -1.0]),
            "sample_weight must be 0 or more and finite; got -1.0 at row 1",
        ),
        (lambda m: m.fit(np.eye(2), [0, 1], [1.0, np.nan]), "got nan at row 1"),
        (lambda m: m.fit(np.eye(2), [0, 1], [1.0]), r"one value per row of X; got shape \(1,\) for 2 rows"),
        (lambda m: m.fit(np.eye(2), [0, 1], [0.0, 0.0]), "must not be zero for every row"),
        (lambda m: m.fit([[1.0, np.nan], [0.0, 1.0]], [0, 1]), "got nan at row 0, column 1. Impute or drop"),
        (lambda m: m.fit(np.eye(2), [0, 1]).predict([[0.0, -np.inf]]), "got -inf at row 0, column 1"),
        (lambda m: m.set_params(frequencies=0).fit(np.eye(2), [0, 1]), "frequencies must be .* at least 1; got 0"),
        (lambda m: m.set_params(frequencies=2.5).prepare(np.eye(2), [0, 1]), "got 2.5. Try 100"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(InputError, match=says) as error:
        call(BayesianLogistic())
    assert "\n" not in str(error.value)


def test_another_number_of_features():
    with pytest.raises(ValueError, match="X has 3 features, but BayesianLogistic is expecting 2"):
        BayesianLogistic().fit(np.eye(2), [0, 1]).predict(np.eye(3))


@pytest.mark.parametrize("ask", ["predict", "predict_proba", "decision_function", "margin"])
def test_an_unfitted_model_says_so(ask):
    with pytest.raises(NotFittedError):
        getattr(BayesianLogistic(), ask)(np.eye(2))

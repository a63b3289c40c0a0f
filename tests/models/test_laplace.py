"""The posterior and its evidence, beside other ways to compute them."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from unskew.models.laplace import leave_one_out, posterior


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    F, v = rng.normal(size=(80, 3)), rng.uniform(0.5, 2.0, 80)
    return F, np.where(F[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0), v


def test_posterior_is_the_ridge_solution(sample):
    F, y, v = sample
    ours = posterior(F, y, v, np.full(3, 0.5))
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(F, y, sample_weight=v)
    np.testing.assert_allclose(ours.mode, theirs.coef_[0], rtol=1e-4)
    p = expit(F @ ours.mode)
    H = (F.T * (v * p * (1 - p))) @ F + 0.5 * np.eye(3)
    np.testing.assert_allclose(ours.deviation(F) ** 2, np.einsum("ij,jk,ik->i", F, np.linalg.inv(H), F), rtol=1e-4)
    np.testing.assert_allclose(ours.inverse_root() @ F.T, ours.root(F), atol=1e-12)


def test_the_start_does_not_matter(sample):
    F, y, v = sample
    zero, far = (posterior(F, y, v, np.ones(3), start) for start in (None, np.array([30.0, -20.0, 5.0])))
    np.testing.assert_allclose(far.mode, zero.mode, atol=1e-4)
    assert far.evidence == pytest.approx(zero.evidence, abs=1e-5)


def test_evidence_of_no_label_is_zero():
    assert posterior(np.zeros((0, 4)), np.zeros(0), np.zeros(0), np.full(4, 3.0)).evidence == pytest.approx(0.0)


def test_evidence_is_the_probability_of_the_labels():
    """With one coefficient the integral over it can be done by a sum over a grid."""
    rng = np.random.default_rng(1)
    f = rng.normal(size=(60, 1))
    y = np.where(rng.random(60) < expit(f[:, 0]), 1.0, -1.0)
    for precision in (0.2, 1.0, 5.0):
        w = np.linspace(-8.0, 8.0, 4001)
        log_likelihood = -np.logaddexp(0.0, -y[:, None] * f * w).sum(axis=0)
        log_prior = 0.5 * np.log(precision / (2.0 * np.pi)) - 0.5 * precision * w**2
        exact = np.log(np.exp(log_likelihood + log_prior).sum() * (w[1] - w[0]))
        assert posterior(f, y, np.ones(60), np.full(1, precision)).evidence == pytest.approx(exact, abs=0.05)


def test_leaving_one_out_is_close_to_a_refit(sample):
    F, y, v = sample
    found, _ = leave_one_out(F, y, v, posterior(F, y, v, np.ones(3)))
    others = ~np.eye(80, dtype=bool)
    refitted = [F[i] @ posterior(F[keep], y[keep], v[keep], np.ones(3)).mode for i, keep in enumerate(others)]
    np.testing.assert_allclose(found, refitted, atol=0.06)
    assert np.abs(found - posterior(F, y, v, np.ones(3)).mean(F)).max() > 0.15, "some rows depend on their label"

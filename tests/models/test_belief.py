"""The rule by which rows are picked, beside the sums as they stand in the docstring of `unskew.models.belief`."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from unskew.models.bayes import BayesianLogistic
from unskew.models.belief import Belief, at_stake, doubtful, foremost, pick, settled


@pytest.fixture
def margins():
    rng = np.random.default_rng(1)
    return rng.normal(size=40), rng.normal(size=(40, 6)) * rng.uniform(0.2, 3.0, (40, 1))


def plain(mu, C, aims_C=None):
    """Row by row: sum_t e_t c_i C_it^2 / ((1 + c_i s_i^2) s_t^2), e_t and s_t before any label of the batch."""
    first = C if aims_C is None else aims_C
    s = np.sqrt(np.diag(first))
    e, c = norm.cdf(-np.abs(mu) / s), expit(mu) * expit(-mu)
    return np.array(
        [sum(e[t] * c[i] * C[i, t] ** 2 / ((1 + c[i] * C[i, i]) * s[t] ** 2) for t in range(len(mu)))
         for i in range(len(mu))]
    ) / len(mu)  # fmt: skip


def labelled(C, c, i):
    """The covariance of all margins once row i is labelled."""
    return C - c[i] / (1.0 + c[i] * C[i, i]) * np.outer(C[:, i], C[i])


def test_what_a_label_settles_is_the_sum_over_rows(margins):
    mu, U = margins
    assert settled(mu, U, at_stake(mu, U)) == pytest.approx(plain(mu, U @ U.T))


def test_a_batch_is_picked_as_if_labelled_one_by_one(margins):
    mu, U = margins
    C = first = U @ U.T
    c, one_by_one = expit(mu) * expit(-mu), []
    for _ in range(8):
        worth = plain(mu, C, first)
        worth[one_by_one] = -1.0
        i = int(np.argmax(worth))
        one_by_one.append(i)
        C = labelled(C, c, i)
    assert pick([(mu, U, at_stake(mu, U))], 8).tolist() == one_by_one


def test_doubtful_rows_are_picked_as_if_labelled_one_by_one(margins):
    mu, U = margins
    C, c, one_by_one = U @ U.T, expit(mu) * expit(-mu), []
    for _ in range(8):
        doubt = np.abs(mu) / np.sqrt(np.diag(C))
        doubt[one_by_one] = np.inf
        i = int(np.argmin(doubt))
        one_by_one.append(i)
        C = labelled(C, c, i)
    assert doubtful(Belief(mu, lambda rows: U.T[:, rows]), 8).tolist() == one_by_one


def test_the_foremost_are_those_with_the_highest_scores():
    score = np.random.default_rng(0).permutation(1000).astype(float)
    assert foremost(score, 15).tolist() == np.flatnonzero(score >= 1000 - 300).tolist()  # 20 for each of 15
    assert foremost(score, 2).tolist() == np.flatnonzero(score >= 1000 - 200).tolist()  # at least 200
    assert foremost(score[:50], 2).tolist() == list(range(50))


def test_labels_go_where_many_rows_are_in_doubt():
    """Two unknown groups, equally unknown; one holds nine rows of ten."""
    U = np.repeat([[3.0, 0.0], [0.0, 3.0]], [10, 90], axis=0) + 0.0
    assert pick([(np.zeros(100), U, at_stake(np.zeros(100), U))], 1)[0] >= 10


def test_a_glance_agrees_with_a_close_look():
    X = np.random.default_rng(0).normal(size=(5000, 5)) + 100.0
    model = BayesianLogistic(random_state=0).fit(X[:300], (X[:300, 0] > 100) ^ (X[:300, 1] > 101))
    mu, U = model.glance(X)
    belief = model.belief(X)
    assert model.prior_.fourier > 0.0 and mu.dtype == U.dtype == np.float32
    assert mu == pytest.approx(belief.mu, abs=1e-3)
    assert np.linalg.norm(U, axis=1) == pytest.approx(belief.deviation(), rel=1e-3)


def test_wanted_rows_are_the_best_of_the_whole_pool():
    """The glance leaves out no row that an exact comparison of all rows would pick."""
    X = np.random.default_rng(0).normal(size=(900, 3))
    model = BayesianLogistic(random_state=0).fit(X[:60], X[:60, 0] > 0.3 * X[:60, 1])
    belief = model.belief(X)
    U = belief.root(np.arange(900)).T
    exact = pick([(belief.mu, U, at_stake(belief.mu, U))], 6)
    assert model.wanted(X, 6, np.random.default_rng(0)).tolist() == exact.tolist()

"""Logging policies: the values of the protocol, deterministic in x, seeded where drawn."""

import math

import numpy as np
import pytest
from scipy import sparse

from unskew.errors import InputError
from unskew.models.linear import LinearClassifier
from unskew.sampling import policies

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (3000, 5))
Y = np.where(X[:, 0] + 0.1 * RNG.standard_normal(3000) > 0, 1.0, -1.0)


def test_identical():
    assert policies.Identical()(X).tolist() == [0.005] * len(X)


def test_uniform_is_a_hash_with_three_equal_groups():
    Q0 = policies.Uniform.draw(5, 7)
    q0 = Q0(X)
    assert set(q0) == {0.005, 0.05, 0.5}
    for value in (0.005, 0.05, 0.5):
        assert np.mean(q0 == value) == pytest.approx(1 / 3, abs=0.03)
    assert np.array_equal(q0[::-1], Q0(X[::-1]))  # a function of the row alone
    assert np.array_equal(q0, policies.Uniform.draw(5, 7)(X))
    assert not np.array_equal(q0, policies.Uniform.draw(5, 8)(X))
    assert abs(np.corrcoef(q0, Y)[0, 1]) < 0.05


def test_uniform_modulus_is_not_negative():
    Q0 = policies.Uniform(np.array([1.0]))
    assert Q0(np.array([[-1e-5], [-2e-5], [0.0], [1e-5 * 1.5]])).tolist() == [0.5, 0.05, 0.005, 0.05]


def test_uncertainty_and_certainty_follow_the_distance():
    """The sample that sets s is the last 400 rows: a third of them at or below it, or at or above."""
    near = policies.Uncertainty.fit(X, Y)
    assert np.linalg.norm(near.w) == pytest.approx(1.0) and near.w[0] > 0.9
    r2 = (X @ near.w) ** 2
    assert near.s == np.sort(r2[-400:])[133]
    np.testing.assert_allclose(near(X), np.maximum(0.005, np.exp(math.log(0.1) * r2 / near.s)))
    far = policies.Certainty.fit(X, Y)
    assert far.s == np.sort(r2[-400:])[266]
    np.testing.assert_allclose(far(X), np.clip(0.1 * r2**2 / far.s**2, 0.005, 1.0))
    text = policies.Certainty.fit(X, Y, variant="paper")
    np.testing.assert_allclose(text(X), np.clip(0.1 * r2 / text.s, 0.005, 1.0))
    for Q0 in (near, far, text):
        assert Q0(X).min() >= 0.005 and Q0(X).max() <= 1.0


def bent():
    """Eight groups around random centres, one of them labelled against the rule the others follow."""
    rng = np.random.default_rng(4)
    centres = rng.uniform(-1.0, 1.0, (8, 6))
    group = rng.integers(8, size=4000)
    rows = centres[group] + 0.1 * rng.standard_normal((4000, 6))
    y = np.sign(rows @ rng.standard_normal(6))
    y[group == 3] *= -1.0
    return rows, y, group == 3


def test_blind_spot_is_one_cluster_hardly_ever_labelled():
    Q0 = policies.BlindSpotPolicy.fit(X, Y, 7)
    q0 = Q0(X)
    assert set(q0) == {0.005, 0.5}
    assert 0.05 <= np.mean(q0 == 0.005) <= 0.25
    assert np.array_equal(q0[::-1], Q0(X[::-1]))  # a function of the row alone
    assert np.array_equal(q0, policies.BlindSpotPolicy.fit(X, Y, 7)(X))
    assert not np.array_equal(q0, policies.BlindSpotPolicy.fit(X, Y, 8)(X))
    a, b = X[q0 == 0.005][:-1], X[q0 == 0.005][1:]
    for share in (0.25, 0.5, 0.75):  # connected: the straight line between two of its rows stays inside
        assert np.all(Q0(share * a + (1.0 - share) * b) == 0.005)


def test_blind_spot_lies_where_a_model_without_its_labels_is_wrong():
    rows, y, hidden = bent()
    blind = policies.BlindSpotPolicy.fit(rows, y, 0)(rows) == 0.005
    assert np.mean(blind == hidden) > 0.9
    naive = LinearClassifier(random_state=0).fit(rows[~blind], y[~blind])
    inside, outside = (1.0 - naive.score(rows[at], y[at]) for at in (blind, ~blind))
    assert inside > outside + 0.3
    X_half = np.vstack([rows[hidden][:40], rows[~hidden][:40]])  # far fewer rows than the sample
    assert set(policies.BlindSpotPolicy.fit(X_half, np.repeat([1.0, -1.0], 40), 0)(X_half)) == {0.005, 0.5}


def test_blind_spot_without_a_cluster_of_the_right_size():
    """Where every cluster is too small or too large, the one nearest to an eighth is taken."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(0.0, 1e-3, (970, 2)), 10.0 * rng.standard_normal((30, 2))])
    q0 = policies.BlindSpotPolicy.fit(rows, np.sign(rows[:, 0] + 1e-9), 0)(rows)
    assert 0 < np.count_nonzero(q0 == 0.005) < 50


def test_blind_spot_needs_rows_that_differ():
    with pytest.raises(InputError, match="8 different rows; got 2"):
        policies.BlindSpotPolicy.fit(np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0), np.repeat([1.0, -1.0], 50), 0)


def test_csr_rows():
    blind = policies.BlindSpotPolicy.fit(sparse.csr_array(X), Y, 2)
    assert np.array_equal(blind(sparse.csr_array(X)), policies.BlindSpotPolicy.fit(X, Y, 2)(X))
    for Q0 in (policies.Uniform.draw(5, 1), policies.Uncertainty.fit(X, Y)):
        np.testing.assert_allclose(Q0(sparse.csr_array(X)), Q0(X))


@pytest.mark.parametrize("policy", [policies.Uncertainty, policies.Certainty])
def test_most_rows_on_the_coarse_boundary_are_refused(policy):
    """s would be 0, and every probability NaN."""
    rows = np.zeros((1000, 2))
    rows[::5] = 1.0
    with pytest.raises(InputError, match=r"s, entry \d+ of 400 sorted squared distances .* got 0\.0"):
        policy.fit(rows, np.where(rows[:, 0] > 0, 1.0, -1.0))


def test_by_name():
    for name in policies.ALL_POLICIES:
        q0 = policies.make(name, X, Y, np.random.default_rng(3))(X)
        assert q0.shape == (len(X),) and q0.min() >= 0.005
    with pytest.raises(InputError, match="did you mean 'certainty'"):
        policies.make("certanty", X, Y, np.random.default_rng(0))
    with pytest.raises(InputError, match="did you mean 'blind-spot'"):
        policies.make("blindspot", X, Y, np.random.default_rng(0))
    with pytest.raises(InputError, match="unknown variant 'text'"):
        policies.Certainty.fit(X, Y, variant="text")
    with pytest.raises(InputError, match="not all zeros among the first 300"):
        policies.Uncertainty.fit(np.zeros((3000, 5)), Y)

"""Equations 1 and 2, whose weights are `unskew.sampling.weights`: unbiased over every outcome, and how they vary."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.sampling import weights


class Tiny:
    """A population on a few points, a fixed classifier's loss, and sources of a few rows each."""

    def __init__(self, p, error, Q, sizes):
        self.p, self.error = np.asarray(p), np.asarray(error)  # error(x) = Pr(h(x) != y | x)
        self.Q, self.sizes = np.asarray(Q), tuple(sizes)  # Q[b, x]
        self.source = np.repeat(np.arange(len(sizes)), sizes)

    def outcomes(self):
        """Every (x, loss, z) of all rows with its probability."""
        points = range(len(self.p))
        for rows in product(product(points, (0, 1), (0, 1)), repeat=len(self.source)):
            x, loss, z = (np.array(column) for column in zip(*rows, strict=True))
            e, q = self.error[x], self.Q[self.source, x]
            chance = np.prod(self.p[x] * np.where(loss, e, 1 - e) * np.where(z, q, 1 - q))
            if chance > 0.0:
                yield chance, x, loss, z

    def estimates(self, weight):
        """Exact mean and variance of the mean of z v loss over all rows, v = weight(tiny, x)."""
        chances, values = [], []
        for chance, x, loss, z in self.outcomes():
            seen = z.astype(bool)
            v = np.zeros(len(x))
            if seen.any():
                v[seen] = weight(self, x[seen], self.source[seen])
            chances.append(chance)
            values.append(np.mean(v * loss))
        mean = np.dot(chances, values)
        return mean, np.dot(chances, (np.array(values) - mean) ** 2)

    @property
    def l(self):  # noqa: E743
        return self.p @ self.error


def by_is(tiny, x, source):
    """Eq. 1: one over the probability with which the row's own source reveals it."""
    return weights.importance(tiny.Q[source, x])


def by_mis(tiny, x, source):
    """Eq. 2: the mixture of all sources, whichever revealed the row."""
    return weights.mixture(tiny.sizes, tiny.Q[:, x])


TINY = [
    Tiny([0.3, 0.7], [0.2, 0.6], [[0.1, 0.9], [1.0, 0.5]], (2, 2)),
    Tiny([0.5, 0.5], [1.0, 0.3], [[0.2, 0.4], [1.0, 0.0]], (3, 1)),  # the second policy never looks at point 1
    Tiny([0.2, 0.3, 0.5], [0.1, 0.5, 0.9], [[0.2, 0.6, 1.0], [1.0, 0.3, 0.0], [0.0, 1.0, 0.0]], (1, 1, 1)),
]


@pytest.mark.parametrize("tiny", TINY)
def test_mis_is_unbiased_over_all_outcomes(tiny):
    mean, variance = tiny.estimates(by_mis)
    assert mean == pytest.approx(tiny.l)
    assert variance == pytest.approx(exact_variance_mis(tiny.p, tiny.error, tiny.Q, tiny.sizes))


def test_is_is_unbiased_over_all_outcomes():
    tiny = TINY[0]
    mean, variance = tiny.estimates(by_is)
    assert mean == pytest.approx(tiny.l)
    assert variance == pytest.approx(exact_variance_is(tiny.p, tiny.error, tiny.Q, tiny.sizes))


def exact_variance_mis(p, second, Q, sizes, first=None):
    """E[f^2 / S] - sum_b n_b E[Q_b f / S]^2, S = sum_b n_b Q_b; `first`, `second` are E[f | x], E[f^2 | x]."""
    first = second if first is None else first
    n, reached = np.asarray(sizes), np.asarray(sizes) @ Q
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(reached > 0, 1 / reached, 0.0)
    return (p * second * share).sum() - (n * ((p * first * share) @ Q.T) ** 2).sum()


def exact_variance_is(p, second, Q, sizes, first=None):
    """sum_b n_b (E[f^2 / Q_b] - l^2) / N^2."""
    first = second if first is None else first
    n = np.asarray(sizes)
    return (n * ((p * second / Q).sum(axis=1) - (p @ first) ** 2)).sum() / n.sum() ** 2


unit = st.floats(0.01, 1.0)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mis_variance_is_never_above_that_of_is_whatever_the_loss(data):
    points, sources = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    column = st.lists(unit, min_size=points, max_size=points)
    p = np.array(data.draw(column))
    p /= p.sum()
    Q = np.array([data.draw(column) for _ in range(sources)])
    sizes = data.draw(st.lists(st.integers(1, 100), min_size=sources, max_size=sources))
    first = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=points, max_size=points)))  # any loss, any sign
    second = first**2 + np.array(data.draw(column))
    mis, plain = (f(p, second, Q, sizes, first) for f in (exact_variance_mis, exact_variance_is))
    assert mis <= plain + 1e-9 * max(1.0, plain)
    # Against one source alone the paper claims the same; what holds has an additive term.
    alone = exact_variance_is(p, second, Q[:1], sizes[:1], first)
    assert mis <= alone + (p @ first) ** 2 * (1 / sizes[0] - 1 / sum(sizes)) + 1e-9 * max(1.0, alone)


def test_mis_can_vary_more_than_the_stream_alone():
    """A classifier that is always wrong: the fully labelled stream says so without error, the mixture does not."""
    p, wrong, Q = np.array([1.0]), np.array([1.0]), np.array([[0.5], [1.0]])
    assert exact_variance_is(p, wrong, Q[1:], (10,)) == 0.0
    assert exact_variance_mis(p, wrong, Q, (10, 10)) == pytest.approx(1 / 90)

"""Propensities of a log whose rows were decided by different policies: estimated within each of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.errors import InputError
from unskew.rows import Bools, Floats, Rows, take
from unskew.sampling.propensity import estimate

LEAST_LABELS = 50
"""A policy with fewer labels than this is not estimated by itself."""

MOST_POLICIES = 20
"""The most policies that are estimated by themselves, those with the most labels. Each takes seconds."""


class Policies(NamedTuple):
    """Which policies are estimated by themselves, those with the most labels first, and which are not."""

    alone: tuple[str, ...]
    together: tuple[str, ...]


def policies_of(policy: NDArray[Any], z: Bools) -> Policies:
    """Which policies have enough labels to be estimated by themselves.

    >>> policies_of(np.repeat(["ann", "bo"], [200, 30]), np.ones(230, dtype=bool))
    Policies(alone=('ann',), together=('bo',))
    """
    names, which = np.unique(policy, return_inverse=True)
    labels = np.bincount(which, z, minlength=len(names))
    order = np.argsort(-labels, kind="stable")
    alone = [k for k in order if labels[k] >= LEAST_LABELS][:MOST_POLICIES]
    return Policies(
        tuple(str(names[k]) for k in alone), tuple(str(names[k]) for k in range(len(names)) if k not in alone)
    )


def estimate_within(
    X: Rows, z: Bools, policy: NDArray[Any], *, random_state: int | np.random.Generator | None = None, **how: Any
) -> Floats:
    """Q_k(x), the probability that policy k revealed a row, for each row by the policy that decided on it.

    ::

        q0_i = Q_k(x_i),    k = the policy of row i

    With it, z / q0 has the mean 1 at every row, also if policies had different people before them. Policies with fewer
    than 50 labels, and all but the 20 with the most, get what `estimate` finds in all rows together.

    Parameters
    ----------
    X, z
        As for `unskew.sampling.propensity.estimate`.
    policy : array of str
        The policy that decided on each row.
    random_state, **how
        As for `estimate`.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, who = rng.normal(size=(800, 1)), np.repeat(["ann", "bo"], 400)
    >>> z = rng.random(800) < np.where(who == "ann", 0.8, 0.2)
    >>> q0 = estimate_within(X, z, who, random_state=0, model=LogisticRegression())
    >>> q0[:400].mean().round(1), q0[400:].mean().round(1)
    (np.float64(0.8), np.float64(0.2))
    """
    rng = np.random.default_rng(random_state)
    found = policies_of(policy, z)
    q0 = np.empty(len(z))
    others = np.isin(policy, found.together)
    if others.any():
        q0[others] = estimate(X, z, random_state=rng, **how).q0[others]
    for name in found.alone:
        rows = np.flatnonzero(policy == name)
        try:
            q0[rows] = estimate(take(X, rows), z[rows], random_state=rng, **how).q0
        except InputError:  # too few rows without a label: nearly everybody had the same chance
            q0[rows] = z[rows].mean()
    return q0

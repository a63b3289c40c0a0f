"""A simulated bank: labels exist for the loans that were granted, the question is about every applicant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.experiments.datasets import scaled
from unskew.rows import Floats

LEAST, MOST = 0.005, 0.9
"""The officer's propensities: now and then a loan to anyone, never a certain one."""


@dataclass(frozen=True)
class Loans:
    """Applicants, in the order in which they came.

    X holds income, debt ratio, years employed, age and past arrears, scaled to [-1, 1], and last a constant 1 (the
    paper's methods have no intercept). y is +1 for a loan that is, or would be, repaid.
    """

    X: Floats
    y: Floats
    q0: Floats


def applicants(n: int = 6000, seed: int | Sequence[int] = 0) -> Loans:
    """Draw n applicants.

    The officer lends to those with a good income, a long job and no arrears. Among them debt is a
    mortgage, and the indebted repay best. Among all the others debt is what breaks people. The log
    shows almost only the first kind, so what it teaches about debt is wrong for most applicants.

    >>> loans = applicants(1000)
    >>> loans.X.shape, float(loans.q0.min()), float(loans.q0.max())
    ((1000, 6), 0.005, 0.9)
    >>> bool(0.35 < (loans.q0 >= 0.5).mean() < 0.45)
    True
    """
    rng = np.random.default_rng(seed)
    age = 20.0 + 50.0 * rng.beta(1.6, 2.2, n)
    employed = (age - 18.0) * rng.beta(1.2, 2.0, n)
    income = np.clip(18.0 + 0.25 * (age - 20.0) + 0.5 * employed + rng.gamma(2.0, 9.0, n), 12.0, 120.0)
    debt = 100.0 * rng.beta(1.3, 1.3, n)
    arrears = np.minimum(rng.poisson(0.8, n), 6).astype(np.float64)

    liking = (income - 40.0) / 9.0 + (employed - 10.0) / 6.0 - 0.9 * arrears
    granted_like = 1.0 / (1.0 + np.exp(-3.0 * liking))
    q0 = np.clip(granted_like, LEAST, MOST)

    share = debt / 50.0 - 1.0  # the debt ratio in [-1, 1]
    mortgage = 1.5 + 2.0 * share
    burden = 0.4 - 4.5 * share - 0.5 * arrears + (income - 40.0) / 20.0
    odds = granted_like * mortgage + (1.0 - granted_like) * burden
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * odds)), 1.0, -1.0)

    features = scaled(np.column_stack([income, debt, employed, age, arrears]))
    return Loans(np.column_stack([features, np.ones(n)]), y, q0)

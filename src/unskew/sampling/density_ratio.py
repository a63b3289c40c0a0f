"""Propensities of a log of labelled rows only, such as granted loans: found by telling its rows from those of a pool.

Such a log does not show who was not picked. A pool that is a sample of everyone does. Where the log has many rows for
each row of the pool, rows were likely to be picked. This tells propensities up to a common factor.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unskew.data import LoggedData, propensities
from unskew.errors import InputError
from unskew.rows import Floats, Ints, Rows, as_rows, stack, take
from unskew.sampling.policies import FLOOR, Identical, Policy
from unskew.sampling.propensity import LEAST_OF_A_KIND, EstimatedPropensities, copies, estimate

FITTED_ROWS = 3_000
"""The most rows of the log, and of the pool, that models are fitted to, drawn at random."""

FOLDS = 3
"""Fewer than `estimate` has by default: what matters here is the order of the rows, and time."""

TOP = 0.99
"""The quantile of the log's ratios that becomes a propensity of 1: the largest ratio itself is mostly noise."""

TINY = 1e-9
"""The smallest chance, for the classifier, that a row is from the log. It keeps odds finite."""


@dataclass(frozen=True, eq=False)
class Odds:
    """Q0(x) = min(1, max(floor, odds(x) / top)), where odds(x) = p(x) / (1 - p(x)), p(x) the chance of a log row."""

    chance: Policy
    top: float
    floor: float

    def __call__(self, X: Rows) -> Floats:
        return propensities(np.minimum(_odds(self.chance(X)) / self.top, 1.0), X.shape[0], floor=self.floor)


def density_ratio(
    log: ArrayLike | Any,
    pool: ArrayLike | Any,
    *,
    floor: float = FLOOR,
    model: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> EstimatedPropensities:
    """Estimate Q0(x) up to a common factor, from the rows of the log, all picked, and of a pool, a sample of everyone.

    ::

        r(x) = p(x | in the log) / p(x) = Q0(x) / E[Q0] = odds(x) n / m,    q0(x) = min(1, max(floor, r(x) / r_99))

    Here odds(x) are the odds that a row is one of the m rows of the log rather than one of the n rows of the pool. They
    come from the models of `estimate`, and none of them saw the row itself (cross-fitting). r_99 is the 99 % quantile
    of r over the log's rows: the true factor, E[Q0], is not in these data. So ratios of propensities mean something,
    their size does not.

    Of more than 3,000 rows of the log or of the pool, 3,000 are drawn at random to fit the models. With fewer than ten
    distinct rows of either there is nothing to tell apart, and every propensity is 1.

    Parameters
    ----------
    log, pool : array or SciPy sparse matrix
        Features of the log's rows and of the pool's rows.
    floor, model, random_state
        As in `unskew.sampling.propensity.estimate`.

    Returns
    -------
    EstimatedPropensities
        `q0` of the log's rows, and `Q0` for the pool's rows and any others. `fold` is -1 at rows that were not drawn.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> everyone, pool = rng.normal(size=(4000, 1)), rng.normal(size=(1000, 1))
    >>> picked = everyone[rng.random(4000) < np.where(everyone[:, 0] > 0, 0.8, 0.2)]
    >>> found = density_ratio(picked, pool, model=LogisticRegression(), random_state=0)
    >>> found.q0.shape == (len(picked),), bool(found.Q0(np.array([[-2.0]])) < found.Q0(np.array([[2.0]])))
    (True, True)
    """
    ours, others = as_rows(log, name="the log"), as_rows(pool, name="the pool")
    m = ours.shape[0]
    if ours.shape[1] != others.shape[1]:
        raise InputError(
            f"the pool must have the log's {ours.shape[1]} features; got {others.shape[1]}. Pass the same columns."
        )
    rng = np.random.default_rng(random_state)
    drawn = _drawn(m, rng)
    rows = stack([take(ours, drawn), take(others, _drawn(others.shape[0], rng))])
    in_log = np.arange(rows.shape[0]) < len(drawn)
    copy = copies(rows)
    if min(len(np.unique(copy[in_log])), len(np.unique(copy[~in_log]))) < LEAST_OF_A_KIND:
        return EstimatedPropensities(np.ones(m), Identical(1.0), floor, 0, np.full(m, -1))
    found = estimate(rows, in_log, folds=FOLDS, floor=TINY, model=model, random_state=rng)
    odds = np.empty(m)
    odds[drawn] = _odds(found.q0[in_log])
    rest = np.setdiff1d(np.arange(m), drawn, assume_unique=True)
    odds[rest] = _odds(found.Q0(take(ours, rest)))
    Q0 = Odds(found.Q0, float(np.quantile(odds, TOP)), floor)
    fold = np.full(m, -1)
    fold[drawn] = found.fold[in_log]
    relative = np.minimum(odds / Q0.top, 1.0)
    return EstimatedPropensities(propensities(relative, m, floor=floor), Q0, floor, int((relative < floor).sum()), fold)


def against_pool(
    log: LoggedData, pool: Rows, random_state: int | np.random.Generator | None = None
) -> tuple[LoggedData, Policy]:
    """A log of labelled rows only with the propensities that `density_ratio` finds, and Q0 for the pool's rows.

    >>> rng = np.random.default_rng(0)
    >>> log = LoggedData(rng.normal(1, 1, (40, 1)), np.arange(40) % 2, q0_estimated=True)
    >>> found, Q0 = against_pool(log, rng.normal(0, 1, (40, 1)), random_state=0)
    >>> found.only_labelled, bool(found.q0.min() < 1.0), Q0(np.zeros((2, 1))).shape
    (True, True, (2,))
    """
    found = density_ratio(log.X, pool, random_state=random_state)
    y = log.classes[(log.y > 0.0).astype(np.int64)]
    return LoggedData(
        log.X, y, log.z, found.q0, classes=log.classes, q0_estimated=True, features=log.features, kept=log.kept,
        blocks=log.blocks,
    ), found.Q0  # fmt: skip


def _drawn(rows: int, rng: np.random.Generator) -> Ints:
    """All positions, or as many as models are fitted to."""
    return np.arange(rows) if rows <= FITTED_ROWS else np.sort(rng.choice(rows, FITTED_ROWS, replace=False))


def _odds(p: Floats) -> Floats:
    return p / np.maximum(1.0 - p, TINY)

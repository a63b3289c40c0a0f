"""All importance weights: how much a revealed label counts, so that the labelled rows represent the population.

A label comes from some source b: n_b rows, each revealed with probability Q_b(x). Its weight depends
on x alone, not on the source that happened to reveal it. Weights compose: `normalise(clip(v, M))`.
These functions run in every method's loop, so they avoid copies and check as little as possible.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from unskew.errors import InputError
from unskew.rows import Bools, Floats

BINS = 10
"""The number of bins of propensities in `thinness`; each holds about the same number of log rows."""


def importance(Q: ArrayLike) -> Floats:
    """Importance sampling, eq. (1): v(x) = 1 / Q(x).

    >>> importance([0.5, 0.25]).tolist()
    [2.0, 4.0]
    """
    q = np.asarray(Q, dtype=np.float64)
    if not (q > 0.0).all():
        raise _never_revealed(q, "Q(x)")
    v: Floats = 1.0 / q
    return v


def mixture(sizes: Sequence[float], Q: Sequence[ArrayLike]) -> Floats:
    """Multiple importance sampling over any number of sources, eq. (2) times N.

    ::

        v(x) = N / sum_b n_b Q_b(x),    N = sum_b n_b

    With these weights, the mean of z v over all N rows is 1 in expectation, and eq. (2) is the mean of z v loss.
    Each Q_b is an array with one value per row, or one number for all rows.

    >>> mixture((3, 1), (np.array([0.2, 1.0]), 1.0)).tolist()
    [2.5, 1.0]
    """
    if len(sizes) != len(Q) or len(sizes) == 0:
        raise InputError(
            f"mixture needs one size for each source; got {len(sizes)} sizes and {len(Q)} policies. Pair them."
        )
    total = np.multiply(sizes[0], Q[0], dtype=np.float64)
    for n_b, Q_b in zip(sizes[1:], Q[1:], strict=True):
        total = total + np.multiply(n_b, Q_b)
    if not np.minimum.reduce(total, axis=None, initial=1.0) > 0.0:
        raise _never_revealed(total, "sum_b n_b Q_b(x)")
    v: Floats = float(sum(sizes)) / total
    return v


def clip(v: ArrayLike, M: float) -> Floats:
    """Clip the weights at M: min(v(x), M).

    This lowers the variance of the estimate, and adds a downward bias of at most Pr(v(X) > M).

    >>> clip(np.array([1.0, 4.0]), 2.0).tolist()
    [1.0, 2.0]
    """
    if not M > 0.0:
        raise InputError(f"M, the largest weight, must be positive; got {M}. Pass numpy.inf to clip nothing.")
    return np.minimum(np.asarray(v, dtype=np.float64), M)


def normalise(v: ArrayLike) -> Floats:
    """Self-normalisation: weights scaled to mean 1 over the given rows, v_i -> v_i N / sum_j v_j.

    >>> normalise(np.array([1.0, 3.0])).tolist()
    [0.5, 1.5]
    """
    weights = np.asarray(v, dtype=np.float64)
    total = weights.sum()
    if not total > 0.0:
        raise InputError(
            f"weights must have a positive sum; got {total} over {weights.size} rows. Raise M or add labels."
        )
    scaled: Floats = weights * (weights.size / total)
    return scaled


def effective_sample_size(v: ArrayLike) -> float:
    """Kish's (sum v)^2 / sum v^2: the number of equally weighted labels that would carry as much information.

    It is 0 if there are no labels.

    >>> effective_sample_size([2.0, 2.0, 2.0]), effective_sample_size([1.0, 0.0])
    (3.0, 1.0)
    """
    weights = np.asarray(v, dtype=np.float64)
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def largest(m: float, n: float, xi: float) -> float:
    """The largest weight on a region where Q0 >= xi and every one of n stream rows is labelled.

    ::

        sup_x (m + n) / (m Q0(x) + n) = (m + n) / (m xi + n),    and 1 / xi while n = 0

    >>> largest(10, 0, 0.005), largest(100, 50, 0.0)
    (200.0, 3.0)
    """
    least = m * xi + n
    if not least > 0.0:
        raise InputError(f"m xi + n must be positive; got m = {m}, n = {n}, xi = {xi}. Pass a positive xi or some n.")
    return (m + n) / least


def thinness(
    q0: ArrayLike, revealed: ArrayLike, bought: ArrayLike, *, counts: Floats | None = None, rate: float = 1.0
) -> Floats:
    """Mixture weights over the log and all bought rows, tempered by a fourth root and scaled to mean 1.

    ::

        v(x) ~ (N / sum_b n_b Q_b(x))^(1/4)

    Most rows of a pool are chosen, not drawn, so Q_b(x) is known only for the rows that were asked for. The rate at
    which rows of similar q0 were bought takes its place. Log and pool come from one population. So a bin of q0 that
    holds a share s of the log's rows holds n s of the pool's rows, and n Q(x) is the number bought in the bin, divided
    by s. The full weight would be right for a rigid model. A flexible model needs less of it, and full weights would
    cost it variance.

    Parameters
    ----------
    q0 : array
        Propensities of all rows of the log.
    revealed, bought : array
        Propensities of the log's labelled rows and of the bought rows, in the order of the weights.
    counts, rate : optional
        For a log of which some rows are kept, how many rows each stands for, and which share of the labels was kept.

    Examples
    --------
    >>> q0 = np.array([0.9, 0.9, 0.1, 0.1])
    >>> thinness(q0, revealed=[0.9, 0.9, 0.1], bought=[]).round(2).tolist()        # the third counts for more
    [0.8, 0.8, 1.39]
    >>> thinness(q0, revealed=[0.9, 0.9, 0.1], bought=[0.1, 0.1]).round(2).tolist()   # no longer
    [1.03, 1.03, 0.98, 0.98, 0.98]
    """
    log, revealed, bought = (np.asarray(q, dtype=np.float64) for q in (q0, revealed, bought))
    if not len(revealed) + len(bought):
        return np.empty(0)
    revealed, bought = (np.clip(q, log.min(), log.max()) for q in (revealed, bought))  # into a bin that holds log rows
    each = np.concatenate((revealed, bought))
    edges = np.unique(np.quantile(log, np.arange(1, BINS) / BINS, method="nearest"))
    rows = len(log) if counts is None else float(counts.sum())
    share = np.bincount(np.digitize(log, edges), counts, minlength=len(edges) + 1) / rows
    number = np.bincount(np.digitize(bought, edges), minlength=len(edges) + 1)
    bought_at = number / np.maximum(share, 1.0 / len(log))
    return normalise((rows * rate * each + bought_at[np.digitize(each, edges)]) ** -0.25)


def _never_revealed(q: Floats, what: str) -> InputError:
    """The error for the first row whose label no source could have revealed."""
    bad: Bools = np.atleast_1d(~(q > 0.0))
    i = int(np.argmax(bad))
    return InputError(
        f"{what} must be positive; got {np.atleast_1d(q)[i]} at row {i}. No source could reveal it: drop the row."
    )

"""What a classifier's error on the whole population is estimated to be, and how surely.

The rows come from sources b = 0, 1, ...: n_b rows drawn i.i.d. from the population, N in all, each
revealed (z = 1) with probability Q_b(x). *Every* row counts, the unrevealed ones with 0: leave them
out and the estimate is of something else.

The variances are of the estimate given the policies Q_b: rows i.i.d. within a source, sources
independent of each other. That holds in Algorithm 1, where Q_k depends on earlier segments only.
Where a policy was chosen after looking at the rows it is used on, the variance is too small.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unskew import weights
from unskew.errors import InputError
from unskew.rows import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated error rate, the estimated variance of that estimate, and the rows and labels behind it."""

    value: float
    variance: float
    rows: int
    labels: int

    @property
    def standard_error(self) -> float:
        """The root of the variance."""
        return math.sqrt(self.variance)


def importance_sampling(loss: ArrayLike, z: ArrayLike, Q: ArrayLike, source: ArrayLike | None = None) -> Estimate:
    """Eq. (1), unbiased: l_IS = 1/N sum_i z_i loss_i / Q_b(i)(x_i).

    Parameters
    ----------
    loss : array of length N
        Anything, NaN included, where z = 0.
    z : array of length N
        1 where the label was revealed, else 0.
    Q : float or array of length N
        The probability that the row's *own* source would reveal it.
    source : array of length N, optional
        The row's b. Left out, all rows are of one source.

    Examples
    --------
    >>> importance_sampling([1.0, 0.0, np.nan, 0.0], [1, 1, 0, 1], [0.5, 0.5, 0.5, 1.0]).value
    0.5
    """
    losses, revealed, b = _columns(loss, z, source)
    v = np.zeros(losses.size)
    v[revealed] = weights.importance(np.broadcast_to(np.asarray(Q, dtype=np.float64), losses.shape)[revealed])
    return _mean(losses, v, b)


def multiple_importance_sampling(
    loss: ArrayLike, z: ArrayLike, Q: Sequence[ArrayLike], source: ArrayLike | None = None
) -> Estimate:
    """Eq. (2), unbiased: l_MIS = sum_i z_i loss_i / sum_b n_b Q_b(x_i).

    `Q` holds one policy a source, each with its value at *every* row (or one number for all).
    n_b counts the rows of source b, revealed or not.

    Its variance is never above that of `importance_sampling` on the same rows, whatever the loss:
    1 / sum_b n_b Q_b <= sum_b n_b / (N^2 Q_b) by Jensen, and sum_b n_b g_b^2 >= l^2 / N by
    Cauchy-Schwarz, g_b = E[Q_b loss / sum_b n_b Q_b].

    >>> multiple_importance_sampling([1.0, 0.0, 1.0], [1, 0, 1], [0.5, 1.0], source=[0, 0, 1]).value
    1.0
    """
    losses, revealed, b = _columns(loss, z, source)
    sizes = np.bincount(b, minlength=len(Q)).tolist()
    if len(sizes) != len(Q):
        raise InputError(f"source must be below the number of policies, {len(Q)}; got {b.max()}. Pass one Q a source.")
    v = np.zeros(losses.size)
    at_revealed = [np.broadcast_to(np.asarray(Q_b, dtype=np.float64), losses.shape)[revealed] for Q_b in Q]
    v[revealed] = weights.mixture(sizes, at_revealed)
    return _mean(losses, v, b)


def self_normalised(loss: ArrayLike, z: ArrayLike, v: ArrayLike, source: ArrayLike | None = None) -> Estimate:
    """Ratio estimate with any weights v: l_SN = sum_i z_i v_i loss_i / sum_i z_i v_i.

    Never outside the range of the losses and unmoved by a factor common to all v; its bias is of
    order 1/N. The variance is the delta method's, sum_b n_b s_b^2 / (sum_i z_i v_i)^2 with s_b^2 the
    sample variance of z v (loss - l_SN) in source b.

    >>> self_normalised([1.0, 0.0, np.nan], [1, 1, 0], [3.0, 1.0, 9.0]).value
    0.75
    """
    losses, revealed, b = _columns(loss, z, source)
    w = np.where(revealed, np.asarray(v, dtype=np.float64), 0.0)
    total = float(w.sum())
    if not total > 0.0:
        raise InputError(f"the revealed weights must have a positive sum; got {total}. Add labels or raise the clip.")
    value = float(w @ losses) / total
    return Estimate(value, _spread(w * (losses - value), b) / total**2, losses.size, int(revealed.sum()))


def _mean(loss: Floats, v: Floats, source: Ints) -> Estimate:
    t = v * loss
    return Estimate(float(t.mean()), _spread(t, source) / t.size**2, t.size, int(np.count_nonzero(v)))


def _spread(t: Floats, source: Ints) -> float:
    """The estimated variance of sum(t): sum_b n_b s_b^2, s_b^2 the sample variance within source b.

    A source of a single row shows no spread; its t^2 stands in, never too small on average.
    """
    n = np.bincount(source)
    n = np.maximum(n, 1)
    mean = np.bincount(source, t) / n
    squares = np.bincount(source, (t - mean[source]) ** 2)
    single = (n == 1)[source]
    return float((squares * n / np.maximum(n - 1, 1)).sum() + (t[single] ** 2).sum())


def _columns(loss: ArrayLike, z: ArrayLike, source: ArrayLike | None) -> tuple[Floats, Bools, Ints]:
    """Losses with 0 where unrevealed, the reveal bits, and each row's source."""
    losses = np.asarray(loss, dtype=np.float64)
    revealed = np.asarray(z, dtype=bool)
    b = np.zeros(losses.shape, dtype=np.int64) if source is None else np.asarray(source, dtype=np.int64)
    if losses.ndim != 1 or losses.size == 0 or not losses.shape == revealed.shape == b.shape:
        raise InputError(
            f"loss, z and source must have one value a row; got shapes {losses.shape}, {revealed.shape}, {b.shape}. "
            "Pass every row of every source, revealed or not."
        )
    if b.min() < 0:
        raise InputError(f"source must be 0 or more; got {b.min()}. Number the sources 0, 1, ...")
    losses = np.where(revealed, losses, 0.0)
    if not np.isfinite(losses).all():
        i = int(np.argmin(np.isfinite(losses)))
        raise InputError(f"loss must be finite where z = 1; got {losses[i]} at row {i}. Set z to 0 or supply the loss.")
    return losses, revealed, b

"""What a log shows about its propensities: the probabilities, given or estimated, with which labels were revealed."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import chi2

from unskew.data import LoggedData
from unskew.rows import Bools, Floats, take
from unskew.sampling import weights

BINS = 10
"""The number of bins in the calibration table; each holds about the same number of rows."""

COLUMNS, MOST_ROWS = 50, 20_000
"""The most columns and rows that `balance` looks at: of more rows a sample, of more columns random sums."""


TELLS = 0.02
"""Probabilities of a classifier that differ by less than this, as a standard deviation, tell nothing about rows."""


@dataclass(frozen=True)
class Bin:
    """Rows with similar q0: their number, their mean q0, and the share of them that was revealed."""

    rows: int
    q0: float
    rate: float


@dataclass(frozen=True)
class Diagnostics:
    """What a log shows about its propensities, given or estimated. `print` it, or take `as_dict()`.

    Attributes
    ----------
    m, revealed : int
    q0_estimated : bool
    least_q0 : float
    at_least_q0 : int
        The number of rows with the least q0; if a floor was set, the rows that were raised to it.
    below_0_01, below_0_05 : float
        The share of the rows whose q0 is below 0.01, and below 0.05.
    effective_labels : float
        Kish's effective sample size of the revealed rows with weights 1/q0: the number of equally weighted labels that
        would carry as much information.
    mean_weight : float
        Mean of z/q0 over all m rows; its expectation is 1 under the true Q0.
    interval : pair of float
        The 95 % normal interval of that mean, with the variance it has if q0 is exact, sum_i (1 - q0_i)/q0_i / m^2.
        (The sample variance is too small whenever no row with a small q0 happens to be revealed.)
    bins : tuple of Bin
    calibration_error : float
        Mean over the rows of |mean q0 - revealed share| in the row's bin.
    calibration_error_by_chance : float
        The average calibration error if q0 were exact.
    """

    m: int
    revealed: int
    q0_estimated: bool
    least_q0: float
    at_least_q0: int
    below_0_01: float
    below_0_05: float
    effective_labels: float
    mean_weight: float
    interval: tuple[float, float]
    bins: tuple[Bin, ...]
    calibration_error: float
    calibration_error_by_chance: float

    @property
    def one_inside(self) -> bool:
        """Whether 1 is in the interval of the mean of z/q0."""
        return self.interval[0] <= 1.0 <= self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, tuples and dicts, ready for JSON."""
        return asdict(self) | {"one_inside": self.one_inside}

    def summary(self) -> list[str]:
        """The same as lines of text, for a person to read."""
        low, high = self.interval
        origin = "estimated" if self.q0_estimated else "given"
        return [
            f"log          {self.revealed} of {self.m} rows revealed, q0 {origin}",
            f"overlap      least q0 {self.least_q0:.4f} at {self.at_least_q0} rows; "
            f"{100 * self.below_0_01:.1f} % of rows below 0.01, {100 * self.below_0_05:.1f} % below 0.05",
            f"information  as much as in about {self.effective_labels:.0f} labels drawn at random",
            f"mean z/q0    {self.mean_weight:.3f}, 95 % interval {low:.3f} to {high:.3f}, which "
            f"{'contains' if self.one_inside else 'does NOT contain'} 1",
            f"calibration  error {self.calibration_error:.4f} where exact q0 would show about "
            f"{self.calibration_error_by_chance:.4f}",
            "   rows   mean q0   revealed",
            *(f"{b.rows:7d}{b.q0:10.4f}{b.rate:11.4f}" for b in self.bins),
        ]

    def __str__(self) -> str:
        return "\n".join(self.summary())


def diagnose(log: LoggedData) -> Diagnostics:
    """Check the log's propensities: overlap, effective sample size, whether E[z/q0] = 1, and calibration.

    >>> rng = np.random.default_rng(0)
    >>> X, q0 = rng.normal(size=(500, 1)), rng.uniform(0.1, 0.9, 500)
    >>> log = LoggedData(X, X[:, 0] > 0, rng.random(500) < q0, q0)
    >>> diagnose(log).one_inside, len(diagnose(log).bins)
    (True, 10)
    """
    q0, m = log.q0, log.rows
    h = np.ones(log.m) if log.counts is None else log.counts
    mean = float((h * log.z / q0).sum()) / m
    half = 1.96 * math.sqrt(float((h * (1.0 - log.chance) / log.chance).sum())) / m
    edges = np.unique(np.quantile(q0, np.arange(1, BINS) / BINS))
    _, which = np.unique(np.searchsorted(edges, q0, side="right"), return_inverse=True)
    rows = np.bincount(which, h)
    gap = np.abs(np.bincount(which, h * (q0 - log.z)))
    # A row stands for others only by chance, so its square counts as often as it stands for others.
    squares = h * q0 * (1.0 - q0) * (_each(log, True) * (1.0 - q0) + _each(log, False) * q0)
    noise = np.sqrt(2.0 / math.pi * np.bincount(which, squares))  # E|gap| of a normal gap
    return Diagnostics(
        m=m,
        revealed=log.labelled,
        q0_estimated=log.q0_estimated,
        least_q0=float(q0.min()),
        at_least_q0=round(float(h[q0 == q0.min()].sum())),
        below_0_01=float(h[q0 < 0.01].sum()) / m,
        below_0_05=float(h[q0 < 0.05].sum()) / m,
        effective_labels=weights.effective_sample_size(weights.importance(log.revealed_q0)) / log.rate,
        mean_weight=mean,
        interval=(mean - half, mean + half),
        bins=tuple(
            Bin(round(n), float(q), float(r))
            for n, q, r in zip(
                rows, np.bincount(which, h * q0) / rows, np.bincount(which, h * log.z) / rows, strict=True
            )
        ),
        calibration_error=float(gap.sum() / m),
        calibration_error_by_chance=float(noise.sum() / m),
    )


def _each(log: LoggedData, z: bool) -> float:
    """The number of rows of the whole log that a row with a label, or without one, stands for."""
    return 1.0 if log.counts is None else float(log.counts[log.z == z].max(initial=1.0))


def balance(log: LoggedData) -> float:
    """The chance of a log as uneven as this one, or more, if its propensities are right (a p-value).

    If q0 is right, then z - q0 has mean 0 at every row, so no weighted sum of it may be far from 0. This is the score
    test for a constant, log q0 and the columns of X::

        U = sum_i (z_i - q0_i) h_i,    V = sum_i q0_i (1 - q0_i) h_i h_i',    U' V^-1 U  ~  chi^2

    It needs no labels. A p-value below 0.001 means that the propensities do not fit who was labelled.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 3)); q0 = np.where(X[:, 0] > 0, 0.7, 0.2); z = rng.random(900) < q0
    >>> right, wrong = (LoggedData(X, X[:, 1] > 0, z, q) for q in (q0, z.mean()))
    >>> balance(right) > 0.05, balance(wrong) < 1e-9
    (True, True)
    """
    rng = np.random.default_rng(0)
    rows = np.arange(log.m) if log.m <= MOST_ROWS else rng.choice(log.m, MOST_ROWS, replace=False)
    q0, X = log.chance_here[rows], take(log.X, rows)
    if X.shape[1] > COLUMNS:
        X = X @ rng.choice([-1.0, 1.0], (X.shape[1], COLUMNS))
    return _score_test(np.column_stack((np.log(q0), X if isinstance(X, np.ndarray) else X.toarray())), log.z[rows], q0)


def balance_of_doubt(log: LoggedData, margin: Floats) -> float:
    """The same as `balance` for a constant, a classifier's probability, and the smaller one of its two probabilities.

    A policy that prefers rows near to a boundary, or far from it, treats all columns alike. This sees it. Margins are
    log-odds of the log's rows. Those of labelled rows must be computed without their own label: otherwise the
    classifier would be more sure of just these rows. A classifier that says nearly the same of all rows cannot tell:
    without their own labels, its margins of labelled rows are then off by more than they differ.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 3)); q0 = np.where(np.abs(X[:, 0]) < 0.5, 0.7, 0.2); z = rng.random(900) < q0
    >>> right, wrong = (LoggedData(X, X[:, 0] > 0, z, q) for q in (q0, z.mean()))
    >>> [balance_of_doubt(log, 2.0 * X[:, 0]) > 0.01 for log in (right, wrong)], balance(wrong) > 0.01
    ([True, False], True)
    """
    p = expit(margin)
    H = np.column_stack((p, np.minimum(p, 1.0 - p)))
    return _score_test(H[:, H.std(axis=0) > TELLS], log.z, log.chance_here)


def _score_test(H: Floats, z: Bools, q0: Floats) -> float:
    """The p-value of the score test for a constant and these columns."""
    H = np.column_stack((np.ones(len(z)), _standardised(H)))
    values, vectors = np.linalg.eigh((H * (q0 * (1.0 - q0))[:, None]).T @ H)
    kept = values > 1e-6 * max(values.max(), 1e-12)
    score = (vectors.T @ (H.T @ (z - q0)))[kept] / np.sqrt(values[kept])
    return float(chi2.sf(float(score @ score), int(kept.sum()))) if kept.any() else 1.0


def _standardised(H: Floats) -> Floats:
    """Columns with mean 0 and deviation 1, without outliers; those that do not vary are dropped."""
    deviation = H.std(axis=0)
    varies = deviation > 1e-12
    return np.asarray(np.clip((H[:, varies] - H[:, varies].mean(axis=0)) / deviation[varies], -3.0, 3.0))

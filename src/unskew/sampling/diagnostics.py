"""What a log shows about its propensities: the probabilities, given or estimated, with which labels were revealed."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unskew.data import LoggedData
from unskew.sampling import weights

BINS = 10
"""The number of bins in the calibration table; each holds about the same number of rows."""


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
    q0 = log.q0
    mean = float((log.z / q0).mean())
    half = 1.96 * math.sqrt(float(((1.0 - q0) / q0).sum())) / log.m
    edges = np.unique(np.quantile(q0, np.arange(1, BINS) / BINS))
    _, which = np.unique(np.searchsorted(edges, q0, side="right"), return_inverse=True)
    rows = np.bincount(which)
    gap = np.abs(np.bincount(which, q0 - log.z))
    noise = np.sqrt(2.0 / math.pi * np.bincount(which, q0 * (1.0 - q0)))  # E|gap| of a normal gap
    return Diagnostics(
        m=log.m,
        revealed=int(log.z.sum()),
        q0_estimated=log.q0_estimated,
        least_q0=float(q0.min()),
        at_least_q0=int((q0 == q0.min()).sum()),
        below_0_01=float((q0 < 0.01).mean()),
        below_0_05=float((q0 < 0.05).mean()),
        effective_labels=weights.effective_sample_size(weights.importance(log.revealed_q0)),
        mean_weight=mean,
        interval=(mean - half, mean + half),
        bins=tuple(
            Bin(int(n), float(q), float(r))
            for n, q, r in zip(rows, np.bincount(which, q0) / rows, np.bincount(which, log.z) / rows, strict=True)
        ),
        calibration_error=float(gap.sum() / log.m),
        calibration_error_by_chance=float(noise.sum() / log.m),
    )

"""Confidence intervals for an estimate that combines independent sources."""

import math
from typing import NamedTuple

from scipy.special import ndtri


class Part(NamedTuple):
    """One source's part of an estimate: the mean of `terms` terms, any two of which differ by at most `span`.

    It is worth as much as `draws` uniformly drawn labels, whose outcomes span an interval of length `width` around
    `mid`.
    """

    mean: float
    variance: float
    terms: int
    span: float
    draws: float
    mid: float
    width: float


def wald(parts: list[tuple[float, Part]], rows_variance: float, level: float) -> tuple[float, float]:
    """How far the interval reaches below and above the value: normal, with Wilson's correction for few draws.

    ::

        k = z^2 / draws,    shift = k / (1 + k) (mid - mean)
        half = z sqrt(variance + k width^2 / (4 draws)) / (1 + k)

    For a share of A draws, width 1 and mid 1/2, this is Wilson's interval. If no draw shows a loss, it reaches up to
    z^2 / (A + z^2), close to the rule of three, whereas Wald's interval would have no width. It always contains Wald's
    interval, z sqrt(variance), because unequal weights can shift Wilson's centre too far up. Sources are combined as in
    Zou and Donner (2008): the squares of the distances add up.

    Examples
    --------
    >>> none_in_20 = Part(mean=0.0, variance=0.0, terms=20, span=1.0, draws=20, mid=0.5, width=1.0)
    >>> [round(d, 3) for d in wald([(1.0, none_in_20)], 0.0, 0.95)]
    [0.0, 0.161]
    """
    z = float(ndtri(0.5 + level / 2.0))
    below = above = z**2 * rows_variance
    for c, part in parts:
        k = z**2 / part.draws
        shift = k / (1.0 + k) * (part.mid - part.mean)
        half = z * math.sqrt(part.variance + k * part.width**2 / (4.0 * part.draws)) / (1.0 + k)
        plain = z * math.sqrt(part.variance)
        below += (c * max(half - shift, plain)) ** 2
        above += (c * max(half + shift, plain)) ** 2
    return math.sqrt(below), math.sqrt(above)


def bernstein(parts: list[tuple[float, Part]], rows_variance: float, level: float) -> tuple[float, float]:
    """The empirical Bernstein bound, two-sided, for the terms of every source; the sources share 1 - level.

    ::

        half = sqrt(2 variance ln(4/delta)) + 7 span ln(4/delta) / (3 (terms - 1))

    This is Theorem 4 of Maurer and Pontil (2009), proved for independent terms. The pool's rows are drawn without
    replacement, which only helps, but rounds depend on earlier ones. The rows are themselves a sample of the
    population; as there are many of them, that part enters with its normal width.
    """
    delta = (1.0 - level) / (len(parts) + 1)
    log = math.log(4.0 / delta)
    half = float(ndtri(1.0 - delta / 2.0)) * math.sqrt(rows_variance)
    for c, part in parts:
        slack = 7.0 * part.span * log / (3.0 * (part.terms - 1)) if part.terms > 1 else part.span
        half += c * (math.sqrt(2.0 * part.variance * log) + slack)
    return half, half

"""Intervals for an estimate that is put together from independent sources."""

import math
from typing import NamedTuple

from scipy.special import ndtri


class Part(NamedTuple):
    """One source's share of an estimate: the mean of its `terms`, each within `span` of each other.

    It is worth `draws` labels, each of which can move by `width` about the middle `mid`.
    """

    mean: float
    variance: float
    terms: int
    span: float
    draws: float
    mid: float
    width: float


def wald(parts: list[tuple[float, Part]], rows_variance: float, level: float) -> tuple[float, float]:
    """How far the interval reaches below and above the value: normal, as Wilson has it for few draws.

    ::

        k = z^2 / draws,    shift = k / (1 + k) (mid - mean)
        half = z sqrt(variance + k width^2 / (4 draws)) / (1 + k)

    For a share of A draws, width 1 and mid 1/2, this is Wilson's interval; without a loss among the draws it reaches
    up to z^2 / (A + z^2), near the rule of three, where Wald's has no width. It never ends inside Wald's,
    z sqrt(variance): unequal weights can draw Wilson's middle too far up. Sources are put together as Zou and
    Donner (2008) do: the squares of the distances add up.

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
    """Maurer and Pontil (2009), Theorem 4, on both sides, for the terms of every source, which share 1 - level.

    ::

        half = sqrt(2 variance ln(4/delta)) + 7 span ln(4/delta) / (3 (terms - 1))

    Proved for independent terms; the pool's rows are drawn without replacement, which only helps, and rounds depend on
    earlier ones. That the rows are themselves a sample enters by its normal width: they are many.
    """
    delta = (1.0 - level) / (len(parts) + 1)
    log = math.log(4.0 / delta)
    half = float(ndtri(1.0 - delta / 2.0)) * math.sqrt(rows_variance)
    for c, part in parts:
        slack = 7.0 * part.span * log / (3.0 * (part.terms - 1)) if part.terms > 1 else part.span
        half += c * (math.sqrt(2.0 * part.variance * log) + slack)
    return half, half

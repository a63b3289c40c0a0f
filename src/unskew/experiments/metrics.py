"""Measures of a curve: the area under it, and the number of labels that it takes to reach a given error."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew.rows import Floats

Runs: TypeAlias = NDArray[np.float64]
"""Repeats x points x (labels, error)."""


def auc(labels: Floats, errors: Floats, budget: float) -> float:
    """The area under a mean curve over [0, 2 (B + 1)]: linear up to the budget B, and constant after it.

    The text sums trapezoids up to the point where a method stops buying (`printed_sum`). Without a common range, a
    setting that buys nothing would have the smallest sum (protocol.md).

    >>> auc(np.array([0.0, 10.0, 40.0]), np.array([0.5, 0.3, 0.3]), budget=10)
    7.6
    """
    at_budget, below = _up_to(labels, errors, budget)
    return float(below + at_budget * (budget + 2.0))


def area(labels: Floats, errors: Floats, budget: float, kind: str) -> float:
    """The area that a protocol compares: `auc` for a "planned" budget, `area_to_end` for the whole "stream"."""
    return auc(labels, errors, budget) if kind == "planned" else float(area_to_end(labels, errors, budget))


def printed_sum(labels: Floats, errors: Floats) -> Floats:
    """The sum that the text prints as AUC: trapezoids from horizon to horizon, whatever range they cover.

    It goes in the order of horizons. Where a later horizon buys fewer labels, it goes back, and that part is negative.

    >>> float(printed_sum(np.array([10.0, 40.0]), np.array([0.3, 0.1])))
    6.0
    """
    total: Floats = np.sum((errors[..., 1:] + errors[..., :-1]) / 2.0 * np.diff(labels), axis=-1)
    return total


def area_to_end(labels: Floats, errors: Floats, n: float) -> Floats:
    """`printed_sum`, and the error of the last horizon on to n labels: a common range for all methods and settings.

    >>> float(area_to_end(np.array([10.0, 40.0]), np.array([0.3, 0.1]), 50))
    7.0
    """
    total: Floats = printed_sum(labels, errors) + errors[..., -1] * (n - labels[..., -1])
    return total


def area_to_budget(labels: Floats, errors: Floats, budget: float) -> float:
    """The area under a mean curve over [0, B] only, without extending it beyond what was bought.

    >>> area_to_budget(np.array([0.0, 10.0, 40.0]), np.array([0.5, 0.3, 0.3]), budget=10)
    4.0
    """
    return float(_up_to(labels, errors, budget)[1])


def error_at(labels: Floats, errors: Floats, budget: float) -> float:
    """The error of a mean curve at this number of labels.

    >>> error_at(np.array([0.0, 10.0]), np.array([0.5, 0.25]), 5)
    0.375
    """
    return float(_up_to(labels, errors, budget)[0])


def _up_to(labels: Floats, errors: Floats, budget: float) -> tuple[Floats, Floats]:
    """The error at the budget and the area up to it, along the last axis; constant after the last point."""
    order = np.argsort(labels, axis=-1, kind="stable")  # points with equal labels stay in order of horizon
    x, e = np.take_along_axis(labels, order, -1), np.take_along_axis(errors, order, -1)
    x0, x1, e0, e1 = x[..., :-1], x[..., 1:], e[..., :-1], e[..., 1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(np.where(x1 > x0, (budget - x0) / (x1 - x0), x1 <= budget), 0.0, 1.0)
    ends = e0 + share * (e1 - e0)  # where each piece ends, or the budget cuts it
    beyond = np.maximum(budget - x[..., -1], 0.0)
    area = np.sum((e0 + ends) / 2.0 * share * (x1 - x0), axis=-1) + e[..., -1] * beyond
    pieces = np.count_nonzero(x <= budget, axis=-1)[..., None] - 1  # the point at or before the budget
    last = np.take_along_axis(np.concatenate((ends, e[..., -1:]), axis=-1), pieces, -1)[..., 0]
    return last, area


def labels_to_reach(labels: Floats, errors: Floats, target: float) -> float:
    """The fewest labels at which the mean curve is at or below the target; infinity if it never is.

    >>> labels_to_reach(np.array([0.0, 10.0]), np.array([0.5, 0.25]), 0.375)
    5.0
    """
    order = np.argsort(labels, kind="stable")
    x, e = labels[order], errors[order]
    below = np.flatnonzero(e <= target)
    if below.size == 0:
        return float("inf")
    i = int(below[0])
    if i == 0:
        return float(x[0])
    share = (e[i - 1] - target) / (e[i - 1] - e[i])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def bootstrap(runs: Runs, budget: float, draws: NDArray[np.int64], *, kind: str = "planned") -> Floats:
    """The area of the mean curve of each resample; `draws` has one row of repeat numbers per resample.

    `kind` is as in `area`, or "up to B" for `area_to_budget`. Pass the same draws for two methods of a cell to pair
    them: repeat r is the same split for both.
    """
    means = runs[draws].mean(axis=1)  # resamples x points x (labels, error)
    if kind == "stream":
        return area_to_end(means[..., 0], means[..., 1], budget)
    at_budget, below = _up_to(means[..., 0], means[..., 1], budget)
    return below + at_budget * (budget + 2.0) if kind == "planned" else below

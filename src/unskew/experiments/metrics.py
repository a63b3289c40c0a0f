"""What a curve is worth: the area under it, and the labels it takes to get as far as another."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew.rows import Floats

Runs: TypeAlias = NDArray[np.float64]
"""Repeats x points x (labels, error)."""


def sorted_curve(labels: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """A mean curve in order of labels; points with equal labels stay in order of horizon."""
    order = np.argsort(labels, kind="stable")
    return labels[order], errors[order]


def auc(labels: Floats, errors: Floats, budget: float) -> float:
    """The area under a mean curve over [0, 2 (B + 1)]: linear up to the budget B, flat from there on.

    The text sums trapezoids up to wherever a method stops buying; without a common range the least
    sum belongs to a setting that buys nothing (protocol.md).

    >>> auc(np.array([0.0, 10.0, 40.0]), np.array([0.5, 0.3, 0.3]), budget=10)
    7.6
    """
    at_budget, area = _up_to(labels, errors, budget)
    return area + at_budget * (budget + 2.0)


def area_to_budget(labels: Floats, errors: Floats, budget: float) -> float:
    """The area under a mean curve over [0, B] alone: no extension beyond what was bought.

    >>> area_to_budget(np.array([0.0, 10.0, 40.0]), np.array([0.5, 0.3, 0.3]), budget=10)
    4.0
    """
    return _up_to(labels, errors, budget)[1]


def _up_to(labels: Floats, errors: Floats, budget: float) -> tuple[float, float]:
    x, e = sorted_curve(labels, errors)
    at_budget = float(np.interp(budget, x, e))
    inside = x < budget
    x, e = np.append(x[inside], budget), np.append(e[inside], at_budget)
    return at_budget, float(np.sum((e[1:] + e[:-1]) * np.diff(x)) / 2.0)


def labels_to_reach(labels: Floats, errors: Floats, target: float) -> float:
    """The fewest labels at which the mean curve is at or below the target; infinity where it never is.

    >>> labels_to_reach(np.array([0.0, 10.0]), np.array([0.5, 0.25]), 0.375)
    5.0
    """
    x, e = sorted_curve(labels, errors)
    below = np.flatnonzero(e <= target)
    if below.size == 0:
        return float("inf")
    i = int(below[0])
    if i == 0:
        return float(x[0])
    share = (e[i - 1] - target) / (e[i - 1] - e[i])
    return float(x[i - 1] + share * (x[i] - x[i - 1]))


def bootstrap(runs: Runs, budget: float, draws: NDArray[np.int64], *, whole: bool = True) -> Floats:
    """The area of the mean curve of each resample; `draws` holds one row of repeat numbers a resample.

    Pass the same draws for two methods of a cell to pair them: repeat r is the same split for both.
    """
    measure = auc if whole else area_to_budget
    means = runs[draws].mean(axis=1)  # resamples x points x (labels, error)
    return np.array([measure(curve[:, 0], curve[:, 1], budget) for curve in means])

"""The measures of a classifier, as functions of who is how many: the mass of each label at each row of the population.

Row i of the population carries a mass a_i of label +1 and b_i of label -1; all masses add up to 1. If every label were
known, one of the two would be 1/N. An estimate has fractions instead, and a few of them may be negative. A measure is a
function of these masses, and its slopes say how much an error in them matters (the influence function).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unskew.errors import EmptyMeasure
from unskew.estimation.costs import EQUAL, Costs
from unskew.rows import Floats


class Masses(NamedTuple):
    """The mass of label +1 and of label -1 at every row."""

    plus: Floats
    minus: Floats


class Slopes(NamedTuple):
    """How much a measure changes with the mass of label +1, and of label -1, at every row."""

    plus: Floats
    minus: Floats


class Total(NamedTuple):
    """Something that is added up over everyone: what a row contributes if its label is +1, and if it is -1."""

    plus: Floats
    minus: Floats

    def of(self, masses: Masses) -> float:
        return float(masses.plus @ self.plus + masses.minus @ self.minus)


class Ratio(NamedTuple):
    """A measure that is one total divided by another."""

    top: Total
    bottom: Total


Measured = tuple[float, Slopes]
Smooth = Callable[[Masses], Measured]
"""Any other measure: its value for given masses, and its slopes there."""


def _says(margin: Floats) -> tuple[Floats, Floats]:
    """Where the classifier says +1, and where it says -1, as numbers."""
    positive = (margin >= 0.0).astype(np.float64)
    return positive, 1.0 - positive


def _every(margin: Floats) -> Total:
    one = np.ones(len(margin))
    return Total(one, one)


def cost(margin: Floats, costs: Costs) -> Ratio:
    """The mean cost of a row: what missed positives and false alarms cost, divided by the number of all rows."""
    yes, no = _says(margin)
    return Ratio(Total(costs.false_negative * no, costs.false_positive * yes), _every(margin))


def error(margin: Floats) -> Ratio:
    """Pr(h(X) != Y): the share of rows that are classified wrongly."""
    return cost(margin, EQUAL)


def log_loss(margin: Floats) -> Ratio:
    """E log(1 + exp(-Y margin))."""
    return Ratio(Total(np.logaddexp(0.0, -margin), np.logaddexp(0.0, margin)), _every(margin))


def precision(margin: Floats) -> Ratio:
    """Pr(Y = +1 | h(X) = +1): the share of predicted +1 that are right."""
    yes, _ = _says(margin)
    return Ratio(Total(yes, 0.0 * yes), Total(yes, yes))


def recall(margin: Floats) -> Ratio:
    """Pr(h(X) = +1 | Y = +1): the share of actual +1 that are found."""
    yes, no = _says(margin)
    return Ratio(Total(yes, 0.0 * yes), Total(yes + no, 0.0 * yes))


def f1(margin: Floats) -> Ratio:
    """The harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN)."""
    yes, _ = _says(margin)
    return Ratio(Total(2.0 * yes, 0.0 * yes), Total(1.0 + yes, yes))


def balanced_error(margin: Floats) -> Smooth:
    """The mean of the error among actual +1 and the error among actual -1."""
    yes, no = _says(margin)

    def measured(masses: Masses) -> Measured:
        P, N = (_some(float(mass.sum()), "balanced error", "rows of both classes") for mass in masses)
        missed, raised = float(masses.plus @ no) / P, float(masses.minus @ yes) / N
        return (missed + raised) / 2.0, Slopes((no - missed) / P / 2.0, (yes - raised) / N / 2.0)

    return measured


def auc(margin: Floats) -> Smooth:
    """The area under the ROC curve: the chance that an actual +1 has a larger margin than an actual -1."""
    order = np.argsort(margin, kind="stable")
    first = np.searchsorted(margin[order], margin, side="left")
    last = np.searchsorted(margin[order], margin, side="right")

    def measured(masses: Masses) -> Measured:
        P, N = (_some(float(mass.sum()), "auc", "rows of both classes") for mass in masses)
        up, down = (np.concatenate([[0.0], np.cumsum(mass[order])]) for mass in masses)
        below = (down[first] + down[last]) / 2.0 / N  # ties count half
        above = 1.0 - (up[first] + up[last]) / 2.0 / P
        value = float(masses.plus @ below) / P
        return value, Slopes((below - value) / P, (above - value) / N)

    return measured


def mean(masses: Masses) -> Measured:
    """The mean of a value (`unskew.estimation.sample.Valued`) over the rows that have a mass."""
    plus, every = float(masses.plus.sum()), float(masses.plus.sum() + masses.minus.sum())
    value, ones = plus / every, np.ones(len(masses.plus))
    return value, Slopes((1.0 - value) / every * ones, -value / every * ones)


MEASURES: dict[str, Callable[[Floats], Ratio | Smooth]] = {
    "error": error,
    "log_loss": log_loss,
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "balanced_error": balanced_error,
    "auc": auc,
}


def restricted(what: Ratio | Smooth, rows: Floats) -> Ratio | Smooth:
    """The same measure on a group of rows alone: 1.0 for the rows that belong to it, 0.0 for the others."""
    if isinstance(what, Ratio):
        top, bottom = (Total(total.plus * rows, total.minus * rows) for total in what)
        return Ratio(top, bottom)

    def measured(masses: Masses) -> Measured:
        value, slopes = what(Masses(masses.plus * rows, masses.minus * rows))
        return value, Slopes(slopes.plus * rows, slopes.minus * rows)

    return measured


def difference(one: Ratio | Smooth, other: Ratio | Smooth, name: str) -> Smooth:
    """How much larger a measure is for one classifier than for another, on the same rows."""

    def found(masses: Masses) -> Measured:
        (first, up), (second, down) = (measured(what, masses, name) for what in (one, other))
        return first - second, Slopes(up.plus - down.plus, up.minus - down.minus)

    return found


def _some(mass: float, measure: str, what: str) -> float:
    if not mass > 0.0:
        raise EmptyMeasure(f"{measure} needs {what}; got an estimated {max(mass, 0.0):.3g} of them. Label more rows.")
    return mass


def measured(what: Ratio | Smooth, masses: Masses, name: str = "this measure") -> Measured:
    """The value of a measure, and its slopes.

    >>> masses = Masses(np.array([0.5, 0.0]), np.array([0.0, 0.5]))
    >>> measured(error(np.array([1.0, 1.0])), masses)[0]                # right on the first row alone
    0.5
    """
    if not isinstance(what, Ratio):
        return what(masses)
    bottom = what.bottom.of(masses)
    if not bottom > 0.0:
        raise EmptyMeasure(
            f"{name} needs some rows to divide by; got an estimated {max(bottom, 0.0):.3g} of the population. "
            "Label more rows."
        )
    value = what.top.of(masses) / bottom
    return value, slopes_at(what, value, bottom)


def slopes_at(what: Ratio, value: float, bottom: float) -> Slopes:
    """The slopes of (top - value bottom) / bottom."""
    return Slopes(
        (what.top.plus - value * what.bottom.plus) / bottom, (what.top.minus - value * what.bottom.minus) / bottom
    )

"""The measures of a classifier: error, log loss, precision, recall."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unskew.rows import Floats


class Outcomes(NamedTuple):
    """A measure as mean numerator / mean denominator: what a row adds to each if its label is +1, and if it is -1."""

    numerator: tuple[Floats, Floats]
    denominator: tuple[Floats, Floats]


def _error(margin: Floats) -> Outcomes:
    """Pr(h(X) != Y): the share of rows that are classified wrongly."""
    says, one = (margin >= 0.0).astype(np.float64), np.ones(len(margin))
    return Outcomes((1.0 - says, says), (one, one))


def _log_loss(margin: Floats) -> Outcomes:
    """E log(1 + exp(-Y margin))."""
    one = np.ones(len(margin))
    return Outcomes((np.logaddexp(0.0, -margin), np.logaddexp(0.0, margin)), (one, one))


def _precision(margin: Floats) -> Outcomes:
    """Pr(Y = +1 | h(X) = +1): the share of predicted +1 that are right."""
    says = (margin >= 0.0).astype(np.float64)
    return Outcomes((says, 0.0 * says), (says, says))


def _recall(margin: Floats) -> Outcomes:
    """Pr(h(X) = +1 | Y = +1): the share of actual +1 that are found."""
    says = (margin >= 0.0).astype(np.float64)
    return Outcomes((says, 0.0 * says), (np.ones(len(margin)), 0.0 * says))


MEASURES: dict[str, Callable[[Floats], Outcomes]] = {
    "error": _error,
    "log_loss": _log_loss,
    "precision": _precision,
    "recall": _recall,
}

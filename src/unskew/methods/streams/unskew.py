"""Unskew on a stream: each row is seen once."""

from typing import Any

import numpy as np

from unskew.methods.learner import Learner
from unskew.methods.rounds import StreamRound, checked_share
from unskew.methods.stream import StreamMethod
from unskew.rows import Floats, Rows

CONFIDENCE = 2.0
"""A margin within this number of standard deviations of 0 may have either sign."""


class StreamedUnskew(Learner, StreamMethod):
    """The model of `Unskew` on a stream: ask where the sign of the margin is in doubt, and at random elsewhere.

    A row is always asked for if |mu| <= 2 s, the disagreement region of the posterior, and with probability `drawn`
    elsewhere. So every row has a known, positive probability, and `error` is valid for the whole population, even if
    the log is not what it claims to be.

    Parameters
    ----------
    drawn : float in [0, 1)
        The probability with which a row outside the region is asked for.
    model : scikit-learn classifier, optional
        As in `Unskew`.
    random_state : int, Generator or None

    Examples
    --------
    >>> from unskew import LoggedData, run
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 2)); y = X[:, 0] > 0
    >>> log = LoggedData(X[:100], y[:100], X[:100, 1] > 0.5, 0.25)
    >>> method = run(StreamedUnskew(random_state=0), log, (X[100:], 0.25), y[100:])
    >>> method.labels_ < 150, bool(method.model_.score(X, y) > 0.95)
    (True, True)
    """

    def __init__(
        self, *, drawn: float = 0.1, model: Any = None, random_state: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(random_state=random_state)
        self.drawn = checked_share(drawn)
        self._use(model)

    def choose(self, X: Rows, q0: Floats) -> StreamRound:
        belief = self.belief(X)
        p = np.where(np.abs(belief.mu) <= CONFIDENCE * belief.deviation(), 1.0, self.drawn)
        queried = self._rng.random(len(p)) < p
        return StreamRound(X, q0, np.where(belief.mu >= 0.0, 1.0, -1.0), queried, queried, p)

"""Unskew: the method to use. Nothing to tune, every label of every source, a stream or a pool."""

from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from unskew.errors import InputError
from unskew.methods.loop import Method, Round
from unskew.models.bayes import BayesianLogistic
from unskew.models.classifiers import check_classifier
from unskew.models.committee import BootstrapCommittee
from unskew.rows import Floats, Ints, Rows, stack, take
from unskew.sampling import weights

LOOK_AT = 50_000
"""Of a larger pool, each round looks at so many rows, drawn afresh."""

CONFIDENCE = 2.0
"""A margin within so many standard deviations of 0 may have either sign."""

GROWTH = 1.3
"""The prior is chosen anew once there are so many times the labels of the last time."""


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> Any:
    """Linear algebra on one thread: matrices are small, and threads would mostly wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


class Unskew(Method):
    """Learn from every label so far, and ask for the labels that settle most of the signs still in doubt.

    The model is `BayesianLogistic`: intercept, standardised and Fourier features, a prior chosen by the
    evidence of the labels at hand. Its posterior gives every row a margin with mean mu and standard
    deviation s, and s is large where the log is thin.

    - On a **pool** (`ask(X, q0, k)`) a label is worth what it tells of all rows: the sum, over the rows of the pool, of
      the chance that the sign of the margin is wrong times the share of its variance that the label takes away
      (`unskew.models.belief`). Rows are picked one after the other, each as if those before were labelled. So labels
      go where many rows are in doubt, the log's blind spots among them, and a batch is not k copies of one row. A
      share `audit` of all labels goes to rows drawn at random from the others; without any label yet, all do.
    - On a **stream** a row is asked for when |mu| <= 2 s, the disagreement region of the posterior, and with
      probability `audit` elsewhere.

    Labels are weighed by the mixture of log and rounds, tempered (`weights.thinness`): where the log reveals much, one
    label more or less says little; where it is thin, each counts for more rows of the population.

    Every row asked for carries the probability with which it was (`rounds_[k].p`): 1 for chosen rows, the
    chance of the draw for audited ones. That is what error estimates for the whole population rest on.

    Parameters
    ----------
    audit : float in [0, 1)
        Share of the labels spent at random.
    model : scikit-learn classifier, optional
        Learn with this one instead; how sure it is of a margin is seen from a committee of copies of it
        (`BootstrapCommittee`), and rows are picked by |mu| / s. Its `fit` takes `sample_weight`.
    random_state : int, Generator or None

    Examples
    --------
    >>> from unskew import LoggedData, Unskew
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (600, 2)); y = X[:, 0] * X[:, 1] > 0
    >>> log = LoggedData(X[:200], y[:200], X[:200, 0] > 0, np.where(X[:200, 0] > 0, 0.9, 0.01))
    >>> method = Unskew(random_state=0).start(log)
    >>> asked = method.ask(X[200:], q0=0.1, k=20)
    >>> method.tell(y[200:][asked]).labels_
    20
    >>> method.rounds_[0].p.round(4).tolist()[-3:]              # the last two were drawn at random
    [1.0, 0.0052, 0.0052]
    """

    pools = True

    def __init__(
        self, *, audit: float = 0.1, model: Any = None, random_state: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(random_state=random_state)
        if not 0.0 <= audit < 1.0:
            raise InputError(f"audit must be in [0, 1); got {audit}. The share 0.1 is a good start.")
        if model is not None:
            check_classifier(model)
        self.audit, self.model = audit, model

    def warm_start(self) -> None:
        log = self.log_
        rng, given = self._rng, self.model
        model = BayesianLogistic(random_state=rng) if given is None else BootstrapCommittee(given, random_state=rng)
        self._model = model.prepare(log.X, log.classes)
        self._X, self._y, self._q0 = log.revealed_X, log.revealed_y, log.revealed_q0
        self._chosen_at = 0
        self._fit()

    def choose(self, X: Rows, q0: Floats) -> Round:
        with one_thread():
            belief = self._model.belief(X)
            mu, s = belief.mu, belief.deviation()
        p = np.where(np.abs(mu) <= CONFIDENCE * s, 1.0, self.audit)
        queried = self._rng.random(len(p)) < p
        return Round(X, q0, np.where(mu >= 0.0, 1.0, -1.0), queried, queried, p)

    def pick(self, X: Rows, q0: Floats, k: int) -> Round:
        n = len(q0)
        audited = sum(int(np.count_nonzero(batch.audit)) for batch in self.rounds_ if batch.audit is not None)
        due = int(self.audit * (self.labels_ + k)) - audited
        audits = min(max(due, 0), k) if len(self._y) else k
        seen = np.arange(n) if n <= LOOK_AT else self._rng.choice(n, max(LOOK_AT, k), replace=False)
        with one_thread():
            chosen = seen[self.wanted(take(X, seen), k - audits)] if audits < k else seen[:0]
        others = np.setdiff1d(np.arange(n), chosen, assume_unique=True)
        drawn = self._rng.choice(others, audits, replace=False)
        asked = np.concatenate((chosen, drawn))
        p = np.ones(k)
        p[k - audits :] = audits / max(len(others), 1)
        rows = take(X, asked)
        everything = np.ones(k, dtype=bool)
        return Round(
            rows, q0[asked], self.infer(rows), everything, everything, p,
            positions=asked, audit=np.arange(k) >= k - audits, rest=len(others),
        )  # fmt: skip

    def wanted(self, X: Rows, k: int) -> Ints:
        """The k rows whose labels the model would learn most from."""
        return self._model.wanted(X, k, self._rng)

    def learn(self, batch: Round) -> None:
        bought = batch.queried
        self._X = stack([self._X, take(batch.X, bought)])
        self._y = np.concatenate((self._y, batch.y[bought]))
        self._q0 = np.concatenate((self._q0, batch.q0[bought]))
        self._fit()

    def _fit(self) -> None:
        labels = len(self._y)
        choose = labels >= max(GROWTH * self._chosen_at, 4)
        if choose:
            self._chosen_at = labels
        with one_thread():
            self._model.update(self._X, self._y, self.weights(), choose=choose)

    def weights(self) -> Floats:
        """What each label counts for, the log's first: rows that log and rounds have covered thinly count for more."""
        logged = int(np.count_nonzero(self.log_.z))
        return weights.thinness(self.log_.q0, self._q0[:logged], self._q0[logged:])

    @property
    def model_(self) -> Any:
        """The present model, as it is now: later rounds do not change it."""
        return self._model.model

"""What `Unskew` on a pool and on a stream share: a model that learns from every label so far, each with its weight."""

from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from unskew.methods.loop import Method
from unskew.models.bayes import BayesianLogistic
from unskew.models.belief import Belief
from unskew.models.classifiers import check_classifier, margins
from unskew.models.committee import BootstrapCommittee
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.laplace import leave_one_out
from unskew.rows import Floats, Ints, Rows, stack
from unskew.sampling import weights

GROWTH = 1.3
"""The prior is chosen anew once the number of labels has grown by this factor."""

FOLDS = 5
"""Models without a closed form judge labelled rows by cross-fitting in this number of folds."""


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> Any:
    """Linear algebra on one thread: matrices are small, and threads would mostly wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@dataclass(frozen=True, eq=False)
class Learnt:
    """The model, and the labelled rows it was fitted to, the log's first; never changed in place."""

    model: Any
    X: Rows
    y: Floats
    q0: Floats
    chosen_at: int
    """The number of labels when the prior was chosen last."""


class Learner(Method):
    """A method whose model is fitted to every label so far; `BayesianLogistic` unless another is given.

    Parameters
    ----------
    model : scikit-learn classifier, optional
        Learn with this one instead. A committee of copies of it (`BootstrapCommittee`) says how sure it is. Its `fit`
        takes `sample_weight`.
    """

    model: Any
    state_: Learnt

    def _use(self, model: Any) -> None:
        if model is not None:
            check_classifier(model)
        self.model = model

    def warm_start(self) -> Learnt:
        log, rng, given = self.log_, self._rng, self.model
        model = BayesianLogistic(random_state=rng) if given is None else BootstrapCommittee(given, random_state=rng)
        model.prepare(log.X, log.classes)
        return self._fitted(Learnt(model, log.revealed_X, log.revealed_y, log.revealed_q0, 0))

    def learn(self, batch: Any) -> Learnt:
        known, bought = self.state_, batch.bought
        return self._fitted(
            Learnt(
                copy(known.model),
                stack([known.X, bought.X]),
                np.concatenate((known.y, bought.y)),
                np.concatenate((known.q0, bought.q0)),
                known.chosen_at,
            )
        )

    def _fitted(self, known: Learnt) -> Learnt:
        """The same labels, with the model (ours alone by now) fitted to them."""
        labels = len(known.y)
        choose = labels >= max(GROWTH * known.chosen_at, 4)
        with one_thread():
            known.model.update(known.X, known.y, self.weights(known), choose=choose)
        return Learnt(known.model, known.X, known.y, known.q0, labels if choose else known.chosen_at)

    def weights(self, known: Learnt) -> Floats:
        """What each label counts for: rows that log and rounds have covered thinly count for more."""
        logged = int(np.count_nonzero(self.log_.z))
        return weights.thinness(self.log_.q0, known.q0[:logged], known.q0[logged:])

    @property
    def model_(self) -> Any:
        return self.state_.model.model

    def score(self, X: Rows) -> Floats:
        model = self.model_
        with one_thread():
            if isinstance(model, BayesianLogistic):
                return model.decision_function(X)
            return margins(model, X, self.log_.classes[1])

    def belief(self, X: Rows) -> Belief:
        with one_thread():
            found: Belief = self.state_.model.belief(X)
            return found

    def wanted(self, X: Rows, k: int) -> Ints:
        """The k rows whose labels the model would learn most from."""
        with one_thread():
            found: Ints = self.state_.model.wanted(X, k, self._rng)
            return found

    def held_out(self, X: Rows, y: Floats) -> Floats:
        """In closed form for `BayesianLogistic`, by cross-fitting for other models."""
        model, v = self.model_, self.weights(self.state_)
        if isinstance(model, BayesianLogistic):
            with one_thread():
                return leave_one_out(model.expand(X), y, v, model.posterior_)
        return cross_fitted_margins(model, X, y, v, folds=min(FOLDS, len(y)))

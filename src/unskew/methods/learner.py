"""The common part of `Unskew` on a pool and on a stream: a model fitted to every label so far, each with a weight."""

from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from unskew.errors import InputError
from unskew.methods.loop import Method
from unskew.models.bayes import AIMS, BayesianLogistic
from unskew.models.belief import Belief
from unskew.models.classifiers import check_classifier, deciding
from unskew.models.committee import BootstrapCommittee
from unskew.models.team import Team
from unskew.rows import Floats, Ints, Rows, stack, take
from unskew.sampling import weights

GROWTH = 1.3
"""The prior is chosen again once the number of labels has grown by this factor."""


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> Any:
    """Run linear algebra on one thread: matrices are small, and threads would mostly wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@dataclass(frozen=True, eq=False)
class Learned:
    """The model and the labelled rows it was fitted to, the log's rows first. It is never changed in place."""

    model: Any
    X: Rows
    y: Floats
    q0: Floats
    chosen_at: int
    """The number of labels when the prior was last chosen."""


class Member(NamedTuple):
    """A member of the team: what it is, its weight, and the method as if its model were this member alone."""

    name: str
    weight: float
    alone: "Learner"


class Learner(Method):
    """A method whose model is fitted to every label so far; the default model is a `Team`.

    Parameters
    ----------
    model : scikit-learn classifier, optional
        Learn with this classifier instead. A committee of copies of it (`BootstrapCommittee`) measures how sure it is,
        unless it is a `Team` or a `BayesianLogistic`, which know. Its `fit` must take `sample_weight`.
    """

    model: Any
    state_: Learned

    def _use(self, model: Any) -> None:
        if model is not None:
            check_model(model)
        self.model = model

    def warm_start(self) -> Learned:
        log = self.log_
        model = _knowing(self.model, self._rng).prepare(log.X, log.classes, blocks=log.blocks)
        return self._fitted(Learned(model, log.revealed_X, log.revealed_y, log.revealed_q0, 0))

    def learn(self, batch: Any) -> Learned:
        known, bought = self.state_, batch.bought
        return self._fitted(
            Learned(
                copy(known.model),
                stack([known.X, bought.X]),
                np.concatenate((known.y, bought.y)),
                np.concatenate((known.q0, bought.q0)),
                known.chosen_at,
            )
        )

    def _fitted(self, known: Learned) -> Learned:
        """The same labels, with the model fitted to them; nobody else holds this model, so it is fitted in place."""
        labels = len(known.y)
        choose = labels >= max(GROWTH * known.chosen_at, 4)
        with one_thread():
            known.model.update(known.X, known.y, self.weights(known), choose=choose)
        return Learned(known.model, known.X, known.y, known.q0, labels if choose else known.chosen_at)

    def weights(self, known: Learned) -> Floats:
        """The weight of each label: rows that log and rounds have covered thinly count more."""
        log, logged = self.log_, int(np.count_nonzero(self.log_.z))
        return weights.thinness(log.q0, known.q0[:logged], known.q0[logged:], counts=log.counts, rate=log.rate)

    @property
    def model_(self) -> Any:
        model = self.state_.model.model
        return deciding(model, self.costs.threshold, self.log_.classes[1])

    def members(self) -> list[Member]:
        """The members of the model, if it is a `Team`. What one is worth by itself is `member.alone.error()`."""
        team, found = self.state_.model, []
        for k, name in enumerate(team.names_ if isinstance(team, Team) else ()):
            alone = copy(self)
            alone.state_ = replace(self.state_, model=team.alone(k))
            found.append(Member(name, float(team.weights_[k]), alone))
        return found

    def score(self, X: Rows) -> Floats:
        with one_thread():
            found: Floats = self.state_.model.margin(X)
            return found

    def log_odds(self, X: Rows) -> Floats:
        last: list[Any] = getattr(self, "_looked_at", [None, None])
        if last[0] is X and last[1] is not None:
            return np.asarray(last[1])
        with one_thread():
            found: Floats = self.state_.model.log_odds(X)
        if last[0] is X:
            last[1] = found
        return found

    def belief(self, X: Rows) -> Belief:
        if not self.believes:
            raise InputError(f"a belief is about two classes; the log has {self.log_.K}. Ask for wanted or log_odds.")
        with one_thread():
            found: Belief = self.state_.model.belief(X)
            return found

    def wanted(self, X: Rows, k: int) -> Ints:
        """The k rows from whose labels the model would learn most."""
        model = self.state_.model
        known = (self.log_odds(X),) if isinstance(model, Team) else ()
        with one_thread():
            found: Ints = model.wanted(X, k, self._rng, self.costs.log_odds, *known)
            return found

    def screen(self, X: Rows) -> Any:
        """A quick look at rows, given an even sample of them; None if rows are wanted by another rule or model."""
        model = self.state_.model
        if type(self).wanted is not Learner.wanted or not isinstance(model, (Team, BayesianLogistic)):
            return None
        with one_thread():
            return model.screen(take(X, np.arange(min(AIMS, X.shape[0]))), self.costs.log_odds)

    def settle(self, X: Rows, k: int, screen: Any) -> Ints:
        """The k rows from whose labels the model would learn most about the rows that the screen was made from."""
        with one_thread():
            found: Ints = self.state_.model.settle(X, screen.stake, k)
            return found

    def held_out(self, X: Rows, y: Floats) -> Floats:
        """Log-odds without the row's own label: in closed form, by trees that have not seen it, or by cross-fitting."""
        with one_thread():
            found: Floats = self.state_.model.held_out(X, y, self.weights(self.state_))
            return found


def check_model(model: Any) -> None:
    """Refuse what cannot be the model of a `Learner`."""
    if isinstance(model, Team):
        model.check()
    else:
        check_classifier(model)


def _knowing(model: Any, rng: np.random.Generator) -> Any:
    """A model that knows how sure it is, to be fitted: a copy of this one, or a committee of copies, or the default."""
    if model is None:
        return Team(random_state=rng)
    if not isinstance(model, (Team, BayesianLogistic)):
        return BootstrapCommittee(model, random_state=rng)
    own = clone(model)
    return own if own.random_state is not None else own.set_params(random_state=rng)

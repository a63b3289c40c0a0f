"""The model of `Unskew`: a Bayesian logistic regression and trees, weighted by how well each predicts unseen labels."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew.errors import InputError
from unskew.labels import positions
from unskew.models.bayes import BayesianLogistic, labelled_set
from unskew.models.belief import Belief
from unskew.models.classifiers import check_classifier, fit_weighted, seeded
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.inputs import of_blocks
from unskew.models.scores import scale
from unskew.models.screen import Screen
from unskew.models.stacking import stacked, together
from unskew.models.trees import Trees
from unskew.rows import Blocks, Floats, Ints, Rows, take

GROWTH, IDLE = 1.1, 1.3
"""Members that take long are fitted again once the number of labels has grown by the first factor; by the second, if
none of them had any weight."""

ENOUGH = 10
"""With fewer labels, the logistic regression is alone."""

FOLDS = 5


class Team(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A few classifiers with nothing to tune; their log-odds are added, each times a weight of at least 0.

    The first member is `BayesianLogistic`, which is at its best if the truth is smooth and labels are few. The second
    is `Trees`, which take columns as they are and find steps and interactions. Weights are those with which the
    team best predicts the labels at hand, each label being predicted without itself: in closed form by the logistic
    regression, out-of-bag by the trees, by cross-fitting by any other classifier (stacking, Wolpert 1992)::

        minimise over a >= 0:   sum_i v_i log(1 + exp(-y_i sum_m a_m l_m(x_i))) + 4 sum_m (a_m - b_m)^2

    where l_m(x_i) are the log-odds by member m without label i, and b = (0.8, 0.2) is where the weights start from. A
    member gets no weight if the log loss (the sum over labels) without it is larger by less than half a unit. So if the
    truth is linear, the trees are left out, and cost nothing more when the team predicts.

    If there are more than two classes, each member has scores l_mk for every class k (`unskew.models.scores`), the
    probability of class k is proportional to exp(sum_m a_m l_mk), and the log loss is that of K classes.

    How sure the team is of its margins, and how they move together, comes from the logistic regression.

    Parameters
    ----------
    others : sequence of scikit-learn classifiers
        Further members. They are copied, never changed, and fitted with `sample_weight`. If a `random_state` is None,
        it is seeded.
    random_state : int, Generator or None

    Attributes
    ----------
    classes_ : array of the class values, of two the positive one last
    members_ : list of fitted models
    weights_ : array, one weight for each member

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (800, 4)); y = np.round(3 * X[:, 0]) % 2 == 0          # stripes: steps, not curves
    >>> team = Team(random_state=0).fit(X[:200], y[:200])
    >>> [round(team.alone(member).score(X[200:], y[200:]), 1) for member in (0, 1)]
    [0.5, 0.9]
    >>> bool(team.weights_[1] > team.weights_[0]), round(team.score(X[200:], y[200:]), 1)
    (True, 0.8)
    """

    classes_: NDArray[Any]
    n_features_in_: int
    members_: list[Any]
    weights_: Floats

    def __init__(self, others: Sequence[Any] = (), *, random_state: int | np.random.Generator | None = None) -> None:
        self.others = others
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows alone."""
        rows, labels, v, classes = labelled_set(self, X, y, sample_weight)
        twin = copy(self)  # if this fails, the team stays as it was
        twin._start(rows, classes, v)
        twin.update(rows, labels, v, choose=True)
        self.__dict__.update(twin.__dict__)
        return self

    def prepare(self, X: Rows, classes: NDArray[Any], blocks: Blocks = ()) -> Self:
        """Take means, deviations and distances from unlabelled rows; the logistic regression starts alone.

        The columns of a block share one scale (`unskew.models.features`).
        """
        self.n_features_in_ = X.shape[1]
        self._start(X, classes, None, blocks)
        return self

    def check(self) -> Self:
        """The team itself, if its other members are classifiers that can be members."""
        if not isinstance(self.others, Sequence):
            raise InputError(
                f"others must be a list of classifiers; got {self.others!r:.60}. Write Team([classifier])."
            )
        for other in self.others:
            check_classifier(other)
        return self

    def _start(self, X: Rows, classes: NDArray[Any], v: Floats | None, blocks: Blocks = ()) -> None:
        self.check()
        rng = np.random.default_rng(self.random_state)
        logistic = BayesianLogistic(random_state=rng).prepare(X, classes, v, blocks)
        self._seed = int(rng.integers(2**31))
        self.classes_, self.members_, self.weights_ = np.asarray(classes), [logistic], np.ones(1)
        self._scale, self._fitted_at, self._honest = scale(len(classes)), 0, np.empty((1, 0))

    @property
    def names_(self) -> list[str]:
        """What the members are, in the order of `members_`."""
        return [type(member).__name__ for member in self.members_]

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Learn from labels y with weights v, those of the last update first; `choose` is for the prior.

        Labels are numbers (`unskew.labels.codes`). If this fails, the team stays as it was.
        """
        logistic, slow = copy(self.members_[0]), self.members_[1:]
        logistic.update(X, y, v, choose=choose, sharpen=False)  # its weight does that
        at, growth = self._fitted_at, GROWTH if self.weights_[1:].any() else IDLE
        if len(y) >= max(ENOUGH, growth * at) and len(np.unique(y)) > 1:
            slow, held_out = self._fitted(logistic, X, y, v)
            at = len(y)
        else:  # they have not seen the newer labels, so what they predict there is honest
            newer = take(X, np.arange(at, len(y)))
            held_out = [
                np.concatenate((known[:at], self._of(member, newer, logistic)))
                for member, known in zip(slow, self._honest[1:], strict=True)
            ]
        honest = np.array([logistic.held_out(X, y, v), *held_out])
        # Alone, log-odds of two classes have weight 1; scores of each class against the rest are too unsure or too sure
        weighed = len(y) and (slow or honest.ndim > 2)
        weights = stacked(honest, y, v, self._scale) if weighed else np.ones(1)
        self.members_, self.weights_, self._honest, self._fitted_at = [logistic, *slow], weights, honest, at

    def _fitted(self, logistic: BayesianLogistic, X: Rows, y: Floats, v: Floats) -> tuple[list[Any], list[Floats]]:
        """The members that take long, fitted to all labels, and their scores of each label without itself."""
        K, n = self._scale.K, len(y)
        trees = Trees(logistic.features_.columns(X), y, v, K, seed=self._seed)
        values = self.classes_[positions(y, K)]
        others = [fit_weighted(seeded(other, self._seed), X, values, v) for other in self.others]
        held_out = [cross_fitted_margins(other, X, y, v, FOLDS, K=K) for other in others]
        return [trees, *others], [trees.out_of_bag, *(self._scale.limited(scores, n) for scores in held_out)]

    def _of(self, member: Any, X: Rows, logistic: BayesianLogistic) -> Floats:
        """The scores of rows by one member."""
        if isinstance(member, BayesianLogistic):
            return member.log_odds(X)
        if isinstance(member, Trees):
            return member.log_odds(logistic.features_.columns(X))
        return self._scale.limited(self._scale.by(member, X, self.classes_, self._fitted_at), self._fitted_at)

    @property
    def model(self) -> Self:
        """A copy of the team as it is now: later updates do not change it."""
        return copy(self)

    def alone(self, member: int) -> Self:
        """The team as if it had only this member."""
        twin = copy(self)
        twin.weights_ = np.eye(len(self.members_))[member]
        return twin

    def wanted(
        self, X: Rows, k: int, rng: np.random.Generator, threshold: float = 0.0, log_odds: Floats | None = None
    ) -> Ints:
        """The k rows whose labels would settle most signs, by the team's `log_odds`, if they are known already."""
        found: Ints = self.members_[0].wanted(X, k, rng, threshold, self._log_odds(X) if log_odds is None else log_odds)
        return found

    def settle(self, X: Rows, M: Floats, k: int, log_odds: Floats | None = None) -> Ints:
        """The k of these rows whose labels would settle most, one after the other; M is what is at stake."""
        found: Ints = self.members_[0].settle(X, M, k, self._log_odds(X) if log_odds is None else log_odds)
        return found

    def screen(self, aims: Rows, threshold: float = 0.0) -> Screen | None:
        """The team as a `Screen` for very many rows; a label is meant to settle the signs of the `aims`.

        None if rows are sparse, or have so many columns that they are projected, or if another member has a weight.
        """
        if self.weights_[2:].any():
            return None
        logistic, trees = self.members_[0], self.members_[1] if len(self.members_) > 1 else None
        weights = float(self.weights_[0]), float(self.weights_[1:].sum())
        found: Screen | None = logistic.screen(aims, threshold, self._log_odds(aims), weights, trees)
        return found

    def belief(self, X: Rows) -> Belief:
        """The margins of rows: their means by the team, and their covariances by the logistic regression.

        There is one margin for each row, so there must be two classes.
        """
        found: Belief = self.members_[0].belief(X, self._log_odds(X))
        return found

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """The scores of the labelled rows of the last `update`, each as if its own label had been left out."""
        return self._scale.normalised(together(self.weights_, self._honest))

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the positive class for every row: log(p / (1 - p)) of `predict_proba`.

        Of more than two classes, the logarithms of `predict_proba`, one column for each.
        """
        check_is_fitted(self, "weights_")
        return of_blocks(self, X, self._log_odds)

    log_odds = decision_function

    def margin(self, X: Any) -> Floats:
        """The log-odds of every row; of more than two classes, of the likeliest one against the second."""
        scores = self.decision_function(X)
        return self._scale.contrast([scores])[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of every row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[self._scale.predicted(scores)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of all classes."""
        scores = self.decision_function(X)
        return self._scale.probabilities(scores)

    def _log_odds(self, X: Rows) -> Floats:
        logistic, members = self.members_[0], zip(self.members_, self.weights_, strict=True)
        scores = np.asarray(sum(a * self._of(member, X, logistic) for member, a in members if a > 0.0))
        return self._scale.normalised(scores)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

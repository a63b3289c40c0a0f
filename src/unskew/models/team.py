"""The model of `Unskew`: a Bayesian logistic regression and trees, weighted by how well each predicts unseen labels."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew.errors import InputError
from unskew.models.bayes import BayesianLogistic, labelled_set
from unskew.models.belief import Belief
from unskew.models.classifiers import check_classifier, fit_weighted, margins, seeded
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.inputs import of_blocks
from unskew.models.screen import Screen
from unskew.models.trees import Trees
from unskew.rows import Blocks, Floats, Ints, Rows, take

GROWTH, IDLE = 1.1, 1.3
"""Members that take long are fitted again once the number of labels has grown by the first factor; by the second, if
none of them had any weight."""

ENOUGH = 10
"""With fewer labels, the logistic regression is alone."""

FIRST, PULL = 0.8, 4.0
"""As long as labels are few, the logistic regression has about the first weight, and the others share the rest. PULL is
the price, in units of log loss, of a squared distance of 1 from there."""

NO_WEIGHT = 0.01
"""A smaller weight counts as 0."""

WORTH = 0.5
"""A member gets no weight unless the log loss without it would be larger by this much."""

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

    How sure the team is of its margins, and how they move together, comes from the logistic regression.

    Parameters
    ----------
    others : sequence of scikit-learn classifiers
        Further members. They are copied, never changed, and fitted with `sample_weight`. If a `random_state` is None,
        it is seeded.
    random_state : int, Generator or None

    Attributes
    ----------
    classes_ : array of the two class values, the positive one last
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
        rows, sign, v, classes = labelled_set(self, X, y, sample_weight)
        twin = copy(self)  # if this fails, the team stays as it was
        twin._start(rows, classes, v)
        twin.update(rows, sign, v, choose=True)
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
        self._fitted_at, self._honest = 0, np.empty((1, 0))

    @property
    def names_(self) -> list[str]:
        """What the members are, in the order of `members_`."""
        return [type(member).__name__ for member in self.members_]

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Learn from labels y in {-1, +1} with weights v, those of the last update first; `choose` is for the prior.

        If this fails, the team stays as it was.
        """
        logistic, slow = copy(self.members_[0]), self.members_[1:]
        logistic.update(X, y, v, choose=choose)
        at, growth = self._fitted_at, GROWTH if self.weights_[1:].any() else IDLE
        if len(y) >= max(ENOUGH, growth * at) and len(np.unique(y)) == 2:
            slow, held_out = self._fitted(logistic, X, y, v)
            at = len(y)
        else:  # they have not seen the newer labels, so what they predict there is honest
            newer = take(X, np.arange(at, len(y)))
            held_out = [
                np.concatenate((known[:at], self._of(member, newer, logistic)))
                for member, known in zip(slow, self._honest[1:], strict=True)
            ]
        honest = np.array([logistic.held_out(X, y, v), *held_out])
        weights = stacked(honest, y, v) if slow else np.ones(1)
        self.members_, self.weights_, self._honest, self._fitted_at = [logistic, *slow], weights, honest, at

    def _fitted(self, logistic: BayesianLogistic, X: Rows, y: Floats, v: Floats) -> tuple[list[Any], list[Floats]]:
        """The members that take long, fitted to all labels, and their log-odds of each label without itself."""
        trees = Trees(logistic.features_.columns(X), y > 0.0, v, seed=self._seed)
        values = self.classes_[(y > 0.0).astype(np.intp)]
        others = [fit_weighted(seeded(other, self._seed), X, values, v) for other in self.others]
        held_out = [cross_fitted_margins(other, X, y, v, FOLDS) for other in others]
        return [trees, *others], [trees.out_of_bag, *(_limited(margin, len(y)) for margin in held_out)]

    def _of(self, member: Any, X: Rows, logistic: BayesianLogistic) -> Floats:
        """The log-odds of rows by one member."""
        if isinstance(member, BayesianLogistic):
            return member.log_odds(X)
        if isinstance(member, Trees):
            return member.log_odds(logistic.features_.columns(X))
        return _limited(margins(member, X, self.classes_[1]), self._fitted_at)

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
        """The margins of rows: their means by the team, and their covariances by the logistic regression."""
        found: Belief = self.members_[0].belief(X, self._log_odds(X))
        return found

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """The log-odds of the labelled rows of the last `update`, each as if its own label had been left out."""
        return np.asarray(self.weights_ @ self._honest)

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the positive class for every row: log(p / (1 - p)) of `predict_proba`."""
        check_is_fitted(self, "weights_")
        return of_blocks(self, X, self._log_odds)

    margin = log_odds = decision_function

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier class of every row."""
        positive = self.decision_function(X) >= 0.0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of both classes."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def _log_odds(self, X: Rows) -> Floats:
        logistic, members = self.members_[0], zip(self.members_, self.weights_, strict=True)
        return np.asarray(sum(a * self._of(member, X, logistic) for member, a in members if a > 0.0))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def _limited(margin: Floats, labels: int) -> Floats:
    """Margins of at most log(n + 1) (Laplace's rule of succession): pure leaves would claim infinite ones."""
    return np.clip(margin, -np.log(labels + 1.0), np.log(labels + 1.0))


def stacked(honest: Floats, y: Floats, v: Floats) -> Floats:
    """The weights of members with these honest log-odds of the labels y, one row for each member.

    >>> y = np.array([1.0, -1.0] * 20); useless = np.tile([1.0, 1.0, -1.0, -1.0], 10)
    >>> stacked(np.array([2.0 * y, useless]), y, np.ones(40)).round(1).tolist()
    [1.5, 0.0]
    """
    weights, kept = np.zeros(len(honest)), list(range(len(honest)))
    found, loss = _best(honest, y, v)
    while len(kept) > 1:
        fewer = [[other for other in kept if other != member] for member in kept[1:]]
        without = [_best(honest[some], y, v) for some in fewer]
        least = int(np.argmin([worse for _, worse in without]))
        if without[least][1] >= loss + WORTH:
            break
        kept, (found, loss) = fewer[least], without[least]
    weights[kept] = np.where(found < NO_WEIGHT, 0.0, found)
    return weights if weights.any() else np.eye(len(honest))[0]


def _best(honest: Floats, y: Floats, v: Floats) -> tuple[Floats, float]:
    """The weights of these members, and the log loss that they leave."""
    members = len(honest)
    first = np.ones(1) if members == 1 else np.append(FIRST, np.full(members - 1, (1.0 - FIRST) / (members - 1)))

    def loss(a: Floats) -> tuple[float, Floats]:
        z = y * (a @ honest)
        value = float(v @ np.logaddexp(0.0, -z) + PULL * np.sum((a - first) ** 2))
        return value, honest @ (-v * y * expit(-z)) + 2.0 * PULL * (a - first)

    found = minimize(loss, first, jac=True, bounds=[(0.0, None)] * members, method="L-BFGS-B").x
    return found, float(v @ np.logaddexp(0.0, -y * (found @ honest)))

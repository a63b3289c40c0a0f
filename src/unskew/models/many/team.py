"""The model of `Unskew` for more than two classes: the same team as for two, with a score for every class."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew.errors import InputError
from unskew.labels import MOST_CLASSES, codes, positions
from unskew.models.classifiers import fit_weighted, seeded
from unskew.models.inputs import check_some_weight, check_usable, of_blocks, training_rows
from unskew.models.many.cross_fitting import cross_fitted_scores
from unskew.models.many.logistic import CODES, FREQUENCIES, OneAgainstRest
from unskew.models.many.scores import class_scores, gaps, log_probabilities
from unskew.models.many.trees import ManyTrees
from unskew.models.team import ENOUGH, FIRST, FOLDS, GROWTH, IDLE, NO_WEIGHT, PULL, WORTH
from unskew.rows import Blocks, Floats, Ints, Rows, take


class ManyTeam(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A few classifiers for more than two classes; their scores are added, each times a weight of at least 0.

    The members are those of `unskew.models.team.Team`: a logistic regression (`OneAgainstRest`) and trees
    (`ManyTrees`). The probability of class c at row x is proportional to exp(sum_m a_m l_mc(x)), where l_mc are the
    scores of member m. Weights a are those with which the team best predicts the labels at hand, each label being
    predicted without itself; the rule is the one of `Team`, with the log loss of K classes.

    Parameters
    ----------
    others : sequence of scikit-learn classifiers
        Further members.
    frequencies, few : int
        As for `unskew.models.bayes.BayesianLogistic`.
    trees : bool
        Whether trees are among the members.
    random_state : int, Generator or None

    Attributes
    ----------
    classes_ : array of the class values
    members_ : list of fitted models
    weights_ : array, one weight for each member

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> team = ManyTeam(random_state=0).fit(X[::2], y[::2])
    >>> bool(team.score(X[1::2], y[1::2]) > 0.9), team.predict_proba(X[:2]).shape
    (True, (2, 3))
    """

    classes_: NDArray[Any]
    n_features_in_: int
    members_: list[Any]
    weights_: Floats

    def __init__(
        self,
        others: Sequence[Any] = (),
        *,
        frequencies: int = FREQUENCIES,
        few: int = CODES,
        trees: bool = True,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.others = others
        self.frequencies = frequencies
        self.few = few
        self.trees = trees
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows alone."""
        rows, labels, v = training_rows(self, X, y, sample_weight, first=True)
        check_usable(rows)
        check_some_weight(v)
        some = v > 0.0
        rows, labels, v = take(rows, some), labels[some], v[some]
        classes = np.unique(labels)
        if not 3 <= len(classes) <= MOST_CLASSES:
            raise InputError(
                f"y must show from 3 to {MOST_CLASSES} classes; got {len(classes)}. Use Team for two classes."
            )
        twin = copy(self)  # if this fails, the team stays as it was
        twin._start(rows, classes, v)
        twin.update(rows, codes(labels, classes), v, choose=True)
        self.__dict__.update(twin.__dict__)
        return self

    def prepare(self, X: Rows, classes: NDArray[Any], blocks: Blocks = ()) -> Self:
        """Take means, deviations and distances from unlabelled rows; the logistic regression starts alone."""
        self.n_features_in_ = X.shape[1]
        self._start(X, classes, None, blocks)
        return self

    def _start(self, X: Rows, classes: NDArray[Any], v: Floats | None, blocks: Blocks = ()) -> None:
        rng = np.random.default_rng(self.random_state)
        logistic = OneAgainstRest(rng, self.frequencies, self.few).prepare(X, classes, v, blocks)
        self._seed = int(rng.integers(2**31))
        self.classes_, self.members_, self.weights_ = np.asarray(classes), [logistic], np.ones(1)
        self._fitted_at, self._honest = 0, np.empty((1, 0, len(classes)))

    @property
    def names_(self) -> list[str]:
        """What the members are, in the order of `members_`."""
        return [type(member).__name__ for member in self.members_]

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Learn from labels y in 1, ..., K with weights v, those of the last update first; `choose` is for the prior.

        If this fails, the team stays as it was.
        """
        logistic, slow = copy(self.members_[0]), self.members_[1:]
        logistic.update(X, y, v, choose=choose)
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
        weights = stacked(honest, positions(y, len(self.classes_)), v) if len(y) else np.ones(1)
        self.members_, self.weights_, self._honest, self._fitted_at = [logistic, *slow], weights, honest, at

    def _fitted(self, logistic: OneAgainstRest, X: Rows, y: Floats, v: Floats) -> tuple[list[Any], list[Floats]]:
        """The members that take long, fitted to all labels, and their scores of each label without itself."""
        K, values = len(self.classes_), self.classes_[positions(y, len(self.classes_))]
        members: list[Any] = []
        if self.trees:
            members.append(ManyTrees(logistic.features_.columns(X), y, v, K, seed=self._seed))
        held_out = [trees.out_of_bag for trees in members]
        for other in self.others:
            members.append(fit_weighted(seeded(other, self._seed), X, values, v))
            held_out.append(cross_fitted_scores(members[-1], X, values, v, self.classes_, FOLDS))
        return members, held_out

    def _of(self, member: Any, X: Rows, logistic: OneAgainstRest) -> Floats:
        """The scores of rows by one member."""
        if isinstance(member, OneAgainstRest):
            return member.scores(X)
        if isinstance(member, ManyTrees):
            return member.scores(logistic.features_.columns(X))
        return class_scores(member, X, self.classes_, self._fitted_at)

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
        """The k rows whose labels would settle most, by the team's log-probabilities, if they are known already."""
        log_p = self._log_p(X) if log_odds is None else log_odds
        found: Ints = self.members_[0].wanted(X, k, rng, log_p)
        return found

    def margin(self, X: Any) -> Floats:
        """How far the two likeliest classes of every row are apart."""
        return gaps(self.log_odds(X))[2]

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """Log-probabilities of the labelled rows of the last `update`, each as if its own label had been left out."""
        return log_probabilities(np.tensordot(self.weights_, self._honest, axes=1))

    def log_odds(self, X: Any) -> Floats:
        """The logarithms of `predict_proba`: their differences are log-odds of one class against another."""
        check_is_fitted(self, "weights_")
        return of_blocks(self, X, self._log_p)

    decision_function = log_odds

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of every row."""
        return np.asarray(self.classes_[self.log_odds(X).argmax(axis=1)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of all classes."""
        return np.exp(self.log_odds(X))

    def _log_p(self, X: Rows) -> Floats:
        logistic, members = self.members_[0], zip(self.members_, self.weights_, strict=True)
        return log_probabilities(np.asarray(sum(a * self._of(member, X, logistic) for member, a in members if a > 0.0)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def stacked(honest: Floats, at: Ints, v: Floats) -> Floats:
    """The weights of members with these honest scores of the labelled rows, whose classes are at these positions.

    >>> at = np.array([0, 1, 2] * 20); right = 3.0 * np.eye(3)[at]; useless = 3.0 * np.eye(3)[at[::-1]]
    >>> bool(stacked(np.array([right, useless]), at, np.ones(60))[1] == 0.0)
    True
    """
    weights, kept = np.zeros(len(honest)), list(range(len(honest)))
    found, loss = _best(honest, at, v)
    while len(kept) > 1:
        fewer = [[other for other in kept if other != member] for member in kept[1:]]
        without = [_best(honest[some], at, v) for some in fewer]
        least = int(np.argmin([worse for _, worse in without]))
        if without[least][1] >= loss + WORTH:
            break
        kept, (found, loss) = fewer[least], without[least]
    weights[kept] = np.where(found < NO_WEIGHT, 0.0, found)
    return weights if weights.any() else np.eye(len(honest))[0]


def _best(honest: Floats, at: Ints, v: Floats) -> tuple[Floats, float]:
    """The weights of these members, and the log loss that they leave."""
    members, rows = len(honest), np.arange(len(at))
    first = np.ones(1) if members == 1 else np.append(FIRST, np.full(members - 1, (1.0 - FIRST) / (members - 1)))

    def log_loss(a: Floats) -> tuple[float, Floats]:
        log_p = log_probabilities(np.tensordot(a, honest, axes=1))
        residual = np.exp(log_p)
        residual[rows, at] -= 1.0
        return -float(v @ log_p[rows, at]), np.einsum("mik,ik->m", honest, residual * v[:, None])

    def objective(a: Floats) -> tuple[float, Floats]:
        value, slope = log_loss(a)
        return value + PULL * float(np.sum((a - first) ** 2)), slope + 2.0 * PULL * (a - first)

    found = minimize(objective, first, jac=True, bounds=[(0.0, None)] * members, method="L-BFGS-B").x
    return found, log_loss(found)[0]

"""A logistic classifier with nothing to tune: it chooses the scales of its prior by the evidence of the labels."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import ndtr
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew.errors import InputError
from unskew.labels import codes
from unskew.models.belief import TINY, Belief, Some, at_stake, foremost, pick, settled
from unskew.models.features import Features
from unskew.models.inputs import check_some_weight, check_usable, classes_among, of_blocks, training_rows
from unskew.models.laplace import Posterior, leave_one_out, posterior
from unskew.models.scores import gaps, scale
from unskew.models.screen import Screen
from unskew.models.stacking import stacked
from unskew.models.trees import Trees
from unskew.rows import Blocks, Floats, Ints, Rows, keys, take

INTERCEPT = 5.0

AIMS = 5_000
"""The number of rows, drawn from those considered, whose signs a label is meant to settle."""

CONSIDERED, SEVERAL_AIMS = 5_000, 2_000
"""If there are more than two classes, each with a posterior: the number of rows considered, and of those drawn."""

JUDGES = 4
"""The prior is chosen by the evidence of at most this number of classes, the most frequent ones."""

GLANCE = 4_000
"""Rows per block of a glance: few enough for the processor's cache."""


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the margin that each block of features contributes, and the width of the Fourier block."""

    linear: float = 4.0
    fourier: float = 2.0
    scale: float = 1.0

    @property
    def width(self) -> float | None:
        """The scale of the Fourier block, or None where that block is switched off."""
        return self.scale if self.fourier else None

    def precision(self, sizes: tuple[int, int]) -> Floats:
        """One over the prior variance of every coefficient: intercept, linear block, Fourier block if any."""
        linear, fourier = sizes
        parts = [np.full(1, INTERCEPT**-2), np.full(linear, self.linear**-2)]
        return np.concatenate([*parts, np.full(fourier, self.fourier**-2)] if self.fourier else parts)


class Posteriors(NamedTuple):
    """One posterior for two classes; for more, those of some classes, each against the rest, under one prior."""

    each: list[Posterior]

    @property
    def modes(self) -> list[Floats]:
        return [one.mode for one in self.each]

    @property
    def evidence(self) -> float:
        return sum(one.evidence for one in self.each)


STEPS: dict[str, tuple[float, ...]] = {
    "linear": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "fourier": (0.0, 0.5, 1.0, 2.0, 4.0, 8.0),
    "scale": (0.25, 0.5, 1.0, 2.0),
}


class BayesianLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression on standardised and random Fourier features, with a prior chosen by evidence.

    There is nothing to tune. The evidence is the probability of the labels under a prior (MacKay 1992). The
    search starts from a default prior and moves to a neighbouring one as long as the evidence grows. If the truth
    is linear, it switches the Fourier block off. If the truth is curved, it keeps that block, at the width that
    the labels favour. With few labels the margins stay small.

    If there are more than two classes, each has such a posterior against all others, with the same features and the
    same prior. The probability of class k is proportional to exp(a l_k), where l_k are its log-odds against the rest.
    The number a is the one with which labels are best predicted, each without itself (`unskew.models.stacking`).

    `fit` treats the labelled rows as a weighted set: a weight of 2 is the same as the row twice, a weight of 0 the
    same as no row, and neither the order of the rows nor whether they are dense or sparse matters.

    Parameters
    ----------
    frequencies : int
        The number of random directions in the Fourier block.
    few : int
        A column with at least 3 and at most this number of different values may hold codes. So it also enters as one
        column for each value. 0 takes all columns as amounts.
    random_state : int, Generator or None
        Seeds the random directions.

    Attributes
    ----------
    classes_ : array of the class values, of two the positive one last
    features_ : Features
    prior_ : Prior
    posteriors_ : list of Posterior
        One for two classes; for more, one for each.
    sharpness_ : float
        The number a; 1 for two classes.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = (X**2).sum(axis=1) < 0.5                          # a disc, which no line can separate
    >>> bool(BayesianLogistic(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    classes_: NDArray[Any]
    n_features_in_: int
    features_: Features
    prior_: Prior
    posteriors_: list[Posterior]
    sharpness_: float = 1.0

    def __init__(
        self, *, frequencies: int = 100, few: int = 6, random_state: int | np.random.Generator | None = None
    ) -> None:
        self.frequencies = frequencies
        self.few = few
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows alone."""
        rows, labels, v, classes = labelled_set(self, X, y, sample_weight)
        features, twin = self._features(rows, v), copy(self)  # if this fails, the model stays as it was
        twin.classes_, twin.features_, twin.prior_, twin._scale = classes, features, Prior(), scale(len(classes))
        twin.__dict__.pop("posteriors_", None)
        twin.update(rows, labels, v, choose=True)
        self.__dict__.update(twin.__dict__)
        return self

    def prepare(self, X: Rows, classes: NDArray[Any], v: Floats | None = None, blocks: Blocks = ()) -> Self:
        """Take means, deviations and distances from unlabelled rows, and start from the default prior.

        With weights v, each row counts as v rows. The columns of a block share one scale (`Features`).
        """
        self.features_ = self._features(X, v, blocks)
        self.classes_, self.n_features_in_ = np.asarray(classes), X.shape[1]
        self.prior_, self._scale = Prior(), scale(len(classes))
        if hasattr(self, "posteriors_"):
            del self.posteriors_
        return self

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool, sharpen: bool = True) -> None:
        """Find the posterior given labels y with weights v; `choose` a new prior or keep the old one.

        Labels are numbers (`unskew.labels.codes`). A model that is given a weight by others need not `sharpen` its
        scores. If this fails, the model stays as it was.
        """
        start = [one.mode for one in self.posteriors_] if hasattr(self, "posteriors_") else None
        signs = self._scale.signs(y)
        self.prior_, self.posteriors_ = _learned(self.features_, self.prior_, start, X, signs, v, choose=choose)
        self.sharpness_ = 1.0
        if sharpen and len(y) and len(signs) > 1:
            honest = self.held_out(X, y, v)
            self.sharpness_ = float(stacked(honest[None], y, v, self._scale)[0])

    def _features(self, X: Rows, v: Floats | None = None, blocks: Blocks = ()) -> Features:
        for name, least, usual in (("frequencies", 1, 100), ("few", 0, 6)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise InputError(f"{name} must be a whole number of at least {least}; got {value!r}. Try {usual}.")
        rng = np.random.default_rng(self.random_state)
        return Features(X, v, frequencies=self.frequencies, few=self.few, blocks=blocks, rng=rng)

    def expand(self, X: Rows, *, single: bool = False) -> Floats:
        """The features of the rows that the model uses, in double or in `single` precision."""
        return self.features_(X, self.prior_.width, single=single)

    @property
    def posterior_(self) -> Posterior:
        """The only posterior of two classes, or the first of more."""
        return self.posteriors_[0]

    @property
    def model(self) -> Self:
        """A copy of the model as it is now: later updates do not change it."""
        return copy(self)

    def glance(self, X: Rows) -> tuple[Some, Some]:
        """The mean and the root of the margins, one row for each row of X, to about four digits; for large pools."""
        mode, root = (a.astype(np.float32) for a in (self.posterior_.mode, self.posterior_.inverse_root().T))
        mu, U = np.empty(X.shape[0], dtype=np.float32), np.empty((X.shape[0], len(mode)), dtype=np.float32)
        for k in range(0, X.shape[0], GLANCE):
            F = self.expand(X[k : k + GLANCE], single=True)
            np.dot(F, mode, out=mu[k : k + GLANCE])
            np.dot(F, root, out=U[k : k + GLANCE])
        return mu, U

    def wanted(
        self, X: Rows, k: int, rng: np.random.Generator, threshold: float = 0.0, log_odds: Floats | None = None
    ) -> Ints:
        """The k rows whose labels would settle most signs: candidates by a glance, then an exact comparison.

        The sign in question is that of the margin minus the threshold. A model that does not know how sure it is can
        borrow this: given its `log_odds`, they take the place of this model's own.
        """
        if len(self.posteriors_) > 1:
            return self._wanted_of_several(X, k, rng, self.log_odds(X) if log_odds is None else log_odds)
        mu, U = self.glance(X)
        if log_odds is not None:
            mu = means(log_odds, np.einsum("ij,ij->i", U, U)).astype(np.float32)
        aims = np.arange(len(mu)) if len(mu) <= AIMS else rng.choice(len(mu), AIMS, replace=False)
        M = at_stake(mu[aims] - np.float32(threshold), U[aims])
        near = foremost(settled(mu, U, M), k)
        return near[self.settle(take(X, near), M, k, None if log_odds is None else log_odds[near])]

    def settle(self, X: Rows, M: Floats, k: int, log_odds: Floats | None = None) -> Ints:
        """The k of these rows whose labels would settle most, one after the other; M is what is at stake."""
        belief = self.belief(X, log_odds)
        return pick([(belief.mu, belief.root(np.arange(len(belief.mu))).T, M)], k)

    def _wanted_of_several(self, X: Rows, k: int, rng: np.random.Generator, log_p: Floats) -> Ints:
        """The same with a margin for each class.

        A row is in doubt between its two likeliest classes, a and b. They are in the wrong order with the chance
        e = Phi(-(mu_a - mu_b) / s), where s^2 = s_a^2 + s_b^2. A label settles margins of all classes that it may tell
        about. Only the most doubtful rows are considered.
        """
        near = np.arange(len(log_p))
        if len(near) > CONSIDERED:
            near = np.sort(np.argpartition(log_p.max(axis=1), CONSIDERED - 1)[:CONSIDERED])
        aims = near if len(near) <= SEVERAL_AIMS else rng.choice(near, SEVERAL_AIMS, replace=False)
        aimed = list(self._margins(take(X, aims), log_p[aims]))
        stakes = [at_stake(mu, U, wrong) for (mu, U), wrong in zip(aimed, wrong_order(aimed), strict=True)]
        margins = zip(self._margins(take(X, near), log_p[near]), stakes, strict=True)
        best = foremost(np.asarray(sum(settled(mu, U, M) for (mu, U), M in margins)), k)
        margins = zip(self._margins(take(X, near[best]), log_p[near[best]]), stakes, strict=True)
        return np.asarray(near[best][pick([(mu, U, M) for (mu, U), M in margins], k)])

    def _margins(self, X: Rows, log_p: Floats) -> Iterator[tuple[Floats, Floats]]:
        """For each class the means of the margins, around these log-probabilities, and the root of the covariances."""
        F = self.expand(X)
        for k, one in enumerate(self.posteriors_):
            U = F @ one.inverse_root().T
            yield means(self._scale.margin_of(log_p, k), np.einsum("ij,ij->i", U, U)), U

    def screen(
        self,
        aims: Rows,
        threshold: float = 0.0,
        log_odds: Floats | None = None,
        weights: tuple[float, float] = (1.0, 0.0),
        trees: Trees | None = None,
    ) -> Screen | None:
        """The model as a `Screen` for very many rows; a label is meant to settle the signs of the `aims`.

        A team that borrows this gives its `log_odds` of the aims, the weights of this model and of trees, and these.
        None if rows are sparse, or have so many columns that they are projected, or there are more than two classes.
        """
        recipe = self.features_.recipe(self.prior_.width)
        if recipe is None or not isinstance(aims, np.ndarray) or len(self.posteriors_) > 1:
            return None
        mu, U = self.glance(aims)
        if log_odds is not None:
            mu = means(log_odds, np.einsum("ij,ij->i", U, U)).astype(np.float32)
        return Screen(recipe, self.posterior_, mu - np.float32(threshold), U, weights, trees)

    def belief(self, X: Rows, log_odds: Floats | None = None) -> Belief:
        """The margins of rows under the posterior, or around the `log_odds` of a model that borrows its spread."""
        if len(self.posteriors_) > 1:
            raise InputError(f"a belief is about two classes; the model has {len(self.posteriors_)}. Ask for `wanted`.")
        F = self.expand(X)
        mu = self.posterior_.mean(F) if log_odds is None else means(log_odds, self.posterior_.deviation(F) ** 2)
        return Belief(mu, lambda rows: self.posterior_.root(F[rows]))

    def margin(self, X: Any) -> Floats:
        """The expected margin of every row, mu; of more than two classes, how far the two likeliest are apart."""
        check_is_fitted(self, "posteriors_")
        return self._of_features(X, self._margin)

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """The scores of the labelled rows of the last `update`, each as if its own label had been left out."""
        F, problems = self.expand(X), zip(self._scale.signs(y), self.posteriors_, strict=True)
        return self._joined([moderated(*leave_one_out(F, sign, v, one)) for sign, one in problems])

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the positive class for every row: log(p / (1 - p)) of `predict_proba`.

        Of more than two classes, the logarithms of `predict_proba`, one column for each.
        """
        check_is_fitted(self, "posteriors_")
        return self._of_features(X, self._log_odds)

    log_odds = decision_function

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of every row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[self._scale.predicted(scores)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of all classes, averaged over the posterior of the margin (MacKay 1992)."""
        scores = self.decision_function(X)
        return self._scale.probabilities(scores)

    def _margin(self, F: Floats) -> Floats:
        scores = self._scale.joined([one.mean(F) for one in self.posteriors_])
        return self._scale.contrast([scores])[0]

    def _log_odds(self, F: Floats) -> Floats:
        return self._joined([moderated(one.mean(F), one.deviation(F) ** 2) for one in self.posteriors_])

    def _joined(self, log_odds: list[Floats]) -> Floats:
        return self._scale.normalised(self.sharpness_ * self._scale.joined(log_odds))

    def _of_features(self, X: Any, value: Callable[[Floats], Floats]) -> Floats:
        return of_blocks(self, X, lambda rows: value(self.expand(rows)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posteriors_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def moderated(mu: Floats, variance: Floats) -> Floats:
    """The log-odds mu / sqrt(1 + pi s^2 / 8): the less certain the margin, the closer to 0 (MacKay 1992)."""
    shrunk: Floats = mu / np.sqrt(1.0 + np.pi / 8.0 * variance)
    return shrunk


def means(log_odds: Floats, variance: Some) -> Floats:
    """The means of margins with these log-odds: the inverse of `moderated`."""
    return np.asarray(log_odds * np.sqrt(1.0 + np.pi / 8.0 * variance))


def wrong_order(margins: list[tuple[Floats, Floats]]) -> list[Floats]:
    """For each class the chance that it is wrongly the first or the second, given the margins of all classes."""
    s2 = np.column_stack([np.maximum(np.einsum("ij,ij->i", U, U), TINY) for _, U in margins])
    first, second, gap = gaps(np.column_stack([mu for mu, _ in margins]))
    rows = np.arange(len(gap))
    wrong = ndtr(-gap / np.sqrt(s2[rows, first] + s2[rows, second]))
    return [np.where((first == k) | (second == k), wrong, 0.0) for k in range(len(margins))]


def labelled_set(
    model: Any, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Rows, Floats, Floats, NDArray[Any]]:
    """What a model is to be fitted to, checked: a weighted set of rows, their labels as numbers, and the classes."""
    rows, labels, v = training_rows(model, X, y, sample_weight, first=True)
    check_usable(rows)
    check_some_weight(v)
    some = v > 0.0
    classes = classes_among(labels[some])
    return *_as_set(take(rows, some), codes(labels[some], classes), v[some]), classes


def _as_set(X: Rows, y: Floats, v: Floats) -> tuple[Rows, Floats, Floats]:
    """The rows as a weighted set: distinct (x, y) of positive weight in a fixed order, with their weights summed.

    >>> X, y, v = _as_set(np.array([[3.0], [1.0], [3.0], [2.0]]), np.ones(4), np.array([1.0, 1.0, 4.0, 0.0]))
    >>> sorted(zip(X[:, 0].tolist(), v.tolist()))
    [(1.0, 1.0), (3.0, 5.0)]
    """
    canonical = sparse.csr_array(X, copy=True)  # dense and sparse rows get the same keys, and so the same order
    canonical.eliminate_zeros()
    names = list(zip(keys(canonical), y, strict=True))
    order = sorted(np.flatnonzero(v > 0.0).tolist(), key=names.__getitem__)
    starts = [k for k, i in enumerate(order) if k == 0 or names[i] != names[order[k - 1]]]
    first: Ints = np.array(order, dtype=np.int64)[starts]
    return take(X, first), y[first], np.add.reduceat(v[order], starts)


def _learned(
    features: Features,
    prior: Prior,
    start: list[Floats] | None,
    X: Rows,
    signs: list[Floats],
    v: Floats,
    *,
    choose: bool,
) -> tuple[Prior, list[Posterior]]:
    """The posteriors given labels, under this prior, or under the best prior found from it where we may `choose`."""
    under = _posteriors(features, X, signs, v)
    every = list(range(len(signs)))
    if not choose or not len(v):
        return prior, under(every, prior, start).each
    rows = [float(v[sign > 0.0].sum()) for sign in signs]
    judges = sorted(sorted(every, key=lambda k: -rows[k])[:JUDGES])
    own = None if start is None else [start[k] for k in judges]
    prior, best = climb(prior, under(judges, prior, own), partial(under, judges))
    return prior, (best if judges == every else under(every, prior, start)).each


def _posteriors(
    features: Features, X: Rows, signs: list[Floats], v: Floats
) -> Callable[[list[int], Prior, list[Floats] | None], Posteriors]:
    """A function that gives some posteriors under any prior, from any starts; priors of one scale share features."""
    expanded = cache(partial(features, X))

    def under(some: list[int], prior: Prior, start: list[Floats] | None) -> Posteriors:
        precision = prior.precision(features.sizes)
        begin: Sequence[Floats | None] = [None] * len(some)
        if start is not None and len(start[0]) == len(precision):
            begin = start
        F = expanded(prior.width)
        return Posteriors([posterior(F, signs[k], v, precision, w) for k, w in zip(some, begin, strict=True)])

    return under


def climb(prior: Prior, best: Posteriors, under: Callable[[Prior, Any], Posteriors]) -> tuple[Prior, Posteriors]:
    """Move up and down each scale in turn while the evidence grows; at most two rounds."""
    for _ in range(2):
        before = prior
        for name, steps in STEPS.items():
            if name == "scale" and not prior.fourier:
                continue
            for way in (-1, 1):
                k = steps.index(getattr(prior, name)) + way
                while 0 <= k < len(steps):
                    tried = replace(prior, **{name: steps[k]})
                    found = under(tried, best.modes if name != "scale" else None)
                    if found.evidence <= best.evidence + 1e-3:
                        break
                    best, prior, k = found, tried, k + way
        if prior == before:
            break
    return prior, best

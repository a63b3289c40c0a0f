"""A logistic classifier with nothing to tune: it chooses the scales of its prior by the evidence of the labels."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew.errors import InputError
from unskew.models.belief import Belief, Some, at_stake, foremost, pick, settled
from unskew.models.features import Features
from unskew.models.inputs import check_some_weight, check_usable, of_blocks, training_rows, two_classes
from unskew.models.laplace import Posterior, leave_one_out, posterior
from unskew.models.screen import Screen
from unskew.models.trees import Trees
from unskew.rows import Blocks, Floats, Ints, Rows, keys, take

INTERCEPT = 5.0

AIMS = 5_000
"""The number of rows, drawn from those considered, whose signs a label is meant to settle."""

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


class Judged(Protocol):
    """What is fitted under a prior, with its evidence; a search may start the next fit from its mode."""

    @property
    def mode(self) -> Floats: ...

    @property
    def evidence(self) -> float: ...


Found = TypeVar("Found", bound=Judged)

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
    classes_ : array of the two class values, the positive one last
    features_ : Features
    prior_ : Prior
    posterior_ : Posterior

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
    posterior_: Posterior

    def __init__(
        self, *, frequencies: int = 100, few: int = 6, random_state: int | np.random.Generator | None = None
    ) -> None:
        self.frequencies = frequencies
        self.few = few
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows alone."""
        rows, sign, v, classes = labelled_set(self, X, y, sample_weight)
        features = self._features(rows, v)
        prior, found = _learned(features, Prior(), None, rows, sign, v, choose=True)
        self.classes_, self.features_, self.prior_, self.posterior_ = classes, features, prior, found
        return self

    def prepare(self, X: Rows, classes: NDArray[Any], v: Floats | None = None, blocks: Blocks = ()) -> Self:
        """Take means, deviations and distances from unlabelled rows, and start from the default prior.

        With weights v, each row counts as v rows. The columns of a block share one scale (`Features`).
        """
        self.features_ = self._features(X, v, blocks)
        self.classes_, self.n_features_in_ = np.asarray(classes), X.shape[1]
        self.prior_ = Prior()
        if hasattr(self, "posterior_"):
            del self.posterior_
        return self

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Find the posterior given labels y in {-1, +1} with weights v; `choose` a new prior or keep the old one.

        If this fails, the model stays as it was.
        """
        start = self.posterior_.mode if hasattr(self, "posterior_") else None
        self.prior_, self.posterior_ = _learned(self.features_, self.prior_, start, X, y, v, choose=choose)

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
        return pick(belief.mu, belief.root(np.arange(len(belief.mu))).T, M, k)

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
        None if rows are sparse, or have so many columns that they are projected.
        """
        recipe = self.features_.recipe(self.prior_.width)
        if recipe is None or not isinstance(aims, np.ndarray):
            return None
        mu, U = self.glance(aims)
        if log_odds is not None:
            mu = means(log_odds, np.einsum("ij,ij->i", U, U)).astype(np.float32)
        return Screen(recipe, self.posterior_, mu - np.float32(threshold), U, weights, trees)

    def belief(self, X: Rows, log_odds: Floats | None = None) -> Belief:
        """The margins of rows under the posterior, or around the `log_odds` of a model that borrows its spread."""
        F = self.expand(X)
        mu = self.posterior_.mean(F) if log_odds is None else means(log_odds, self.posterior_.deviation(F) ** 2)
        return Belief(mu, lambda rows: self.posterior_.root(F[rows]))

    def margin(self, X: Any) -> Floats:
        """The expected margin of every row, mu."""
        check_is_fitted(self, "posterior_")
        return self._of_features(X, self.posterior_.mean)

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """The log-odds of the labelled rows of the last `update`, each as if its own label had been left out."""
        return moderated(*leave_one_out(self.expand(X), y, v, self.posterior_))

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the positive class for every row: log(p / (1 - p)) of `predict_proba`."""
        check_is_fitted(self, "posterior_")
        return self._of_features(X, self._log_odds)

    log_odds = decision_function

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier class of every row."""
        positive = self.margin(X) >= 0.0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of both classes, averaged over the posterior of the margin (MacKay 1992)."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def _log_odds(self, F: Floats) -> Floats:
        return moderated(self.posterior_.mean(F), self.posterior_.deviation(F) ** 2)

    def _of_features(self, X: Any, value: Callable[[Floats], Floats]) -> Floats:
        return of_blocks(self, X, lambda rows: value(self.expand(rows)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def moderated(mu: Floats, variance: Floats) -> Floats:
    """The log-odds mu / sqrt(1 + pi s^2 / 8): the less certain the margin, the closer to 0 (MacKay 1992)."""
    shrunk: Floats = mu / np.sqrt(1.0 + np.pi / 8.0 * variance)
    return shrunk


def means(log_odds: Floats, variance: Some) -> Floats:
    """The means of margins with these log-odds: the inverse of `moderated`."""
    return np.asarray(log_odds * np.sqrt(1.0 + np.pi / 8.0 * variance))


def labelled_set(
    model: Any, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Rows, Floats, Floats, NDArray[Any]]:
    """What a model is to be fitted to, checked: a weighted set of rows, their labels in {-1, +1}, and the classes."""
    rows, labels, v = training_rows(model, X, y, sample_weight, first=True)
    check_usable(rows)
    check_some_weight(v)
    classes = two_classes(labels[v > 0.0])
    return *_as_set(rows, np.where(labels == classes[1], 1.0, -1.0), v), classes


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
    features: Features, prior: Prior, start: Floats | None, X: Rows, y: Floats, v: Floats, *, choose: bool
) -> tuple[Prior, Posterior]:
    """The posterior given labels, under this prior, or under the best prior found from it where we may `choose`."""
    under = _posteriors(features, X, y, v)
    best = under(prior, start)
    return climb(prior, best, under) if choose and len(y) else (prior, best)


def _posteriors(features: Features, X: Rows, y: Floats, v: Floats) -> Callable[[Prior, Floats | None], Posterior]:
    """A function that gives the posterior under any prior, from any start; priors of one scale share features."""
    expanded = cache(partial(features, X))

    def under(prior: Prior, start: Floats | None) -> Posterior:
        precision = prior.precision(features.sizes)
        if start is not None and len(start) != len(precision):
            start = None
        return posterior(expanded(prior.width), y, v, precision, start)

    return under


def climb(prior: Prior, best: Found, under: Callable[[Prior, Any], Found]) -> tuple[Prior, Found]:
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
                    found = under(tried, best.mode if name != "scale" else None)
                    if found.evidence <= best.evidence + 1e-3:
                        break
                    best, prior, k = found, tried, k + way
        if prior == before:
            break
    return prior, best

"""A logistic classifier without knobs: the scales of its prior are those under which the labels are likeliest."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unskew.data import signs
from unskew.errors import InputError
from unskew.models.belief import Belief, Some, at_stake, foremost, pick, settled
from unskew.models.features import Features
from unskew.models.laplace import Posterior, posterior
from unskew.rows import Floats, Ints, Rows, as_rows, as_weights, take

INTERCEPT = 5.0

BLOCK = 20_000
"""Rows judged at a time: their expanded features take up to 40 MB."""

AIMS = 5_000
"""Rows, drawn from those looked at, whose signs a label may settle."""

GLANCE = 4_000
"""Rows glanced at at a time: few enough for the processor's cache."""


@dataclass(frozen=True)
class Prior:
    """Standard deviations of the margin that each block of features contributes, and the Fourier block's width."""

    linear: float = 4.0
    fourier: float = 2.0
    scale: float = 1.0

    @property
    def width(self) -> float | None:
        """The scale of the Fourier block, if there is one."""
        return self.scale if self.fourier else None

    def precision(self, sizes: tuple[int, int]) -> Floats:
        """One over the prior variance of every coefficient: intercept, linear block, Fourier block if any."""
        linear, fourier = sizes
        parts = [np.full(1, INTERCEPT**-2), np.full(linear, self.linear**-2)]
        return np.concatenate([*parts, np.full(fourier, self.fourier**-2)] if self.fourier else parts)


STEPS: dict[str, tuple[float, ...]] = {
    "linear": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
    "fourier": (0.0, 0.5, 1.0, 2.0, 4.0, 8.0),
    "scale": (0.25, 0.5, 1.0, 2.0),
}


class BayesianLogistic(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Logistic regression on standardised and random Fourier features, its prior chosen by evidence.

    Nothing needs tuning. A linear truth ends with the Fourier block switched off, a curved one with it
    switched on at the width the labels favour; few labels keep the margins small. The choice uses the
    labels at hand and no others: it climbs from prior to neighbouring prior while the evidence grows.

    Parameters
    ----------
    frequencies : int
        Random directions of the Fourier block.
    random_state : int, Generator or None
        Seeds them.

    Attributes
    ----------
    prior_ : Prior
    posterior_ : Posterior

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    >>> y = (X**2).sum(axis=1) < 0.5                          # a disc: no line will do
    >>> bool(BayesianLogistic(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    classes_: NDArray[Any]
    prior_: Prior
    posterior_: Posterior

    def __init__(self, *, frequencies: int = 100, random_state: int | np.random.Generator | None = None) -> None:
        self.frequencies = frequencies
        self.random_state = random_state

    def prepare(self, X: Rows, classes: NDArray[Any]) -> Self:
        """Take means, deviations and distances from unlabelled rows, and start from the default prior."""
        rng = np.random.default_rng(self.random_state)
        self.features_ = Features(X, frequencies=self.frequencies, rng=rng)
        self.classes_, self.n_features_in_ = np.asarray(classes), X.shape[1]
        self.prior_ = Prior()
        return self

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from labelled rows alone."""
        rows, labels = as_rows(X), np.asarray(y)
        if labels.shape != (rows.shape[0],):
            raise InputError(
                f"y must have one label for each of {rows.shape[0]} rows; got shape {labels.shape}. Align them."
            )
        classes = np.unique(labels)
        if len(classes) != 2:
            raise InputError(
                f"y must have two classes; got {len(classes)}: {classes[:4].tolist()}. Drop or merge some."
            )
        v = as_weights(sample_weight, len(labels))
        if not v.any():
            raise InputError("sample_weight must be above 0 for some row; got 0 throughout. Leave it out.")
        self.prepare(rows, classes).update(rows, signs(labels, classes), v, choose=True)
        return self

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """The posterior given labels y in {-1, +1} with weights v; `choose` the prior anew or keep it."""
        start = self.posterior_.mode if hasattr(self, "posterior_") else None
        under = self._posteriors(X, y, v)
        best = under(self.prior_, start)
        if choose and len(y):
            best = self._climb(best, under)
        self.posterior_ = best

    def _posteriors(self, X: Rows, y: Floats, v: Floats) -> Callable[[Prior, Floats | None], Posterior]:
        """The posterior under any prior, from a start; priors of one scale share their features."""
        expanded = cache(partial(self.features_, X))

        def under(prior: Prior, start: Floats | None) -> Posterior:
            precision = prior.precision(self.features_.sizes)
            if start is not None and len(start) != len(precision):
                start = None
            return posterior(expanded(prior.width), y, v, precision, start)

        return under

    def _climb(self, best: Posterior, under: Callable[[Prior, Floats | None], Posterior]) -> Posterior:
        """Go up and down each scale in turn while the evidence grows; two rounds at the most."""
        for _ in range(2):
            before = self.prior_
            for name, steps in STEPS.items():
                if name == "scale" and not self.prior_.fourier:
                    continue
                for way in (-1, 1):
                    k = steps.index(getattr(self.prior_, name)) + way
                    while 0 <= k < len(steps):
                        tried = replace(self.prior_, **{name: steps[k]})
                        found = under(tried, best.mode if name != "scale" else None)
                        if found.evidence <= best.evidence + 1e-3:
                            break
                        best, self.prior_, k = found, tried, k + way
            if self.prior_ == before:
                break
        return best

    def expand(self, X: Rows, *, single: bool = False) -> Floats:
        """The rows as the model sees them; in double precision or in `single`."""
        return self.features_(X, self.prior_.width, single=single)

    @property
    def model(self) -> Self:
        """A copy as it is now: later updates do not change it."""
        return copy(self)

    def glance(self, X: Rows) -> tuple[Some, Some]:
        """Means and root of the margins, one row for each of X, to about four digits: for looking over a pool."""
        mode, root = (a.astype(np.float32) for a in (self.posterior_.mode, self.posterior_.inverse_root().T))
        mu, U = np.empty(X.shape[0], dtype=np.float32), np.empty((X.shape[0], len(mode)), dtype=np.float32)
        for k in range(0, X.shape[0], GLANCE):
            F = self.expand(X[k : k + GLANCE], single=True)
            np.dot(F, mode, out=mu[k : k + GLANCE])
            np.dot(F, root, out=U[k : k + GLANCE])
        return mu, U

    def wanted(self, X: Rows, k: int, rng: np.random.Generator) -> Ints:
        """The k rows whose labels would settle most signs: the foremost by a glance, then looked at closely."""
        mu, U = self.glance(X)
        aims = np.arange(len(mu)) if len(mu) <= AIMS else rng.choice(len(mu), AIMS, replace=False)
        M = at_stake(mu[aims], U[aims])
        near = foremost(settled(mu, U, M), k)
        belief = self.belief(take(X, near))
        return near[pick(belief.mu, belief.root(np.arange(len(near))).T, M, k)]

    def belief(self, X: Rows) -> Belief:
        """The margins of rows under the posterior."""
        F = self.expand(X)
        return Belief(self.posterior_.mean(F), lambda rows: self.posterior_.root(F[rows]))

    def decision_function(self, X: Any) -> Floats:
        """The expected margin of every row."""
        rows = self._rows(X)
        blocks = (rows[k : k + BLOCK] for k in range(0, max(rows.shape[0], 1), BLOCK))
        return np.concatenate([self.posterior_.mean(self.expand(block)) for block in blocks])

    def predict(self, X: Any) -> NDArray[Any]:
        """The likelier class of every row."""
        positive = self.decision_function(X) >= 0.0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of both classes, the margin's uncertainty averaged out (MacKay 1992)."""
        rows, shrunk = self._rows(X), []
        for k in range(0, max(rows.shape[0], 1), BLOCK):
            F = self.expand(rows[k : k + BLOCK])
            shrunk.append(self.posterior_.mean(F) / np.sqrt(1.0 + np.pi / 8.0 * self.posterior_.deviation(F) ** 2))
        positive = expit(np.concatenate(shrunk))
        return np.column_stack([1.0 - positive, positive])

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self, "posterior_")
        rows = as_rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise InputError(f"X must have the {self.n_features_in_} features of fit; got {rows.shape[1]}. Align them.")
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

"""Any scikit-learn classifier that takes weights, as the model of `Unskew`: a committee shows how certain it is."""

from copy import copy
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from unskew.labels import positions
from unskew.models.bayes import BayesianLogistic
from unskew.models.belief import Belief, doubtful
from unskew.models.classifiers import check_classifier, fit_weighted, seeded
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.scores import scale
from unskew.rows import Blocks, Floats, Ints, Rows

MEMBERS = 10

FOLDS = 5
"""The number of folds in which labelled rows are judged by cross-fitting."""

TIES = 1e-6
"""The size of the random noise that breaks ties: without it, of rows with equal margins the first would be picked."""


class BootstrapCommittee:
    """Copies of a classifier that differ by the weights of their labels (Bayesian bootstrap, Rubin 1981).

    For each member, the weights of the labels are multiplied by random draws from Exp(1). No label is left out, so
    every member sees every class. A label keeps its draws from round to round. The spread of the members' margins
    takes the place of a posterior::

        U = (margins of the members - their mean) / sqrt(members - 1),    U'U = covariance of margins

    and the mean is the margin of the classifier that is fitted with the weights as they are; this is the classifier
    that the user gets. With n labels, margins are limited to log(n + 1) (Laplace's rule of succession), because a
    forest with pure leaves would claim infinite ones. If there are more than two classes, the margin of a row is the
    log-odds of its likeliest class against the second one, by the fitted classifier.

    As long as the labels show only one class, no classifier can be fitted, and a `BayesianLogistic` takes its place.
    Members are fitted by joblib, one after the other unless within `joblib.parallel_config(n_jobs=...)`.

    Parameters
    ----------
    model : classifier
        Copied, never changed. Its `fit` takes `sample_weight` (in a pipeline, that of the last step), and it has
        `predict_proba` or `decision_function`. If its `random_state` is None, the copies are seeded.
    random_state : int, Generator or None

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[-3.0], [-2.0], [1.0], [2.0]]); y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> committee = BootstrapCommittee(DecisionTreeClassifier(max_depth=1), random_state=0).prepare(X, np.array([0, 1]))
    >>> committee.update(X, y, np.ones(4), choose=True)
    >>> committee.model.predict([[-9.0], [9.0]]).tolist()
    [0, 1]
    """

    def __init__(self, model: Any, *, random_state: int | np.random.Generator | None = None) -> None:
        check_classifier(model)
        self._rng = np.random.default_rng(random_state)
        self._seed = int(self._rng.integers(2**31))
        self._template = seeded(model, self._seed)

    def prepare(self, X: Rows, classes: NDArray[Any], blocks: Blocks = ()) -> Self:
        """Record the classes, and prepare the stand-in from unlabelled rows."""
        self._classes, self._scale = np.asarray(classes), scale(len(classes))
        stand_in = BayesianLogistic(random_state=self._rng).prepare(X, classes, blocks=blocks)
        self._stand_in: BayesianLogistic | None = stand_in
        return self

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Fit classifier and members to labels y with weights v; `choose` is for the stand-in's prior.

        Labels are numbers (`unskew.labels.codes`). If this fails, the committee stays as it was.
        """
        if len(np.unique(y)) < 2:
            assert self._stand_in is not None  # labels are never taken back
            stand_in = copy(self._stand_in)  # a copy of this committee may hold the same one
            stand_in.update(X, y, v, choose=choose)
            self._labels, self._stand_in = len(y), stand_in
            return
        draws = [np.random.default_rng([self._seed, b]).exponential(size=len(y)) for b in range(MEMBERS)]
        values = self._classes[positions(y, self._scale.K)]
        jobs = (delayed(fit_weighted)(self._template, X, values, v * draw) for draw in (np.ones(len(y)), *draws))
        fitted, *members = Parallel()(jobs)
        self._labels, self._fitted, self._members, self._stand_in = len(y), fitted, members, None
        self._held_out: Floats | None = None

    @property
    def model(self) -> Any:
        """The fitted classifier; later updates do not change it."""
        return self._fitted if self._stand_in is None else copy(self._stand_in)

    def wanted(self, X: Rows, k: int, rng: np.random.Generator, threshold: float = 0.0) -> Ints:
        """The k rows least certain to be on their side of the threshold.

        Ten members are too few to estimate covariances between rows.
        """
        if self._stand_in is not None:
            return self._stand_in.wanted(X, k, rng, threshold)
        return doubtful(self.belief(X), k, threshold)

    def belief(self, X: Rows) -> Belief:
        """The margins of rows, with their uncertainty."""
        if self._stand_in is not None:
            return self._stand_in.belief(X)
        scores = [self._scale.limited(self._by(m, X), self._labels) for m in (self._fitted, *self._members)]
        mu, *others = self._scale.contrast(scores)
        mu = mu + TIES * np.random.default_rng([self._seed, self._labels]).standard_normal(len(mu))
        U = (np.stack(others) - np.mean(others, axis=0)) / np.sqrt(MEMBERS - 1.0)
        return Belief(mu, lambda rows: U[:, rows])

    def _by(self, model: Any, X: Rows) -> Floats:
        return self._scale.by(model, X, self._classes, self._labels)

    def margin(self, X: Rows) -> Floats:
        """The margin of every row by the fitted classifier."""
        if self._stand_in is not None:
            return self._stand_in.margin(X)
        return self._scale.contrast([self._by(self._fitted, X)])[0]

    def log_odds(self, X: Rows) -> Floats:
        """The scores of every row by the fitted classifier: log-odds, or log-probabilities of all classes."""
        return self._by(self._fitted, X) if self._stand_in is None else self._stand_in.log_odds(X)

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """The scores of the labelled rows, each by a copy of the classifier that was fitted without it."""
        if self._stand_in is not None:
            return self._stand_in.held_out(X, y, v)
        if self._held_out is None:  # these are the rows it was fitted to: more fits would say the same
            folds, K = min(FOLDS, len(y)), self._scale.K
            self._held_out = cross_fitted_margins(self._fitted, X, y, v, folds, K=K)
        return self._held_out

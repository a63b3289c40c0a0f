"""Any scikit-learn classifier for more than two classes: a committee shows how certain it is."""

from copy import copy
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from unskew.labels import positions
from unskew.models.belief import Belief, doubtful
from unskew.models.classifiers import check_classifier, fit_weighted, seeded
from unskew.models.committee import FOLDS, MEMBERS, TIES
from unskew.models.many.cross_fitting import cross_fitted_scores
from unskew.models.many.scores import class_scores, gaps
from unskew.models.many.team import ManyTeam
from unskew.rows import Blocks, Floats, Ints, Rows


class ManyCommittee:
    """Copies of a classifier that differ by the weights of their labels, as `BootstrapCommittee` for two classes.

    A row is in doubt between the two classes that the fitted classifier finds likeliest. Their log-odds by the members
    vary, and rows are chosen where the gap is small for this variation. As long as the labels show only one class, a
    `ManyTeam` without trees takes the classifier's place.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.repeat(np.arange(3.0), 5)[:, None]; y = X[:, 0] + 1.0
    >>> committee = ManyCommittee(DecisionTreeClassifier(), random_state=0).prepare(X, np.array(["a", "b", "c"]))
    >>> committee.update(X, y, np.ones(15), choose=True)
    >>> committee.model.predict([[0.0], [2.0]]).tolist()
    ['a', 'c']
    """

    def __init__(self, model: Any, *, random_state: int | np.random.Generator | None = None) -> None:
        check_classifier(model)
        self._rng = np.random.default_rng(random_state)
        self._seed = int(self._rng.integers(2**31))
        self._template = seeded(model, self._seed)

    def prepare(self, X: Rows, classes: NDArray[Any], blocks: Blocks = ()) -> Self:
        """Record the classes, and prepare the stand-in from unlabelled rows."""
        self._classes = np.asarray(classes)
        stand_in = ManyTeam(trees=False, random_state=self._rng).prepare(X, classes, blocks)
        self._stand_in: ManyTeam | None = stand_in
        return self

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Fit classifier and members to labels y in 1, ..., K with weights v; `choose` is for the stand-in's prior.

        If this fails, the committee stays as it was.
        """
        if len(np.unique(y)) < 2:
            assert self._stand_in is not None  # labels are never taken back
            stand_in = copy(self._stand_in)
            stand_in.update(X, y, v, choose=choose)
            self._labels, self._stand_in = len(y), stand_in
            return
        draws = [np.random.default_rng([self._seed, b]).exponential(size=len(y)) for b in range(MEMBERS)]
        values = self._classes[positions(y, len(self._classes))]
        jobs = (delayed(fit_weighted)(self._template, X, values, v * draw) for draw in (np.ones(len(y)), *draws))
        fitted, *members = Parallel()(jobs)
        self._labels, self._fitted, self._members, self._stand_in = len(y), fitted, members, None
        self._held_out: Floats | None = None

    @property
    def model(self) -> Any:
        """The fitted classifier; later updates do not change it."""
        return self._fitted if self._stand_in is None else copy(self._stand_in)

    def wanted(self, X: Rows, k: int, rng: np.random.Generator, threshold: float = 0.0) -> Ints:
        """The k rows least certain to be of the class that is predicted."""
        if self._stand_in is not None:
            return self._stand_in.wanted(X, k, rng)
        first, second, gap = gaps(self._scores(self._fitted, X))
        rows = np.arange(len(gap))
        gap = gap + TIES * np.random.default_rng([self._seed, self._labels]).standard_normal(len(gap))
        others = []
        for member in self._members:
            scores = self._scores(member, X)
            others.append(scores[rows, first] - scores[rows, second])
        U = (np.stack(others) - np.mean(others, axis=0)) / np.sqrt(MEMBERS - 1.0)
        return doubtful(Belief(gap, lambda some: U[:, some]), k)

    def _scores(self, model: Any, X: Rows) -> Floats:
        return class_scores(model, X, self._classes, self._labels)

    def margin(self, X: Rows) -> Floats:
        """How far the two likeliest classes of every row are apart."""
        return gaps(self.log_odds(X))[2]

    def log_odds(self, X: Rows) -> Floats:
        """The log-probabilities of all classes by the fitted classifier."""
        return self._scores(self._fitted, X) if self._stand_in is None else self._stand_in.log_odds(X)

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """Log-probabilities of the labelled rows, each by a copy of the classifier that was fitted without it."""
        if self._stand_in is not None:
            return self._stand_in.held_out(X, y, v)
        if self._held_out is None:  # these are the rows it was fitted to: more fits would say the same
            values = self._classes[positions(y, len(self._classes))]
            self._held_out = cross_fitted_scores(self._fitted, X, values, v, self._classes, FOLDS)
        return self._held_out

"""A Bayesian logistic regression for each class against all others; they share features and prior."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from unskew.models.bayes import Prior, climb, means, moderated
from unskew.models.belief import TINY, foremost
from unskew.models.features import Features
from unskew.models.laplace import Posterior, leave_one_out, posterior
from unskew.models.many.scores import gaps
from unskew.rows import Blocks, Floats, Ints, Rows, take

FREQUENCIES, CODES = 100, 6
"""The size of the Fourier block, and the most values of a column that may hold codes; as for two classes."""

JUDGES = 4
"""The prior is chosen by the evidence of this number of classes, the commonest ones: it says how smooth they are."""

AIMS, CONSIDERED = 2_000, 5_000
"""The rows that a label is meant to settle are drawn from those considered, which are the most doubtful ones."""

LEAST = 1e-9
"""Probabilities are kept this far from 0 and 1 where their log-odds are taken."""


@dataclass(frozen=True)
class Together:
    """The posteriors of some classes, whose evidence counts together."""

    mode: Floats
    posteriors: list[Posterior]
    evidence: float


class OneAgainstRest:
    """One `BayesianLogistic` for each class against all others, with the same features and the same prior.

    Scores are the log-odds of each class against the rest; with more doubt about a margin, they are closer to 0. Its
    interface is that of `BayesianLogistic.prepare` and `update`; a team (`unskew.models.many.team`) predicts with it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)); y = 1.0 + (X[:, 0] > 0) + (X[:, 1] > 0)
    >>> model = OneAgainstRest(rng).prepare(X, np.array(["a", "b", "c"]))
    >>> model.update(X[:100], y[:100], np.ones(100), choose=True)
    >>> bool(np.mean(model.scores(X[100:]).argmax(axis=1) + 1 == y[100:]) > 0.9)
    True
    """

    features_: Features
    prior_: Prior
    posteriors_: list[Posterior]

    def __init__(self, rng: np.random.Generator, frequencies: int = FREQUENCIES, few: int = CODES) -> None:
        self._rng, self._size = rng, (frequencies, few)

    def prepare(self, X: Rows, classes: NDArray[Any], v: Floats | None = None, blocks: Blocks = ()) -> Self:
        """Take means, deviations and distances from unlabelled rows, and start from the default prior."""
        frequencies, few = self._size
        self.features_ = Features(X, v, frequencies=frequencies, few=few, blocks=blocks, rng=self._rng)
        self.prior_, self.K = Prior(), len(classes)
        self.posteriors_ = []
        return self

    def update(self, X: Rows, y: Floats, v: Floats, *, choose: bool) -> None:
        """Find the posteriors given labels y in 1, ..., K with weights v; `choose` a new prior or keep the old one."""
        expanded = cache(partial(self.features_, X))

        def of(classes: Ints, prior: Prior, starts: list[Floats] | None) -> Together:
            precision = prior.precision(self.features_.sizes)
            found = []
            for j, k in enumerate(classes):
                start = None if starts is None or len(starts[j]) != len(precision) else starts[j]
                found.append(posterior(expanded(prior.width), _against(y, int(k)), v, precision, start))
            return Together(np.array([one.mode for one in found]), found, sum(one.evidence for one in found))

        prior = self.prior_
        if choose and len(y):
            counted = np.bincount(y.astype(np.int64) - 1, v, minlength=self.K)
            judges = np.argsort(-counted, kind="stable")[:JUDGES]
            prior, _ = climb(prior, of(judges, prior, None), lambda tried, start: of(judges, tried, start))
        known = [one.mode for one in self.posteriors_] or None
        self.prior_, self.posteriors_ = prior, of(np.arange(self.K), prior, known).posteriors

    def scores(self, X: Rows) -> Floats:
        """The log-odds of each class against the rest, one column for each."""
        F = self._expand(X)
        return np.column_stack([moderated(one.mean(F), one.deviation(F) ** 2) for one in self.posteriors_])

    def held_out(self, X: Rows, y: Floats, v: Floats) -> Floats:
        """The scores of the labelled rows of the last `update`, each as if its own label had been left out."""
        F, found = self._expand(X), []
        for k, one in enumerate(self.posteriors_):
            found.append(moderated(*leave_one_out(F, _against(y, k), v, one)))
        return np.column_stack(found)

    def _expand(self, X: Rows) -> Floats:
        return self.features_(X, self.prior_.width)

    def wanted(self, X: Rows, k: int, rng: np.random.Generator, log_p: Floats) -> Ints:
        """The k rows whose labels would settle most, given the log-probabilities of a team that borrows this.

        As for two classes (`unskew.models.belief`), with a margin for each class. A row is in doubt between its two
        likeliest classes, a and b. They are in the wrong order with the chance e = Phi(-(mu_a - mu_b) / s), where
        s^2 = s_a^2 + s_b^2. A label settles margins of all classes that it may tell about.
        """
        near = np.arange(len(log_p))
        if len(near) > CONSIDERED:
            doubt = 1.0 - np.exp(log_p.max(axis=1))
            near = np.sort(np.argpartition(-doubt, CONSIDERED - 1)[:CONSIDERED])
        aims = near if len(near) <= AIMS else rng.choice(near, AIMS, replace=False)
        roots = [one.inverse_root().T for one in self.posteriors_]
        stakes = _stakes(self._margins(take(X, aims), log_p[aims], roots))
        scored = np.zeros(len(near))
        F = self._expand(take(X, near))
        for j, root in enumerate(roots):
            mu, U = _margin(F, root, log_p[near, j])
            c, s2 = expit(mu) * expit(-mu), np.einsum("ij,ij->i", U, U)
            scored += c / (1.0 + c * s2) * np.einsum("ij,ij->i", U @ stakes[j], U)
        best = foremost(scored, k)
        margins = self._margins(take(X, near[best]), log_p[near[best]], roots)
        return np.asarray(near[best][_pick(margins, stakes, k)])

    def _margins(self, X: Rows, log_p: Floats, roots: list[Floats]) -> list[tuple[Floats, Floats]]:
        F = self._expand(X)
        return [_margin(F, root, log_p[:, j]) for j, root in enumerate(roots)]


def _against(y: Floats, k: int) -> Floats:
    """+1.0 for the class at position k, -1.0 for the rest."""
    return np.where(y == k + 1.0, 1.0, -1.0)


def _margin(F: Floats, root: Floats, log_p: Floats) -> tuple[Floats, Floats]:
    """The mean of the margin of one class at every row, by a team's probabilities, and the root of its covariances."""
    U = F @ root
    log_odds = logit(np.clip(np.exp(log_p), LEAST, 1.0 - LEAST))
    return means(log_odds, np.einsum("ij,ij->i", U, U)), U


def _stakes(margins: list[tuple[Floats, Floats]]) -> list[Floats]:
    """For each class the matrix M of what is at stake, as a mean over these rows."""
    mu = np.column_stack([one for one, _ in margins])
    s2 = np.column_stack([np.maximum(np.einsum("ij,ij->i", U, U), TINY) for _, U in margins])
    first, second, gap = gaps(mu)
    rows = np.arange(len(mu))
    wrong = ndtr(-gap / np.sqrt(s2[rows, first] + s2[rows, second]))
    found = []
    for k, (_, U) in enumerate(margins):
        w = np.where((first == k) | (second == k), wrong / s2[:, k], 0.0) / max(len(mu), 1)
        found.append(np.asarray(U.T @ (U * w[:, None])))
    return found


def _pick(margins: list[tuple[Floats, Floats]], stakes: list[Floats], k: int) -> Ints:
    """Choose k of these rows one after the other, each given that those before it are labelled (`belief.pick`)."""
    U = np.stack([one for _, one in margins])
    c = np.stack([expit(mu) * expit(-mu) for mu, _ in margins])
    M, d = np.stack(stakes), U.shape[2]
    S = np.tile(np.eye(d), (len(U), 1, 1))
    variance, Q = np.einsum("kij,kij->ki", U, U), np.einsum("kij,kij->ki", U @ M, U)
    picked = np.empty(k, dtype=np.int64)
    for j in range(k):
        score = (c / (1.0 + c * variance) * Q).sum(axis=0)
        score[picked[:j]] = -np.inf
        i = picked[j] = int(np.argmax(score))
        h = np.einsum("kij,kj->ki", S, U[:, i])
        g, Mh = c[:, i] / (1.0 + c[:, i] * variance[:, i]), np.einsum("kij,kj->ki", M, h)
        SMh = np.einsum("kij,kj->ki", S, Mh)
        along, across = (np.einsum("kij,kj->ki", U, one) for one in (h, SMh))
        variance = np.maximum(variance - g[:, None] * along**2, 0.0)
        both = np.einsum("ki,ki->k", h, Mh)
        Q = np.maximum(Q - 2.0 * g[:, None] * along * across + (g * g * both)[:, None] * along**2, 0.0)
        S -= g[:, None, None] * np.einsum("ki,kj->kij", h, h)
    return picked

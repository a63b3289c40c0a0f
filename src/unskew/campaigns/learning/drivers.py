"""What drives a campaign's model: how much worse it would be on everyone if a column held the values of other rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.model_selection import FixedThresholdClassifier
from threadpoolctl import threadpool_limits

from unskew.campaigns.learning.fitting import Fitting
from unskew.campaigns.ledger.state import Snapshot
from unskew.campaigns.tables.column_features import column_features
from unskew.errors import NoRandomLabel
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.labels import positions
from unskew.methods.learner import Learner
from unskew.methods.loop import Observed
from unskew.methods.pool import PoolMethod
from unskew.models.classifiers import LEAST, fit_weighted
from unskew.models.scores import class_probabilities
from unskew.rows import Floats, Ints

FOLDS = 5
"""The number of times that the model is fitted, each time without the labels on which it is then judged."""

LABELS = 10
"""With fewer labels that count, nothing is said."""

LEARNED = 2_000
"""The most labels that each of these fits learns from."""

JUDGED, REPEATS = 2_000, 10
"""The most labelled rows that are judged, and how often the value of each is replaced."""

WORK = 200_000
"""About the most predictions that are made. If there are many columns, fewer rows are judged, and less often."""

FEWEST = 200
"""But no fewer rows than this."""

ALWAYS = -1
"""The part of a label that every fit learns from and none is judged on: the only one of its class."""

EVEN = 0.25
"""The variance of a label, for rounds of old ledgers that do not say how they drew."""


class Rise(NamedTuple):
    """How much larger a loss becomes, with its 95 % interval."""

    value: float
    low: float
    high: float


class Driver(NamedTuple):
    """A column, and how much larger log loss and error on everyone become if it holds the values of other rows."""

    column: str
    log_loss: Rise
    error: Rise


class Importance(NamedTuple):
    """What drives a model: its columns, the one that matters most first."""

    columns: list[Driver]
    log_loss: float
    """The log loss of the model as it is, from the same labels and fits."""
    error: float
    labels: int
    """The number of labelled rows on which the model was judged."""
    weighted: bool
    """Whether the labels stand for everyone. They cannot if none came at random: then each of them counts once."""


def importance(fitting: Fitting, asked: Snapshot) -> Importance | None:
    """The permutation importance of each column of the table (Breiman 2001), for the model after these answers.

    ::

        I_j = sum_i w_i (loss(y_i, f_i(x_i with column j of row r_i)) - loss(y_i, f_i(x_i)))

    w_i is the weight with which label i enters the estimate of the error on everyone, and the weights add up to 1. r_i
    is a row drawn from everyone, several times for each i. f_i was fitted without label i: the labels are cut into
    five parts, and the model is fitted anew without each of them. So a column that the model only learned by heart
    gains nothing. All features of a column change together. The interval covers the choice of labels and of rows
    r_i, and that the five fits differ.

    It is None as long as fewer than ten labels count in the estimate of the error, or no two classes have two labels
    each. Of more than two classes, three must have been seen.
    """
    method = fitting.method(asked.answered)
    blocks = column_features(fitting.pipeline(asked.answered)["features"])
    with threadpool_limits(1):  # sums in one order, whatever the number of cores
        everyone, seen = fitting.everyone(asked), method.observed()
        y = positions(seen.y, len(method.log_.classes))
        if not _enough(y, len(method.log_.classes)):
            return None
        w, weighted = _label_weights(everyone, seen.labelled)
        rng = np.random.default_rng([fitting.settings.seed, len(y)])
        fold = _folds(y, rng)
        rows = _some(np.flatnonzero((w > 0.0) & (fold != ALWAYS)), min(JUDGED, max(WORK // len(blocks), FEWEST)), rng)
        if len(rows) < LABELS:
            return None
        repeats = int(np.clip(WORK // (len(blocks) * len(rows)), 1, REPEATS))
        others = features_of_others(method, everyone.design, len(rows) * repeats, rng)
        before, after = _losses(method, seen, y, fold, rows, blocks, others, rng)
    w = w[rows] / w[rows].sum()
    columns = [
        Driver(name, *(_rise(now - was, w, fold[rows]) for now, was in zip(found, before, strict=True)))
        for name, found in zip(blocks, after, strict=True)
    ]
    columns.sort(key=lambda one: -one.log_loss.value)
    log_loss, error = before @ w
    return Importance(columns, float(log_loss), float(error), len(rows), weighted)


def features_of_others(method: PoolMethod, design: Design, k: int, rng: np.random.Generator) -> Floats:
    """The features of k rows drawn from everyone: from log and pool, or from the pool if the log is no sample."""
    log, pool = method.observed().parts
    counts = np.ones(design.m + design.held) if design.all_counts is None else design.all_counts.copy()
    if method.log_.only_labelled:
        counts[: design.m] = 0.0
    places = rng.choice(len(counts), k, p=counts / counts.sum())
    found, of_log = np.empty((k, log.shape[1])), places < design.m
    found[of_log], found[~of_log] = log[places[of_log]], pool[places[~of_log] - design.m]
    return found


def _label_weights(everyone: Everyone, labelled: Ints) -> tuple[Floats, bool]:
    """How much each label counts in the estimate of the error; all the same if there is none."""
    try:
        share = everyone.estimate().log_share or 0.0
    except NoRandomLabel:
        return np.ones(len(labelled)), False
    design = everyone.design
    of_log = share / max(design.log.n, 1) * design.z / design.q0
    of_pool = design.pool_weights(EVEN) if design.measures_pool else np.zeros(design.held)
    return np.concatenate([of_log, (1.0 - share) * of_pool])[labelled], True


def _losses(
    method: PoolMethod,
    seen: Observed,
    y: Ints,
    fold: Ints,
    rows: Ints,
    blocks: dict[str, Ints],
    others: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Log loss and error of each of these rows; and for each column, their means with values of the others."""
    X, classes, model = np.asarray(seen.X), method.log_.classes, method.model_
    v = method.weights(method.state_) if isinstance(method, Learner) else np.ones(len(y))
    repeats = len(others) // len(rows)
    others = others.reshape(len(rows), repeats, -1)
    threshold = method.costs.threshold if len(classes) == 2 else None
    before, after = np.empty((2, len(rows))), np.empty((len(blocks), 2, len(rows)))
    seed = int(rng.integers(2**31))
    for k in range(FOLDS):
        learned, held = _some(np.flatnonzero(fold != k), LEARNED, rng), np.flatnonzero(fold[rows] == k)
        if not len(held):
            continue
        fitted = fit_weighted(_unfitted(model, seed), X[learned], classes[y[learned]], v[learned])
        own, labels = X[rows[held]], y[rows[held]]
        before[:, held] = _loss(class_probabilities(fitted, own, classes), labels, threshold)
        for j, at in enumerate(blocks.values()):
            changed = np.repeat(own, repeats, axis=0)
            changed[:, at] = others[held].reshape(len(changed), -1)[:, at]
            found = _loss(class_probabilities(fitted, changed, classes), np.repeat(labels, repeats), threshold)
            after[j][:, held] = found.reshape(2, len(held), repeats).mean(axis=2)
    return before, after


def _loss(p: Floats, y: Ints, threshold: float | None) -> Floats:
    """Log loss and error of each row. Two classes are decided at a threshold."""
    said = p.argmax(axis=1) if threshold is None else (p[:, 1] >= threshold).astype(np.int64)
    return np.stack([-np.log(np.maximum(p[np.arange(len(y)), y], LEAST)), said != y])


def _enough(y: Ints, K: int) -> bool:
    """Whether a model can be fitted without some of these labels and judged on them."""
    seen = np.bincount(y)
    return int(np.count_nonzero(seen > 1)) > 1 and int(np.count_nonzero(seen)) >= min(K, 3)


def _folds(y: Ints, rng: np.random.Generator) -> Ints:
    """The part of each label, at random. Labels of a class are spread over parts, so that every fit sees the class."""
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold = np.empty(len(y), dtype=np.int64)
    fold[order] = np.arange(len(y)) % FOLDS
    return np.where(np.bincount(y)[y] > 1, fold, ALWAYS)


def _unfitted(model: Any, seed: int) -> Any:
    """A copy of the model that is not fitted and draws its random numbers from the seed."""
    found = clone(model.estimator_ if isinstance(model, FixedThresholdClassifier) else model)
    states = {name: value for name, value in found.get_params().items() if name.split("__")[-1] == "random_state"}
    return found.set_params(**{name: seed for name, value in states.items() if not isinstance(value, int)})


def _some(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """The rows, or as many of them as may be, evenly drawn."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def _rise(differences: Floats, w: Floats, fold: Ints) -> Rise:
    """Their weighted mean, with a normal interval.

    Each row had values of its own put in place, so the variance between rows covers those too. Rows of one part share a
    fit. So if the parts differ by more than their rows explain, the variance between parts counts instead.
    """
    value = float(w @ differences)
    terms = w * (differences - value)
    parts = np.bincount(fold, terms, minlength=FOLDS)
    half = float(ndtri(0.975) * np.sqrt(max(terms @ terms, parts @ parts * FOLDS / (FOLDS - 1))))
    return Rise(value, value - half, value + half)

"""Propensities that nobody recorded: Q0, the probability that a label was revealed, estimated from the log's (X, z).

Every row's q0 comes from models that never saw that row's z (cross-fitting). The models are calibrated on the
rows they did see. The estimate is right only if X holds everything on which the choice of rows depended, and nothing
in the log can show that. `diagnose` reports what the log can show.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from unskew.data import LEAST_PROPENSITY, LoggedData, propensities, reveal_bits
from unskew.errors import InputError
from unskew.kept import Kept, counts_of
from unskew.rows import Blocks, Bools, Floats, Ints, Rows, as_rows, for_tree, keys, take
from unskew.sampling.policies import FLOOR, Identical, Policy

LEAST_OF_A_KIND = 10
"""With fewer revealed or fewer unrevealed rows than this, no model can be fitted."""

TREE_ROWS = 20_000
"""From a longer log, this number of rows is drawn at random to fit the tree of `read_off`."""

FITTED_ROWS = 20_000
"""The most rows that models are fitted to, half of them revealed if there are enough. Of a longer log, they are drawn
at random."""

WIDE = 300
"""Rows with more columns than this stay sparse if they are sparse, and no trees are fitted to them."""


@dataclass(frozen=True, eq=False)
class EstimatedPropensities:
    """The result of `estimate`.

    Attributes
    ----------
    q0 : array of length m
        Out-of-fold propensities of the log's rows, none below `floor`.
    Q0 : callable
        Q0(X) -> q0 for rows that are not in the log: the mean over the folds' models, none below `floor`.
    floor : float
    raised : int
        The number of the m rows that were below `floor` and raised to it.
    fold : array of length m
        The fold in which each row was held out; -1 for rows of a long log to which no model was fitted.
    """

    q0: Floats
    Q0: Policy
    floor: float
    raised: int
    fold: Ints


@dataclass(frozen=True, eq=False)
class FoldMean:
    """Q0(x) = max(floor, 1/K sum_k p_k(x)), where p_k is the model fitted without fold k."""

    models: tuple[Any, ...]
    n_features: int
    floor: float

    def __call__(self, X: Rows) -> Floats:
        rows = as_rows(X)
        if rows.shape[1] != self.n_features:
            raise InputError(
                f"X must have the log's {self.n_features} features; got {rows.shape[1]}. Pass the same columns."
            )
        if rows.shape[0] == 0:
            return np.empty(0)
        with threadpool_limits(1):
            p = np.mean([model.predict_proba(rows)[:, 1] for model in self.models], axis=0)
        return propensities(p, rows.shape[0], floor=self.floor)


@dataclass(frozen=True, eq=False)
class OfWholeLog:
    """Q0(x) in a long log, from the propensities among some of its rows (`of_whole_log`)."""

    among: Policy
    z: Bools
    whole: Kept
    floor: float

    def __call__(self, X: Rows) -> Floats:
        return propensities(of_whole_log(self.among(X), self.z, self.whole), X.shape[0], floor=self.floor)


def estimate(
    X: ArrayLike | Any,
    z: ArrayLike,
    *,
    folds: int = 5,
    floor: float = FLOOR,
    model: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> EstimatedPropensities:
    """Estimate Q0(x) = Pr(z = 1 | x) from every row of the log, revealed or not.

    ::

        q0_i = max(floor, sigma(a_k + sum_j b_kj log p_kj(x_i) - c_kj log(1 - p_kj(x_i)))),    k = fold of i

    The models p_kj are fitted without fold k. So are a_k, b_kj and c_kj, which are fitted to 5-fold predictions
    within the other folds. With one model this is beta calibration (Kull et al. 2017); with several models it also
    combines them.

    The default models are logistic regressions, neural nets with eight hidden units (for smooth rules, e.g. the
    distance to a boundary), each with a weak and a strong ridge penalty, and boosted trees (for thresholds). A log
    in which every row is revealed needs no model: q0 = 1.

    If at least nine rows in ten are distinct, equal rows are treated as copies and share a fold. Otherwise equal rows
    are common because there are only a few discrete features, and they are spread over the folds. Folds run in
    parallel inside `with joblib.parallel_config(n_jobs=...)`.

    To more than 20,000 rows models are not fitted: of a longer log, 10,000 revealed rows and 10,000 others are drawn at
    random, or more of one kind if there are fewer of the other. Their odds are corrected (`of_whole_log`), and the
    other rows get Q0, since no model saw them.

    Parameters
    ----------
    X : array or SciPy sparse matrix, shape (m, d)
        Features of every row of the log.
    z : sequence of length m
        1 where the label was revealed, 0 where it was not.
    folds : int
        At least 2. With more folds, each model is fitted to more rows, which takes more time.
    floor : float
        Smaller estimates are raised to this value.
    model : classifier with predict_proba, optional
        Replaces the default models; it is calibrated in the same way.
    random_state : int or Generator, optional
        Seeds the folds and the default models.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> z = rng.random(400) < np.where(X[:, 0] > 0, 0.8, 0.2)
    >>> found = estimate(X, z, model=LogisticRegression(), random_state=0)
    >>> found.q0.shape, found.Q0([[2.0, 0.0], [-2.0, 0.0]]).round(1).tolist()
    ((400,), [0.9, 0.1])
    """
    rows = as_rows(X)
    m = rows.shape[0]
    revealed = reveal_bits(z, m)
    if folds < 2:
        raise InputError(f"folds must be at least 2; got {folds}. Try folds=5.")
    if model is not None and not hasattr(model, "predict_proba"):
        raise InputError(f"model must have predict_proba; got {model!r:.60}. Pass a scikit-learn classifier with it.")
    certain = propensities(1.0, m, floor=floor)  # checks floor before anything is fitted
    if revealed.all():
        return EstimatedPropensities(certain, Identical(1.0), floor, 0, np.zeros(m, dtype=np.int64))
    rng = np.random.default_rng(random_state)
    if m > FITTED_ROWS:
        return _from_some(rows, revealed, rng, folds=folds, floor=floor, model=model)
    fold = _folds(copies(rows), revealed, folds, rng)
    seed = int(rng.integers(2**31))
    calibrated = _calibrated(_default(rows.shape[1], seed) if model is None else [model], seed)
    if rows.shape[1] <= WIDE and model is None:
        calibrated = make_pipeline(FunctionTransformer(_dense, accept_sparse=True), calibrated)
    fitted = joblib.Parallel()(joblib.delayed(_fit)(calibrated, rows, revealed, fold != k) for k in range(folds))
    p = np.empty(m)
    for k, (_, held_out) in enumerate(fitted):
        p[fold == k] = held_out
    Q0 = FoldMean(tuple(one for one, _ in fitted), rows.shape[1], floor)
    return EstimatedPropensities(propensities(p, m, floor=floor), Q0, floor, int((p < floor).sum()), fold)


def _from_some(X: Rows, z: Bools, rng: np.random.Generator, *, floor: float, **how: Any) -> EstimatedPropensities:
    """`estimate` for a long log, from some of its rows."""
    m, kinds = len(z), (np.flatnonzero(z), np.flatnonzero(~z))
    few = min(FITTED_ROWS // 2, *map(len, kinds))
    sizes = (few, FITTED_ROWS - few) if len(kinds[0]) < len(kinds[1]) else (FITTED_ROWS - few, few)
    drawn = np.sort(np.concatenate([rng.choice(kind, size, False) for kind, size in zip(kinds, sizes, strict=True)]))
    found = estimate(take(X, drawn), z[drawn], floor=LEAST_PROPENSITY, random_state=rng, **how)
    Q0 = OfWholeLog(found.Q0, z[drawn], Kept(*map(len, kinds)), floor)
    others = np.ones(m, dtype=bool)
    others[drawn] = False
    p, fold = np.empty(m), np.full(m, -1)
    p[drawn], fold[drawn] = of_whole_log(found.q0, Q0.z, Q0.whole), found.fold
    p[others] = of_whole_log(found.Q0(take(X, others)), Q0.z, Q0.whole)
    return EstimatedPropensities(propensities(p, m, floor=floor), Q0, floor, int((p < floor).sum()), fold)


def estimated_log(
    X: ArrayLike | Any,
    y: Sequence[Any] | NDArray[Any],
    z: ArrayLike | None = None,
    *,
    classes: Sequence[Any] | NDArray[Any] | None = None,
    folds: int = 5,
    floor: float = FLOOR,
    model: Any = None,
    random_state: int | np.random.Generator | None = None,
    kept: Kept | None = None,
    blocks: Blocks = (),
) -> tuple[LoggedData, EstimatedPropensities]:
    """The log with estimated propensities, and the estimate itself, whose Q0 can be applied to other rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(rng.random(200) < 0.3, X[:, 0] > 0, np.nan)
    >>> log, found = estimated_log(X, y, model=LogisticRegression(), random_state=0)
    >>> log.q0_estimated, bool((log.q0 == found.q0).all())
    (True, True)
    """
    bare = LoggedData(X, y, z, classes=classes, kept=kept, blocks=blocks)
    found = estimate(bare.X, bare.z, folds=folds, floor=floor, model=model, random_state=random_state)
    q0 = of_whole_log(found.q0, bare.z, bare.kept)
    return LoggedData(
        bare.X, y, bare.z, q0, classes=bare.classes, q0_estimated=True, kept=bare.kept, blocks=bare.blocks
    ), found


def of_whole_log(q: Floats, z: Bools, kept: Kept | None) -> Floats:
    """Propensities in a long log, from the propensities among those of its rows that were kept.

    Among the kept rows, the odds of a label are larger by the share of the labelled rows that were kept, divided by
    that of the others. So they are divided by it again. This holds whatever the rows are like (Prentice and Pyke 1979).

    >>> of_whole_log(np.array([0.5]), np.array([True, False]), Kept(1, 99)).tolist()
    [0.01]
    """
    if kept is None:
        return q
    labelled, other = (np.asarray(counts_of(z, kept)[z == bit][:1]) for bit in (True, False))
    return np.asarray(q * labelled / (q * labelled + (1.0 - q) * other)) if len(labelled) and len(other) else q


def read_off(log: LoggedData) -> Policy:
    """Q0(x) for rows that are not in the log: a regression tree fitted to the log's own propensities.

    It is accurate enough for weighting labels when a model is trained. Estimates for the population do not use it.

    >>> X = np.array([[0.0], [1.0]] * 50)
    >>> Q0 = read_off(LoggedData(X, X[:, 0], q0=np.where(X[:, 0] > 0, 0.9, 0.2)))
    >>> Q0(np.array([[0.1], [0.8]])).round(2).tolist()
    [0.2, 0.9]
    """
    rows = np.arange(log.m)
    if log.m > TREE_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(log.m, TREE_ROWS, replace=False))
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    return TreePolicy(tree.fit(for_tree(take(log.X, rows)), np.log(log.q0[rows])))


@dataclass(frozen=True, eq=False)
class TreePolicy:
    """Q0(x) = exp(tree(x)), where the tree is fitted to the logarithms of known propensities."""

    tree: DecisionTreeRegressor

    def __call__(self, X: Rows) -> Floats:
        return np.asarray(np.exp(self.tree.predict(for_tree(X)))) if X.shape[0] else np.empty(0)


def _default(n_features: int, seed: int) -> list[Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier  # most commands need none of these, and it takes long
    from sklearn.neural_network import MLPClassifier

    wide = n_features > WIDE

    def scaled(model: Any) -> Any:
        # unit standard deviations would give each of many rare indicators as much influence as a common one
        return make_pipeline(MaxAbsScaler() if wide else StandardScaler(), model)

    lines = [LogisticRegression(C=C) for C in (0.01, 1.0)]
    nets = [
        MLPClassifier((8,), activation="tanh", solver="lbfgs", alpha=alpha, random_state=seed) for alpha in (5.0, 20.0)
    ]
    trees = HistGradientBoostingClassifier(max_leaf_nodes=6, learning_rate=0.05, random_state=seed)
    smooth = [scaled(model) for model in (*lines, *nets)]
    return smooth if wide else [*smooth, trees]


def _calibrated(models: list[Any], seed: int) -> Any:
    from sklearn.ensemble import StackingClassifier

    return StackingClassifier(
        [(f"model_{j}", model) for j, model in enumerate(models)],
        final_estimator=make_pipeline(FunctionTransformer(_log_chances), LogisticRegression()),
        cv=StratifiedKFold(5, shuffle=True, random_state=seed),
        stack_method="predict_proba",
    )


def _fit(model: Any, X: Rows, z: Bools, kept: Bools) -> tuple[Any, Floats]:
    """A copy of the model fitted to the kept rows, and its predictions for the others."""
    with threadpool_limits(1), warnings.catch_warnings():  # one thread per fold: the folds run in parallel
        warnings.simplefilter("ignore", ConvergenceWarning)  # calibration compensates for a fit that stopped early
        fitted = clone(model).fit(take(X, kept), z[kept].astype(np.int64))
        return fitted, fitted.predict_proba(take(X, ~kept))[:, 1]


def copies(X: Rows) -> Ints:
    """A number for each row; equal rows get the same number if they are rare enough to be copies."""
    first: dict[bytes, int] = {}
    copy = np.array([first.setdefault(key, len(first)) for key in keys(X)])
    return copy if len(first) >= 0.9 * len(copy) else np.arange(len(copy))


def _folds(copy: Ints, z: Bools, folds: int, rng: np.random.Generator) -> Ints:
    """Each row's fold: copies stay together, revealed and unrevealed rows are spread evenly."""
    rate = np.bincount(copy, z) / np.bincount(copy)
    fewest = min(int((rate > 0.0).sum()), int((rate < 1.0).sum()))
    if fewest < max(LEAST_OF_A_KIND, 2 * folds):
        raise InputError(
            f"estimating q0 needs {max(LEAST_OF_A_KIND, 2 * folds)} distinct revealed rows and as many unrevealed; got "
            f"{fewest} of the rarer kind among {len(z)} rows. If every row was equally likely to be revealed, pass "
            f"q0={z.mean():.4g} to LoggedData; otherwise add rows of the log."
        )
    order = np.lexsort((rng.random(len(rate)), rate))
    fold = np.empty(len(rate), dtype=np.int64)
    fold[order] = np.arange(len(rate)) % folds
    return fold[copy]


def _log_chances(p: Floats) -> Floats:
    p = np.clip(p, 1e-4, 1.0 - 1e-4)
    return np.hstack([np.log(p), -np.log1p(-p)])


def _dense(X: Rows) -> Floats:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())

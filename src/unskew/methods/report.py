"""What a trained method's model is worth on the whole population, from the labels it has."""

from dataclasses import replace
from typing import Any

import numpy as np

from unskew.errors import InputError
from unskew.estimation.design import Audit, Design
from unskew.estimation.population import PopulationEstimate, population
from unskew.methods.loop import Method, Round
from unskew.methods.pools.unskew import Unskew
from unskew.models.bayes import BayesianLogistic
from unskew.models.classifiers import margins
from unskew.models.cross_fitting import cross_fitted_margins
from unskew.models.laplace import leave_one_out
from unskew.rows import Floats, Ints, Rows, as_rows, stack, take


def population_error(
    method: Method,
    X_pool: Any = None,
    *,
    measure: str = "error",
    estimator: str = "dr",
    interval: str = "wald",
    level: float = 0.95,
) -> PopulationEstimate:
    """A measure of the method's present model on the population, with an interval.

    Rows asked from a pool count by the design of the rounds (`unskew.estimation`). Rows of a stream count as further
    rows of the log, each with the probability with which it was asked for. Labelled rows are judged by margins that do
    not know their label: in closed form for `BayesianLogistic`, by cross-fitting in five folds for other models of
    `Unskew`, and for the paper's methods by their own passes less one row in twenty (`Method.held_out`).

    Parameters
    ----------
    method : Method
        After its last `tell`. It must have asked with known probabilities, as `Unskew` does; or not at all.
    X_pool : array or SciPy sparse matrix, optional
        All rows of the pool in their first order, if there was one. Each round must have been asked with all
        rows not yet labelled, in that order.
    measure, estimator, interval, level
        As in `unskew.estimation.population.population`.

    Examples
    --------
    >>> from unskew import LoggedData, Unskew
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (900, 2)); y = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(900) < 0.1)
    >>> q0 = np.where(X[:, 0] > 0, 0.9, 0.1)
    >>> log = LoggedData(X[:300], y[:300], rng.random(300) < q0[:300], q0[:300])
    >>> method = Unskew(audit=0.5, random_state=0).start(log)
    >>> asked = method.ask(X[300:], q0[300:], k=60)
    >>> print(population_error(method.tell(y[300:][asked]), X[300:]))
    error 0.144, 95 % interval 0.080 to 0.226 (dr, wald; 235 labels worth 92 drawn at random; q0 given)
    """
    design, X, y, trained = campaign(method, X_pool)
    margin = honest_margins(method, X, y, trained)
    found = population(design, margin, y, measure=measure, estimator=estimator, interval=interval, level=level)
    return replace(found, q0_estimated=method.log_.q0_estimated)


def campaign(method: Method, X_pool: Any) -> tuple[Design, Rows, Floats, Ints]:
    """The design, every row of log, stream and pool, their labels (0 where unknown), and the labelled rows in order."""
    log, streamed = method.log_, [batch for batch in method.rounds_ if batch.positions is None]
    if X_pool is None and len(streamed) < len(method.rounds_):
        raise InputError("rows were asked from a pool, and X_pool is None. Pass all rows of the pool.")
    X, z, q0 = [log.X], [log.z], [log.q0]
    for batch in streamed:
        X.append(batch.X)
        z.append(batch.queried)
        q0.append(_asked_with(batch))
    m = sum(map(len, z))
    if X_pool is not None:
        X.append(as_rows(X_pool, name="X_pool"))
    rows = stack(X)
    n = rows.shape[0] - m
    y = np.zeros(m + n)
    y[: log.m] = log.y
    seen, left, trained = log.m, np.arange(n), [np.flatnonzero(log.z)]
    audits: list[Audit] = []
    for batch in method.rounds_:
        if batch.positions is None:
            trained.append(seen + np.flatnonzero(batch.queried))
            seen += len(batch.y)
        else:
            at = _whole_pool(batch, left)
            trained.append(m + at)
            if len(at) != len(batch.y) or abs(take(rows, m + at) - batch.X).max() > 0.0:
                raise InputError(
                    f"the rows asked in pool round {len(audits)} are not those of X_pool. "
                    "Pass the whole pool in its first order, and ask with all rows not yet labelled."
                )
            assert batch.audit is not None
            offered = batch.rest + int(np.count_nonzero(~batch.audit))
            if offered != len(left):
                raise InputError(
                    f"pool round {len(audits)} must have been asked with all {len(left)} rows of X_pool not yet "
                    f"labelled; got {offered}, and its random rows stand for those alone. Ask with all rows left."
                )
            audits.append(Audit(at[~batch.audit], at[batch.audit]))
            left = np.setdiff1d(left, at, assume_unique=True)
        y[trained[-1]] = batch.y[batch.queried]
    return Design(np.concatenate(z), np.concatenate(q0), n, tuple(audits)), rows, y, np.concatenate(trained)


def _whole_pool(batch: Round, left: Ints) -> Ints:
    """The positions asked for in the whole pool, given those in what was left of it."""
    assert batch.positions is not None
    return left[batch.positions[batch.positions < len(left)]]


def _asked_with(batch: Round) -> Floats:
    if batch.p is None or not (batch.p > 0.0).all():
        raise InputError(
            "every stream row must have been asked for with a known positive probability; some were not. "
            "Use Unskew with audit= above 0."
        )
    return batch.p


def honest_margins(method: Method, X: Rows, y: Floats, trained: Ints) -> Floats:
    """The model's margins; of labelled rows, those without their label."""
    model = method.model_
    rows, labels = take(X, trained), y[trained]
    if isinstance(method, Unskew) and isinstance(model, BayesianLogistic):
        margin = model.decision_function(X)
        margin[trained] = leave_one_out(model.expand(rows), labels, method.weights(), model.posterior_)
        return margin
    margin = margins(model, X, method.log_.classes[1])
    if isinstance(method, Unskew):
        margin[trained] = cross_fitted_margins(model, rows, labels, method.weights(), folds=min(5, len(trained)))
    else:
        margin[trained] = method.held_out(rows, labels)
    return margin

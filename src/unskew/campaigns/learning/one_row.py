"""Why a campaign's model says of one row what it says: how much each column of it moves the log-odds."""

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import logit
from threadpoolctl import threadpool_limits

from unskew.campaigns.learning.drivers import features_of_others
from unskew.campaigns.learning.fitting import Fitting, design_of
from unskew.campaigns.ledger.state import Snapshot
from unskew.campaigns.tables.column_features import column_features
from unskew.campaigns.tables.encoding import features, from_plain, to_plain
from unskew.errors import InputError
from unskew.models.scores import class_probabilities
from unskew.rows import Floats

OTHERS = 200
"""The number of other rows whose values take the place of the row's own."""

SURE = 1e-12
"""Probabilities closer to 0 or 1 are moved here, so that log-odds are finite."""


class Effect(NamedTuple):
    """What the value of one column does, everything else in the row being as it is."""

    column: str
    value: Any
    """As in the table; dates as ISO text, None if it is missing."""
    log_odds: float
    """The row's log-odds, less their mean with the values of other rows: above 0, the row's own value raises them."""
    standard_error: float
    """How uncertain this is because the other rows are a sample."""
    probability: float
    """The mean probability with the values of other rows."""


class Why(NamedTuple):
    """What the model says of a row, and what each column does to it, the one that does most first."""

    id: str
    prediction: str
    about: str
    """The class that probabilities and log-odds are of: the positive one of two; of more, the predicted one."""
    probability: float
    log_odds: float
    others: int
    """The number of other rows."""
    effects: list[Effect]


def why(fitting: Fitting, asked: Snapshot, id: str) -> Why:
    """How much each column moves the log-odds of a row of the pool, by the model after these answers.

    ::

        effect of column j = log-odds(x) - mean over rows r of log-odds(x with column j of row r)

    with 200 rows r drawn from everyone. Effects need not add up to the log-odds, since columns can work together.
    """
    row = _row(fitting, asked, id)
    pipeline, method = fitting.pipeline(asked.answered), fitting.method(asked.answered)
    encoder, model, classes = pipeline["features"], pipeline["model"], method.log_.classes
    rng = np.random.default_rng(fitting.settings.seed)
    with threadpool_limits(1):
        others = features_of_others(method, design_of(method, asked), OTHERS, rng)
        own, blocks = features(encoder, row), column_features(encoder)
        changed = np.repeat(own, 1 + OTHERS * len(blocks), axis=0)
        for j, at in enumerate(blocks.values()):
            changed[1 + j * OTHERS : 1 + (j + 1) * OTHERS, at] = others[:, at]
        p = class_probabilities(model, changed, classes)
        said = str(model.predict(own)[0])
    k = 1 if len(classes) == 2 else [str(one) for one in classes].index(said)
    chance, log_odds = p[:, k], _log_odds(p[:, k])
    values = to_plain(row.select(list(blocks)))[0]
    effects = []
    for j, name in enumerate(blocks):
        part = slice(1 + j * OTHERS, 1 + (j + 1) * OTHERS)
        moved = log_odds[0] - log_odds[part]
        error = float(moved.std(ddof=1)) / np.sqrt(OTHERS)
        effects.append(Effect(name, values[name], float(moved.mean()), float(error), float(chance[part].mean())))
    effects.sort(key=lambda one: -abs(one.log_odds))
    return Why(id, said, str(classes[k]), float(chance[0]), float(log_odds[0]), OTHERS, effects)


def _row(fitting: Fitting, asked: Snapshot, id: str) -> pl.DataFrame:
    """The row as the ledger has it, if it was asked for, or as the pool has it."""
    known = [row.values for row in asked.rows if row.id == id]
    row = from_plain(known, fitting.settings.types) if known else fitting.row_named(id)
    if row is None:
        column = fitting.settings.id
        remedy = f"Ids are in the column {column!r}." if column else "The first row of the pool is row-1."
        raise InputError(f"no row of the pool has the id {id!r:.60}. {remedy}")
    return row


def _log_odds(p: Floats) -> Floats:
    return np.asarray(logit(np.clip(p, SURE, 1.0 - SURE)))

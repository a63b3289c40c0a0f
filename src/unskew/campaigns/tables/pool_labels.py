"""Labels that a pool has already, and rows that are in log and pool: each person counts once, no label is bought twice.

A label that the pool has stands for its own row, like one of a row that was chosen. Rows are drawn from the others, so
the estimate is right however these labels came about. If they are to speak for other rows too, they must be those of a
log with propensities. Then half of the pool's rows, picked by a hash of their ids, become rows of the log.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import chi2_contingency

from unskew.campaigns.options import check
from unskew.campaigns.start_options import START
from unskew.campaigns.tables.files import label_texts
from unskew.campaigns.tables.labels import canonical
from unskew.campaigns.tables.log_files import LABELLED, Log
from unskew.campaigns.tables.several_logs import free_name
from unskew.errors import InputError
from unskew.hashing import exponentials
from unskew.kept import nearly_all
from unskew.pools.ids import bare, keys_of
from unskew.rows import Bools

SEED = 14
"""Of the numbers that decide which rows of both tables are in the log."""

UNLIKE = 0.001
"""Rows of the log that are in the pool and others are unlike each other if chance has less than this."""


class Parts(NamedTuple):
    """A log and a pool without a row in common. The pool's labels are in its column `label`, if it has any."""

    log: Log
    pool: pl.DataFrame


def checked_words(pool_labels: str, same_ids: str, id: str | None) -> None:
    """Refuse words that mean nothing, and those that need ids without them: a row number would be another row's."""
    for name, given in (("pool_labels", pool_labels), ("same_ids", same_ids)):
        check(START[name], given, START[name].words)
    if id is None and (pool_labels == "logged" or same_ids == "merge"):
        said = "pool labels as those of a log" if pool_labels == "logged" else "to merge log and pool"
        raise InputError(f"{said} needs ids: half of the rows become rows of the log. Name their column with --id.")
    if pool_labels == "logged" and same_ids == "merge":
        raise InputError(
            "pool labels cannot be those of a log if log and pool are merged. Leave out one of --pool-labels logged "
            "and --same-ids merge."
        )


def labels_in(pool: pl.DataFrame, label: str, classes: Sequence[str]) -> pl.Series | None:
    """The classes that the rows of a pool are known to have, null where there is none; None if no row has a label.

    >>> labels_in(pl.DataFrame({"age": [30, 41], "paid": [None, 1.0]}), "paid", ["0", "1"]).to_list()
    [None, '1']
    """
    if label not in pool.columns or not pool[label].count():
        return None
    texts = label_texts(pool, label)
    meant = {said: canonical(said, classes) for said in texts.drop_nulls().unique()}
    for said in sorted(said for said, name in meant.items() if name is None):
        raise InputError(
            f"the pool's label {label!r} must be {' or '.join(map(repr, classes))}; got {said!r}. Correct it, or pass "
            "--pool-labels ignore."
        )
    return texts.replace_strict(meant, return_dtype=pl.String).alias(label)


def with_labels(pool: pl.DataFrame, labels: pl.Series | None) -> pl.DataFrame:
    """The pool with a column of known labels, if there are any; or a refusal."""
    if labels is None:
        return pool
    known = labels.count()
    if known == pool.height:
        raise InputError(
            f"every row of the pool has a label in {labels.name!r}, so none is left to ask for. Give it as a log, or "
            "pass --pool-labels ignore to ask for them again."
        )
    if known > LABELLED:
        raise InputError(
            f"the pool has {known:,} labels in {labels.name!r}; at most {LABELLED:,} can be known beforehand. Give the "
            "rows of most of them as a log, or pass --pool-labels ignore."
        )
    return pool.with_columns(labels)


def in_both(log: Log, pool: pl.DataFrame, id: str | None) -> Bools:
    """Which of the log's rows are in the pool too, by their ids."""
    if id is None or id not in log.frame.columns:
        return np.zeros(log.frame.height, dtype=bool)
    return bare(log.frame[id]).is_in(pool[id].implode()).to_numpy()


def refuse_same_ids(rows: int, id: str | None, *, merge: bool = True) -> None:
    """Refuse a log and a pool that share rows. Those of a pool that stays in its files cannot be merged."""
    if rows:
        remedy = "Pass --same-ids merge to split these rows between the two"
        if not merge:
            remedy = "The pool stays in its files, so drop these rows from the log or from the pool beforehand"
        raise InputError(
            f"{rows:,} id{'s' if rows != 1 else ''} of column {id!r} {'are' if rows != 1 else 'is'} in both log and "
            f"pool, and each person may count once. {remedy}, or pass --same-ids separate if they are different people."
        )


def check_same(log: Any, pool: Any, read: Log, rows: pl.DataFrame | None, id: str | None) -> None:
    """Refuse a pool that is the log itself, where ids do not tell: the same file, or the same rows."""
    if id is not None and id in read.frame.columns:
        return
    paths = [Path(one).resolve() for one in (log, pool) if isinstance(one, str | Path)]
    same = len(paths) == 2 and paths[0] == paths[1]
    if rows is not None and not same and read.kept is None:
        columns = [name for name in rows.columns if name in read.frame.columns]
        same = columns == rows.columns and rows.equals(read.frame.select(columns))
    if same:
        raise InputError(
            "log and pool are the same table, and each person may count once. Name its column of ids with --id and "
            "pass --same-ids merge, which splits the rows between the two."
        )


def merged(log: Log, pool: pl.DataFrame, labels: pl.Series | None, label: str, id: str) -> tuple[Parts, int]:
    """Log and pool without a person in common, and the number of people that were in both.

    A row of both is in the log or in the pool, by a hash of its id. In the pool it brings its label. If the log's other
    rows all have a label, such as where the pool is what has none, then every row of the log is split: otherwise the
    log would have kept its labels and lost its other rows.

    >>> from unskew.campaigns.tables.log_files import read_log
    >>> table = pl.DataFrame({"loan": range(100), "age": range(100), "paid": [1, None, 0, None] * 25})
    >>> pool = table.drop("paid").cast({"loan": pl.String})
    >>> parts, both = merged(read_log(table, "paid", None, "loan"), pool, None, "paid", "loan")
    >>> both, parts.log.frame.height + parts.pool.height, sorted(parts.pool["paid"].drop_nulls().unique())
    (100, 100, ['0', '1'])
    """
    _check_whole(log, "merged with a pool")
    frame, texts, ids = log.frame, label_texts(log.frame, label), bare(log.frame[id])
    both, z = in_both(log, pool, id), texts.is_not_null().to_numpy()
    candidates = both
    if (z | both).all():
        candidates = np.ones(len(z), dtype=bool)
    elif chi2_contingency(_crossed(both, z)).pvalue < UNLIKE:
        raise InputError(
            f"{100 * z[both].mean():.0f} % of the log's rows that are in the pool have a label, and "
            f"{100 * z[~both].mean():.0f} % of its others: the pool is no sample of everyone. Give the whole log as "
            "the pool too, with --same-ids merge."
        )
    moved = candidates & _in_pool(ids)
    own = pl.Series(label, [None] * pool.height, dtype=pl.String) if labels is None else labels
    stay = pool.with_columns(own).filter(~pool[id].is_in(ids.filter(pl.Series(~moved)).implode()))
    theirs = pl.DataFrame({id: ids, "theirs": texts}).filter(pl.Series(moved))
    stay = stay.join(theirs, on=id, how="left", maintain_order="left")
    for row in stay.filter(pl.col(label) != pl.col("theirs")).head(1).iter_rows(named=True):
        raise InputError(
            f"{row[id]!r} has the label {row['theirs']!r} in the log and {row[label]!r} in the pool. Correct one, or "
            "pass --pool-labels ignore."
        )
    stay = stay.with_columns(pl.col("theirs").fill_null(pl.col(label)).alias(label)).drop("theirs")
    new = frame.with_columns(ids, texts.alias(label)).filter(pl.Series(moved & ~both))
    if new.height:
        stay = pl.concat([stay, new.select(stay.columns)], how="vertical_relaxed")
    return Parts(_part(log, frame.filter(pl.Series(~moved)), label), stay), int(both.sum())


def logged(log: Log, pool: pl.DataFrame, labels: pl.Series, label: str, propensity: str | None, id: str) -> Parts:
    """Half of the pool's rows, labelled or not, as rows of a log with a policy of its own; the others are the pool."""
    _check_whole(log, "joined by rows of the pool")
    given = propensity is not None and propensity in pool.columns
    if not given and nearly_all(labels.count(), pool.height):
        raise InputError(
            "(nearly) every row of the pool has a label, so it cannot be estimated how likely they were. Add a column "
            "of propensities, or leave out --pool-labels logged."
        )
    there = pl.Series(_in_pool(pool[id]))
    policy = log.policy or free_name("log", log.frame.columns)
    old = log.frame.with_columns(label_texts(log.frame, label).alias(label))
    if log.policy is None:
        old = old.with_columns(pl.lit("the log").alias(policy))
    new = pool.with_columns(labels, pl.lit("from the pool").alias(policy)).filter(~there)
    if id not in old.columns:
        new = new.drop(id)
    frame = pl.concat([old, new], how="diagonal_relaxed").select(old.columns)
    return Parts(_part(log, frame, label)._replace(policy=policy), pool.with_columns(labels).filter(there))


def _in_pool(ids: pl.Series) -> Bools:
    """Which rows fall to the pool: about half of them, always the same."""
    return np.asarray(exponentials(SEED, keys_of(ids)) > np.log(2.0))


def _crossed(a: Bools, b: Bools) -> Any:
    """How many rows have both, one and none of two properties, and at least one in each cell."""
    return [[1 + int((x & y).sum()) for y in (b, ~b)] for x in (a, ~a)]


def _check_whole(log: Log, what: str) -> None:
    if log.kept is not None:
        raise InputError(
            f"a log of {log.rows:,} rows, of which some are kept, cannot be {what}. Split the tables beforehand, so "
            "that no row is in both."
        )


def _part(log: Log, frame: pl.DataFrame, label: str) -> Log:
    """The log with these rows."""
    texts = label_texts(frame, label)
    labels = {name: int((texts == name).sum()) for name in log.classes}
    return log._replace(frame=frame, labels=labels, rows=frame.height)

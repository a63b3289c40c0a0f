"""Where a campaign's labels come from: one log or several, and a pool that may have some already."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from unskew.campaigns.tables.files import check_pool, label_texts, read_table
from unskew.campaigns.tables.label_columns import Marks, said_missing
from unskew.campaigns.tables.log_files import Log, read_log
from unskew.campaigns.tables.pool_files import AsInLog, check_files_of_pool, files_that_stay
from unskew.campaigns.tables.pool_labels import (
    check_same,
    checked_words,
    in_both,
    labels_in,
    logged,
    merged,
    refuse_same_ids,
    with_labels,
)
from unskew.campaigns.tables.several_logs import policies_in
from unskew.pools.files import PoolFile
from unskew.pools.scanning import Progress
from unskew.sampling.within_policies import policies_of

MOST_NAMED = 5
"""The most policies that are named in a sentence."""


class Tables(NamedTuple):
    """A log and a pool that can be used."""

    log: Log
    pool: pl.DataFrame
    """The pool, with a column of labels if it has some; or if its files stay where they are, a row of it."""
    files: list[PoolFile] | None
    known: int
    """The number of rows of the pool that have a label already."""
    sources: tuple[str, ...]
    """Where labels come from, in words; empty for one log and a pool without labels."""


def gather(
    log: Any,
    pool: Any,
    label: str,
    propensity: str | None,
    id: str | None,
    *,
    policy: str | None = None,
    classes: Sequence[str] | None = None,
    pool_labels: str = "known",
    same_ids: str = "refuse",
    types: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Tables:
    """Read a log and a pool, which have no row in common afterwards; or refuse them."""
    checked_words(pool_labels, same_ids, id)
    read = read_log(log, label, propensity, id, policy=policy, classes=classes, types=types, progress=progress)
    files, frame = files_that_stay(pool), read.described
    if files is not None:
        ids = read.frame[id] if id in frame.columns and same_ids != "separate" else None
        check_same(log, pool, read, None, id)
        row, both = check_files_of_pool(
            files, AsInLog.of(frame, label, propensity, id, files, given=read.types), progress, policy=policy,
            labels=pool_labels != "ignore", not_in=ids,
        )  # fmt: skip
        refuse_same_ids(both, id, merge=False)
        return Tables(read, row, files, 0, tuple(_said(read, label, propensity)))
    # The log decides what a column holds: the few rows of a pool may look like something else.
    text = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    marks = Marks(label, read.classes)
    raw = read_table(pool, text=text if id is None else [*text, id], name="the pool", types=read.types, clean=marks)
    raw = raw if policy is None else raw.drop(policy, strict=False)
    rows = check_pool(frame, raw, label, propensity, id)
    labels = None if pool_labels == "ignore" else labels_in(raw, label, read.classes)
    said: list[str] = []
    if same_ids != "separate":
        check_same(log, pool, read, rows, id)
        both = int(in_both(read, rows, id).sum())
        if same_ids != "merge":
            refuse_same_ids(both, id)
        elif both:
            (read, rows), _ = merged(read, rows, labels, label, id or "")
            said.append(f"{both:,} rows of both log and pool are now in one of them")
            labels = rows[label] if rows[label].count() else None
            rows = rows.drop(label)
    if pool_labels == "logged" and labels is not None:
        read, rows = logged(read, rows, labels, label, propensity, id or "")
        labels = rows[label] if rows[label].count() else None
        rows = rows.drop(label)
    rows = with_labels(rows, labels)
    known = 0 if labels is None else labels.count()
    if known:
        said.append(f"the pool: {known:,} of {rows.height:,} rows labelled before, each stands for itself")
    if missing := said_missing(marks.seen):
        said.append(f"the pool: {missing}")
    return Tables(read, rows, None, known, (*_said(read, label, propensity), *said))


def _said(log: Log, label: str, propensity: str | None) -> list[str]:
    """Where the log's labels come from, if there is more to say than their number."""
    said = []
    if log.policy is not None:
        z, policy = label_texts(log.frame, label).is_not_null().to_numpy(), policies_in(log.frame, log.policy)
        given = np.zeros(len(z), dtype=bool)
        if propensity is not None:
            given = log.frame[propensity].is_not_null().to_numpy()
        names = sorted(set(policy))
        for name in names[: MOST_NAMED if len(names) > 2 * MOST_NAMED else None]:
            rows = policy == name
            how = f"given in {propensity}" if given[rows].all() else "estimated"
            said.append(f"{name}: {z[rows].sum():,} of {rows.sum():,} rows labelled, propensities {how}")
        if len(said) < len(names):
            said.append(f"and {len(names) - len(said)} more")
        few = policies_of(policy[~given], z[~given]).together if not given.all() else ()
        if few:
            more = f" and {len(few) - MOST_NAMED} more" if len(few) > MOST_NAMED else ""
            said.append(f"too few labels, so estimated from all rows together: {', '.join(few[:MOST_NAMED])}{more}")
    if missing := said_missing(log.marks):
        said.append(f"the log: {missing}")
    return said

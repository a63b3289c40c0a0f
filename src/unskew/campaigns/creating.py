"""A new campaign from two files: everything checked first, then written, the mark that it is one last."""

from contextlib import ExitStack
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

import unskew
from unskew.campaigns.folder import Folder, digest, put
from unskew.campaigns.learning.fitting import METHODS, Fitting
from unskew.campaigns.ledger.store import Ledger
from unskew.campaigns.tables.encoding import schema_of
from unskew.campaigns.tables.files import check_log, check_pool, feature_columns, kinds, read_table
from unskew.errors import InputError, unknown

LONGEST_LEASE = timedelta(days=365)

PREDICTED = ("prediction", "probability")
"""What `predict` says of each row, beside its id."""


def create(
    folder: Folder,
    *,
    log: Path | str,
    pool: Path | str,
    label: str,
    propensity: str | None,
    id: str | None,
    budget: int,
    method: str,
    audit: float,
    store: str | None,
    classes: list[str] | None,
    lease: timedelta,
    seed: int,
) -> None:
    """Make the folder a campaign, or leave all as it was. Killed at any point, the same call makes it anew."""
    folder.check_free()
    named = {name.lower(): name for name in METHODS}
    if method.lower() not in named:
        raise unknown("method", method, METHODS)
    if budget < 1:
        raise InputError(f"budget must be at least 1 label; got {budget}. Say how many labels can be paid for.")
    if not 0.0 <= audit < 1.0:
        raise InputError(f"audit must be in [0, 1); got {audit}. The share 0.1 is a good start.")
    if not timedelta(seconds=1) <= lease <= LONGEST_LEASE:
        raise InputError(f"lease must be from a second to a year; got {lease}. Half an hour is a good start.")
    if seed < 0:
        raise InputError(f"seed must be at least 0; got {seed}. Choose another.")
    if id in PREDICTED:
        raise InputError(f"ids may not be in a column {id!r}: predictions have one of that name. Rename it.")
    log_frame = read_table(log, text=[] if id is None else [id])
    pair = check_log(
        log_frame, label, propensity, None if id is None or id not in log_frame.columns else id, classes=classes
    )
    # What a column holds is decided by the log: the few rows of a pool may look like something else.
    text = [name for name, dtype in log_frame.schema.items() if dtype == pl.String]
    pool_frame = check_pool(
        log_frame, read_table(pool, text=text if id is None else [*text, id]), label, propensity, id
    )
    features = feature_columns(log_frame, label, propensity, id)
    holds = kinds(log_frame)
    with ExitStack() as opened:
        ledger = None if store is None else opened.enter_context(Ledger(store))  # first: is it there at all?
        opened.enter_context(folder.making())
        put(folder.log, log_frame.write_parquet)
        put(folder.pool, pool_frame.write_parquet)
        settings: dict[str, Any] = {
            "version": unskew.__version__,
            "method": named[method.lower()],
            "budget": budget,
            "audit": audit,
            "lease_seconds": lease.total_seconds(),
            "seed": seed,
            "label": label,
            "propensity": propensity,
            "id": id,
            "classes": pair,
            "kinds": {name: holds[name] for name in features if log_frame[name].n_unique() > 1},
            "types": _shown_types(pool_frame, label, propensity),
            "log_rows": log_frame.height,
            "log_sha256": digest(folder.log),
            "pool_rows": pool_frame.height,
            "pool_sha256": digest(folder.pool),
        }
        fitting = Fitting(folder, settings)
        fitting.method([])  # the first ask need not wait for it, and what cannot be fitted is refused here
        try:
            error = asdict(fitting.error([], []))
        except InputError:  # no label of the log came at random
            error = None
        campaign = str(uuid4())
        ledger = ledger or opened.enter_context(Ledger(folder.url(None)))
        ledger.create(campaign, settings)
        with ledger.writing(campaign) as write:
            write.append("started", "", {"error": error})
        folder.finish(campaign, store)


def _shown_types(pool: pl.DataFrame, label: str, propensity: str | None) -> dict[str, str]:
    """The pool's columns that people see and models learn from, with their types."""
    return {name: kind for name, kind in schema_of(pool).items() if name not in (label, propensity)}

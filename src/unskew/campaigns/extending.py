"""New rows for a campaign's pool: everything is checked first, then written. The event in the ledger comes last.

The rows of a pool that is in the folder are copied into it, as pool-2.parquet, pool-3.parquet and so on. New rows of a
pool whose files stay where they are stay in their files too, which pool-2.files.json lists.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from unskew.campaigns.folder import Folder, digest
from unskew.campaigns.learning.fitting import Fitting
from unskew.campaigns.learning.prepared import Prepared
from unskew.campaigns.ledger.events import Extended
from unskew.campaigns.ledger.live import Live
from unskew.campaigns.ledger.people import checked_name
from unskew.campaigns.ledger.state import Snapshot
from unskew.campaigns.tables.encoding import schema_of
from unskew.campaigns.tables.files import check_pool, label_texts, read_table
from unskew.campaigns.tables.frames import put_frame
from unskew.campaigns.tables.label_columns import Marks
from unskew.campaigns.tables.pool_files import (
    COPIED,
    AsInLog,
    check_files_of_pool,
    columns_of,
    files_that_stay,
    labels_in_files,
    no_features,
    write_list,
)
from unskew.errors import InputError
from unskew.pools.files import FilePool, PoolFile, check_ids, find_files
from unskew.pools.formats import kind_of
from unskew.pools.hashes import with_hashes
from unskew.pools.ids import bare, shared_ids
from unskew.pools.scanning import Progress
from unskew.writing import check_folder


class New(NamedTuple):
    """Rows that can come to a pool: their number, a row or all of them, and how their file in the folder is written."""

    rows: int
    frame: pl.DataFrame
    write: Callable[[Path], None]


def extend(
    folder: Folder,
    live: Live,
    fitting: Fitting,
    asked: Snapshot,
    source: Any,
    *,
    by: str = "",
    progress: Progress | None = None,
) -> int:
    """Give the pool the rows of a table, or leave everything as it was. After a kill at any point, call it again."""
    if by:
        checked_name(by)
    check_folder(folder.path)
    prepared = fitting.prepared
    new = _in_files(prepared, source, progress) if prepared.sampled else _copied(prepared, source, progress)
    types = _wider(prepared, new.frame)
    path = folder.part(len(asked.parts) + 2, listed=prepared.sampled)
    with live.writing() as write:
        if write.state.parts != asked.parts:
            raise InputError("somebody else gave the pool new rows meanwhile. Check `unskew status`, then try again.")
        try:
            for draft in folder.path.glob(f".{path.name}.*"):  # a kill left it behind
                draft.unlink(missing_ok=True)
            new.write(path)
            write.append(Extended(new.rows, digest(path), path.name, len(write.state.batches), types), by=by)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return new.rows


def _copied(prepared: Prepared, source: Any, progress: Progress | None) -> New:
    """Rows for a pool that is read whole."""
    told, first = prepared.settings, prepared.part_frames[0]
    files = files_that_stay(source)
    if files is not None:
        rows = sum(file.rows for file in files)
        if rows > COPIED:
            raise InputError(
                f"at most {COPIED:,} rows at a time can come to a pool that is in the campaign's folder; got {rows:,}. "
                "Give them in several parts, or begin a campaign whose pool stays in its files."
            )
        reader = _reader(prepared, files)
        _checked_files(prepared, files, reader, progress)
        columns = [name for name in columns_of(files) if name not in (told.label, told.policy)]
        frame = FilePool(files, reader, no_features, columns=columns, id=told.id).frame(np.arange(rows))
    else:
        frame = _read(prepared, source)
    _check_propensity(prepared, frame.columns, first.columns)
    empty = [name for name in frame.columns if frame[name].null_count() == frame.height]
    frame = frame.with_columns(pl.col(name).cast(first.schema[name]) for name in empty)
    frame = frame.select(name for name in first.columns if name in frame.columns)
    _check_new(prepared, frame)
    if told.label in first.columns:  # labels that the pool had when the campaign began
        frame = frame.with_columns(pl.lit(None, dtype=first.schema[told.label]).alias(told.label)).select(first.columns)
    return New(frame.height, frame, lambda path: put_frame(path, frame))


def _read(prepared: Prepared, source: Any) -> pl.DataFrame:
    """One table that is read whole, as its rows will be in the pool."""
    told, log = prepared.settings, _log(prepared)
    text = [name for name, dtype in log.schema.items() if dtype == pl.String]
    raw = read_table(
        source, text=text if told.id is None else [*text, told.id], name="the new rows", types=told.given,
        clean=Marks(told.label, told.classes),
    )  # fmt: skip
    raw = raw if told.policy is None else raw.drop(told.policy, strict=False)
    if not raw.height:
        raise InputError("the new rows are none: the table is empty. Give at least one row.")
    if told.label in raw.columns:
        _check_unlabelled(label_texts(raw, told.label).count(), raw.height, told.label)
    return check_pool(log, raw, told.label, told.propensity, told.id)


def _in_files(prepared: Prepared, source: Any, progress: Progress | None) -> New:
    """Rows for a pool whose files stay where they are."""
    told, old = prepared.settings, prepared.files or []
    if not isinstance(source, str | Path):
        raise InputError(
            f"the pool stays in its files, so new rows must be in files too; got {type(source).__name__}. Write them "
            "to a Parquet file, and pass its path."
        )
    prepared.check_files()
    files = find_files(source)
    kinds = [kind_of(some[0].path) for some in (old, files)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"the pool's files are {Path(old[0].path).suffix} files; got {files[0].path}. Write the new rows in the "
            "same format."
        )
    known = {file.path for file in old}
    for file in files:
        if file.path in known:
            raise InputError(f"{file.path} is in the pool already. Name only files with new rows.")
    row = _checked_files(prepared, files, _reader(prepared, files), progress)
    _check_propensity(prepared, columns_of(files), columns_of(old))
    if told.id is not None:
        check_ids(FilePool([*old, *files], prepared.reader, no_features, columns=[], id=told.id))
    kept = with_hashes(files, progress) if all(file.sha256 for file in old) else files
    return New(sum(file.rows for file in files), row, lambda path: write_list(path, kept))


def _checked_files(
    prepared: Prepared, files: list[PoolFile], reader: AsInLog, progress: Progress | None
) -> pl.DataFrame:
    """A row of files that can be used: their columns, types and ids, and that they bring no labels."""
    told, log = prepared.settings, _log(prepared)
    ids = log[told.id] if told.id in log.columns else None
    row, both = check_files_of_pool(files, reader, progress, policy=told.policy, labels=False, not_in=ids)
    pool = FilePool(files, reader, no_features, columns=[told.label])
    if told.label in columns_of(files):
        _check_unlabelled(labels_in_files(pool, told.label), len(pool), told.label)
    if both and prepared.sampled and ids is not None and told.id is not None:
        whole = FilePool(prepared.files or [], prepared.reader, no_features, columns=[], id=told.id)
        _check_apart(both, told.id, apart=not shared_ids(whole, ids))
    return row


def _reader(prepared: Prepared, files: list[PoolFile]) -> AsInLog:
    told = prepared.settings
    return AsInLog.of(_log(prepared), told.label, told.propensity, told.id, files, given=told.given)


def _log(prepared: Prepared) -> pl.DataFrame:
    """The log with the columns that a pool has too."""
    policy = prepared.settings.policy
    return prepared.log_frame if policy is None else prepared.log_frame.drop(policy)


def _check_unlabelled(known: int, rows: int, label: str) -> None:
    if known:
        raise InputError(
            f"{known:,} of the {rows:,} new rows have a label in {label!r}, and rows that come later cannot bring "
            "labels: how they came about would not be known. Leave the column out, and the rows may be asked for."
        )


def _check_propensity(prepared: Prepared, new: list[str], old: list[str]) -> None:
    """Refuse rows that have propensities where those of the pool have none, or the other way round."""
    named = prepared.settings.propensity
    if named is not None and (named in new) != (named in old):
        has, remedy = ("have", "Leave the column out") if named in new else ("lack", "Add the column")
        raise InputError(f"the new rows {has} the column {named!r}, unlike the rows of the pool. {remedy}.")


def _check_new(prepared: Prepared, frame: pl.DataFrame) -> None:
    """Refuse rows that are in the pool already, or in the log: each person may count once."""
    named, log = prepared.settings.id, prepared.log_frame
    if named is None:
        if any(frame.equals(part.select(frame.columns)) for part in prepared.part_frames):
            raise InputError("these rows are in the pool already, and each may count once. Give only new rows.")
        return
    ids, old = frame[named], bare(prepared.pool_frame[named])
    for row in ids.is_duplicated().arg_true()[:1]:
        raise InputError(f"ids must differ; {ids[row]!r} of column {named!r} is in two new rows. Drop the copies.")
    again = ids.filter(ids.is_in(old.implode()))
    if again.len():
        more = f" and {again.len() - 1:,} more are" if again.len() > 1 else " is"
        raise InputError(
            f"{again[0]!r} of column {named!r}{more} in the pool already. Drop these rows, or rename them."
        )
    if named in log.columns:
        known = bare(log[named])
        both = int(ids.is_in(known.implode()).sum())
        _check_apart(both, named, apart=not old.is_in(known.implode()).any())


def _check_apart(both: int, named: str, *, apart: bool) -> None:
    """Refuse ids of the log, unless the campaign began with rows of one id in both: then they are different people."""
    if both and apart:
        raise InputError(
            f"{both:,} id{'s' if both != 1 else ''} of column {named!r} {'are' if both != 1 else 'is'} in the log too, "
            "and each person may count once. Drop these rows, or rename them if they are different people."
        )


def _wider(prepared: Prepared, frame: pl.DataFrame) -> dict[str, str]:
    """The columns that have a wider type with these rows, or a refusal of types that do not fit."""
    known, new = prepared.settings.types, schema_of(frame)
    number = ("Int64", "Float64")
    found = {}
    for name, kind in known.items():
        if new[name] == kind or (kind == "Float64" and new[name] in number):
            continue
        if kind == "Int64" and new[name] == "Float64":
            found[name] = "Float64"
        else:
            raise InputError(
                f"column {name!r} holds {new[name]} in the new rows and {kind} in the pool. Write it in the same way."
            )
    return found

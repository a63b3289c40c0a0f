"""The columns of a log and a pool as they are understood before a campaign begins: what each holds, and what for.

Roles that nobody named are guessed. Everything is then read as a campaign would read it (`sources.gather`), so that
what is wrong with the tables is said here, with all columns beside it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from unskew.campaigns.tables.column_types import in_row, kinds, left_out, plain, typed
from unskew.campaigns.tables.files import BINARY, SEPARATORS, ending
from unskew.campaigns.tables.frames import as_polars
from unskew.campaigns.tables.given_types import as_given, checked, settled
from unskew.campaigns.tables.label_columns import MOST_NUMBERS, Marks
from unskew.campaigns.tables.parquet import read_parquet
from unskew.campaigns.tables.pool_files import as_it_is, columns_of, files_that_stay, no_features
from unskew.campaigns.tables.several_logs import is_several
from unskew.campaigns.tables.sources import Tables, gather
from unskew.csv_text import MOST_COLUMNS, content, line_of, read_csv, separator_in, too_wide
from unskew.errors import InputError
from unskew.pools.files import FilePool
from unskew.pools.scanning import Progress
from unskew.pools.trying import try_files

LOOKED_AT = 20_000
"""The most rows of a table in files, or of a long one, that are looked at for examples and missing values."""
EXAMPLES, LONGEST = 3, 40
"""The most values that are shown of a column, and the most characters of one."""

CHANCE = re.compile(r"propens|prob|chance|^q0$|^p$|_with$|policy_?score", re.I)
LABEL = re.compile(r"label|target|class|outcome|^y$|repaid|paid|default|churn|fraud|result", re.I)
ID = re.compile(r"(^|_|\b)(id|ids|key|uuid|no|nr|number|code)$|^id|[a-z]Id$", re.I)


@dataclass(frozen=True)
class Column:
    """A column of log or pool. `missing` is the number of empty cells, None where the table has no such column."""

    name: str
    kind: str
    """What it holds, in the words of `--type`."""
    given: bool
    """Whether somebody said so."""
    role: str
    """label, id, propensity, policy, or empty for a column that describes the rows."""
    missing: int | None
    pool_missing: int | None
    examples: tuple[str, ...]
    left_out: str = ""
    """Why nothing is learned from it."""
    problem: str = ""
    """Why it cannot be read like this."""


@dataclass(frozen=True)
class Understanding:
    """What a campaign would make of a log and a pool. With a `problem`, it would refuse them."""

    log_rows: int
    log_seen: int
    """The number of rows in which missing values were counted."""
    pool_rows: int
    pool_seen: int
    columns: tuple[Column, ...]
    label: str | None
    id: str | None
    propensity: str | None
    policy: str | None
    classes: dict[str, int]
    """Each class and its number of labels, of two the negative one first."""
    sources: tuple[str, ...]
    """What else is to be known about where labels come from."""
    problem: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {**asdict(self), "columns": [asdict(column) for column in self.columns]}


def understood(
    log: Any,
    pool: Any,
    *,
    label: str | None = None,
    id: str | None = None,
    propensity: str | None = None,
    policy: str | None = None,
    guess: bool = True,
    classes: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    pool_labels: str = "known",
    same_ids: str = "refuse",
    progress: Progress | None = None,
) -> Understanding:
    """How a log and a pool, given as for `Campaign.create`, are understood. Files that are no tables are refused.

    With `guess`, columns for label, id and propensities that are not named are guessed, where one seems to be there.

    >>> log = pl.DataFrame({"key": ["a", "b", "c", "d"], "age": [30, 41, 52, 28], "paid": ["yes", None, "no", "yes"]})
    >>> found = understood(log, pl.DataFrame({"key": ["e", "f"], "age": [33, 47]}))
    >>> found.label, found.id, found.propensity, found.classes
    ('paid', 'key', None, {'no': 1, 'yes': 2})
    >>> [(column.name, column.kind, column.missing) for column in found.columns]
    [('key', 'category', 0), ('age', 'number', 0), ('paid', 'category', 1)]
    """
    given = checked(types)
    logs = [_raw(one, f"log {k}") for k, one in enumerate(log, 1)] if is_several(log) else [_raw(log, "the log")]
    rows = _raw(pool, "the pool")
    first, problems = _typed(logs[0], given, (), None if label is None else Marks(label, classes))
    text = [name for name, dtype in first.schema.items() if dtype == pl.String]
    other, _ = _typed(rows, given, text, None)
    if guess:
        free = [name for name in first.columns if name not in given]
        propensity = propensity or _propensity(first.select(free).drop(label or [], strict=False), other)
        label = label or _label(first.select(free), other, (propensity, id, policy))
        id = id or _id(first, other, (label, propensity, policy, *given, *problems))
    problems.pop(label or "", None)  # it may hold marks for "missing", which are known below
    found, problem = None, "no column looks like the label. It is empty where the label is unknown. Name it."
    if label is not None:
        try:
            found = gather(
                log, pool, label, propensity, id, policy=policy, classes=classes, pool_labels=pool_labels,
                same_ids=same_ids, types=given, progress=progress,
            )  # fmt: skip
            problem = ""
        except InputError as error:
            problem = str(error)
    roles: dict[str | None, str] = {label: "label", id: "id", propensity: "propensity", policy: "policy"}
    return Understanding(
        log_rows=sum(one.rows for one in logs),
        log_seen=sum(one.frame.height for one in logs),
        pool_rows=rows.rows,
        pool_seen=rows.frame.height,
        columns=_columns(logs, first, rows, other, given, problems, roles, found),
        label=label,
        id=id,
        propensity=propensity,
        policy=policy,
        classes={} if found is None else found.log.labels,
        sources=() if found is None else found.sources,
        problem=problem,
    )


class _Raw(NamedTuple):
    """A table as it is in its file: all that is in a text file is text."""

    frame: pl.DataFrame
    source: str | Path
    where: Callable[[int], str]
    rows: int


def _raw(source: Any, name: str) -> _Raw:
    try:
        found = _read(source, name)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        told = " ".join(str(error).split())[:120]
        raise InputError(f"{source} cannot be read as a table: {told}. Write it again.") from None
    if found.frame.width > MOST_COLUMNS:
        raise too_wide(found.source, found.frame.width)
    if found.frame.is_empty():
        raise InputError(f"{found.source} has {found.frame.width} columns and no rows. It needs at least one row.")
    return found


def _read(source: Any, name: str) -> _Raw:
    if not isinstance(source, str | Path):
        frame = as_polars(source, name)
        return _Raw(frame, name, in_row, frame.height)
    files = files_that_stay(source)
    if files is not None:
        pool = FilePool(files, as_it_is, no_features, columns=columns_of(files))
        try_files(pool)
        places = np.sort(pool.sample(LOOKED_AT))
        return _Raw(pool.frame(places), str(source), lambda row: pool.where(int(places[row])), len(pool))
    path = Path(source)
    kind = ending(path)
    if kind in BINARY:
        frame = read_parquet(path)
        return _Raw(frame, path, in_row, frame.height)
    raw = content(path)
    separator = separator_in(raw, SEPARATORS[kind])
    frame = read_csv(path, raw, separator)
    return _Raw(frame, path, lambda row: f"line {line_of(raw, separator, row)}", frame.height)


def _typed(
    raw: _Raw, given: Mapping[str, str], text: Sequence[str], marks: Marks | None
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The columns as they are understood, and why some cannot be: those stay text."""
    problems: dict[str, str] = {}

    def read(column: pl.Series) -> pl.Series:
        column = column if marks is None else marks(column)
        try:
            if column.name in given:
                return as_given(raw.source, column, given[column.name], raw.where)
            found = plain(raw.source, column, raw.where)
            if column.dtype == pl.String and column.name not in text:
                return typed(raw.source, found, raw.where)
            return found
        except InputError as error:
            problems[column.name] = str(error)
            shown = [None if value is None else str(value) for value in column.to_list()]
            return pl.Series(column.name, shown, dtype=pl.String)

    return pl.DataFrame([read(column) for column in raw.frame.iter_columns()]), problems


def _propensity(log: pl.DataFrame, pool: pl.DataFrame) -> str | None:
    """A column of chances: in every row, from 0 to 1, and named like one or not known of the pool."""
    for column in log.iter_columns():
        if (
            not column.dtype.is_float()
            or column.null_count()
            or not bool(column.is_between(0, 1, closed="right").all())
        ):
            continue
        if CHANCE.search(column.name) or (column.name not in pool.columns and column.n_unique() > 2):
            return column.name
    return None


def _label(log: pl.DataFrame, pool: pl.DataFrame, taken: Sequence[str | None]) -> str | None:
    """A column of few values that the pool lacks; best if some are missing, or if it is named like one."""
    best: tuple[int, str] | None = None
    for column in log.iter_columns():
        different = column.drop_nulls().n_unique()
        if column.name in taken or not 1 <= different <= MOST_NUMBERS or column.dtype.is_temporal():
            continue
        lacks = column.name not in pool.columns or pool[column.name].null_count() == pool.height
        score = 4 * lacks + 2 * bool(column.null_count()) + bool(LABEL.search(column.name))
        if score >= 4 and (best is None or score > best[0]):
            best = score, column.name
    return None if best is None else best[1]


def _id(log: pl.DataFrame, pool: pl.DataFrame, taken: Sequence[str | None]) -> str | None:
    """A column of the pool with a different value in every row: text, or whole numbers that are named like an id."""
    found = []
    for column in pool.iter_columns():
        if column.name in taken or column.null_count() or column.n_unique() < len(column):
            continue
        if column.name in log.columns and log[column.name].n_unique() < log.height:
            continue
        named = bool(ID.search(column.name))
        if column.dtype == pl.String or (named and column.dtype.is_integer()):
            words = column.dtype == pl.String and bool(column.str.contains(r"\s\S+\s").any())
            found.append((not named, words, pool.columns.index(column.name), column.name))
    return min(found)[-1] if found and not min(found)[1] else None


def _columns(
    logs: Sequence[_Raw],
    log: pl.DataFrame,
    rows: _Raw,
    pool: pl.DataFrame,
    given: Mapping[str, str],
    problems: Mapping[str, str],
    roles: Mapping[str | None, str],
    found: Tables | None,
) -> tuple[Column, ...]:
    frame, orders = settled(log, {name: kind for name, kind in given.items() if name in log.columns})
    holds = kinds(frame, orders)
    if found is not None:  # as the campaign itself reads the whole log
        holds |= kinds(found.log.described, found.log.types)
    holds = {**kinds(pool.select(name for name in pool.columns if name not in holds)), **holds}
    described = {name: kind for name, kind in holds.items() if name in log.columns and name not in roles}
    why = left_out(frame, described, given)
    shown = []
    for name, kind in holds.items():
        column = frame[name] if name in log.columns else pool[name]
        empty = [_missing(one.frame, name) for one in logs]
        shown.append(
            Column(
                name=name,
                kind=kind,
                given=name in given,
                role=roles.get(name, ""),
                missing=column.null_count() if len(logs) == 1 and name in log.columns else _sum(empty),
                pool_missing=pool[name].null_count() if name in pool.columns else None,
                examples=_examples(column),
                left_out=why.get(name, ""),
                problem=problems.get(name, ""),
            )
        )
    return tuple(shown)


def _missing(frame: pl.DataFrame, name: str) -> int | None:
    return frame[name].null_count() if name in frame.columns else None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _examples(column: pl.Series) -> tuple[str, ...]:
    """The first different values, as text."""
    values = column.drop_nulls()[:1000].unique(maintain_order=True)[:EXAMPLES].to_list()
    return tuple(_shown(value) for value in values)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} numbers"
    text = str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

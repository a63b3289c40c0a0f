"""Several logs as one: their rows together, and a column that says which log each is from.

Each log has a policy of its own, so a row's propensity is that of its log: given by the column in the file, or
estimated within the log later.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from numpy.typing import NDArray

from unskew.campaigns.tables.column_types import kinds
from unskew.campaigns.tables.files import check_propensity, read_table
from unskew.campaigns.tables.pool_files import files_that_stay
from unskew.errors import InputError, unknown
from unskew.kept import nearly_all

Clean = Callable[[pl.Series], pl.Series]


class Several(NamedTuple):
    """The rows of all logs, and the column that names the policy of each."""

    frame: pl.DataFrame
    policy: str
    whole: bool
    """Whether every row has a propensity. Where it has none, it is to be estimated."""


def is_several(source: Any) -> bool:
    """Whether this is a list of logs."""
    return isinstance(source, list | tuple)


def read_several(
    sources: Sequence[Any],
    label: str,
    propensity: str | None,
    id: str | None,
    policy: str | None,
    types: Mapping[str, str] | None = None,
    *,
    most: int,
    clean: Clean,
) -> Several:
    """The rows of several logs together, or a refusal. Each log has at most `most` rows.

    >>> a = pl.DataFrame({"age": [30, 41], "paid": [1, None], "q0": [0.5, 0.5]})
    >>> b = pl.DataFrame({"age": [35.5, 28.0], "paid": [None, 0]})
    >>> both = read_several([a, b], "paid", "q0", None, None, most=100, clean=lambda column: column)
    >>> both.frame.columns, both.frame["log"].to_list(), both.frame["q0"].to_list()
    (['age', 'paid', 'q0', 'log'], ['log 1', 'log 1', 'log 2', 'log 2'], [0.5, 0.5, None, None])
    """
    names = _names(sources)
    frames: list[pl.DataFrame] = []
    for name, source in zip(names, sources, strict=True):
        if files_that_stay(source, most) is not None:
            raise InputError(
                f"each of several logs must be one file of at most {most:,} rows; {name} is not. Put all logs into "
                "one table with a column that says which log a row is from, and name it with --policy-column."
            )
        text = [column for column, dtype in frames[0].schema.items() if dtype == pl.String] if frames else []
        frame = read_table(source, text=text if id is None else [*text, id], name=name, types=types, clean=clean)
        for other, earlier in zip(names, frames, strict=False):
            if frame.equals(earlier):
                raise InputError(f"{other} and {name} hold the same rows. Name each log once.")
        _check(name, frame, names[0], frames[0] if frames else frame, label, propensity, id)
        frames.append(frame)
    if propensity is not None and not any(propensity in frame.columns for frame in frames):
        raise unknown("propensity column", propensity, frames[0].columns)
    _check_shown(names, frames, label, propensity)
    column = free_name("log", frames[0].columns)
    marked = [_marked(frame, name, policy, column) for name, frame in zip(names, frames, strict=True)]
    # The log with a propensity, if only some have one, tells where the column is.
    order = next((f.columns for f in marked if propensity in f.columns), marked[0].columns)
    rows = pl.concat(_alike(names, marked), how="diagonal_relaxed").select(order)
    whole = propensity is None or not rows[propensity].null_count()
    return Several(rows, column, whole)


def _names(sources: Sequence[Any]) -> list[str]:
    """What the logs are called: their files, or "log 1" and so on."""
    if len(sources) < 1:
        raise InputError("a list of logs must not be empty. Pass at least one log.")
    paths = [str(one) if isinstance(one, str | Path) else None for one in sources]
    short = [f"log {k}" if path is None else Path(path).name for k, path in enumerate(paths, start=1)]
    return [
        path if path is not None and short.count(name) > 1 else name for path, name in zip(paths, short, strict=True)
    ]


def _check(
    name: str, frame: pl.DataFrame, first: str, like: pl.DataFrame, label: str, propensity: str | None, id: str | None
) -> None:
    """Refuse a log that has not the columns of the first one, or wrong propensities."""
    if label not in frame.columns:
        raise unknown(f"label column of {name}", label, frame.columns)
    wanted, found = ({*table.columns} - {propensity} for table in (like, frame))
    for more, less, columns in ((name, first, found - wanted), (first, name, wanted - found)):
        if columns:
            few = ", ".join(map(repr, sorted(columns)[:5]))
            raise InputError(
                f"logs must have the same columns; {more} has {few}, which {less} has not. Add, drop or rename columns."
            )
    if propensity in frame.columns:
        try:
            check_propensity(frame[propensity])
        except InputError as error:
            raise InputError(f"{name}: {error}") from None


def _check_shown(names: list[str], frames: list[pl.DataFrame], label: str, propensity: str | None) -> None:
    """Refuse a log of labelled rows only beside one that also shows rows without a label."""
    unknown_chances = [propensity not in frame.columns for frame in frames]
    selected = [
        none and nearly_all(frame[label].count(), frame.height)
        for none, frame in zip(unknown_chances, frames, strict=True)
    ]
    if any(selected) and not all(selected):
        raise InputError(
            f"(nearly) every row of {names[selected.index(True)]} has a label, so it shows only those who were picked, "
            "and it cannot be estimated how likely they were. Add the rows without a label, or a column of "
            "propensities; it is 1 in every row if nobody was left out."
        )


def _marked(frame: pl.DataFrame, name: str, policy: str | None, column: str) -> pl.DataFrame:
    """The log with a column of its name, and of its policies if it has several."""
    said = pl.lit(name)
    if policy is not None:
        if policy not in frame.columns:
            raise unknown(f"policy column of {name}", policy, frame.columns)
        said = pl.format("{}: {}", pl.lit(name), pl.col(policy).cast(pl.String).fill_null("missing"))
        return frame.with_columns(said.alias(column)).drop(policy)
    return frame.with_columns(said.alias(column))


def _alike(names: list[str], frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The logs with columns that can be put below each other: empty ones and codes that are numbers are cast."""
    done = frames[:1]
    for name, frame in zip(names[1:], frames[1:], strict=True):
        casts = []
        for column in frame.iter_columns():
            if column.name not in done[0].columns:
                continue
            here, wanted = column.dtype, done[0].schema[column.name]
            empty = column.null_count() == len(column)
            if here == wanted or (here.is_numeric() and wanted.is_numeric()):
                continue
            if empty or (wanted == pl.String and here == pl.Int64) or (here == pl.Date and wanted == pl.Datetime):
                casts.append(column.cast(wanted))
            elif done[0][column.name].null_count() == done[0].height:
                done = [one.with_columns(one[column.name].cast(here)) for one in done]
            elif not (here == pl.Datetime and wanted == pl.Date):  # which becomes a time
                a, b = (kinds(table.select(column.name))[column.name] for table in (done[0], frame))
                raise InputError(
                    f"column {column.name!r} holds a {a} in {names[0]} and a {b} in {name}. Write it in the same way "
                    "in all logs."
                )
        done.append(frame.with_columns(casts))
    return done


def policies_in(log: pl.DataFrame, policy: str) -> NDArray[Any]:
    """The policy of each row, in words."""
    return log[policy].cast(pl.String).fill_null("missing").to_numpy()


def free_name(wanted: str, columns: Sequence[str]) -> str:
    """A name that no column has yet."""
    while wanted in columns:
        wanted += "_"
    return wanted

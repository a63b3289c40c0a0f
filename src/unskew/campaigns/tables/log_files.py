"""A log as campaigns and `unskew audit` take it: a table, or as many rows of a long one as they learn from.

Most rows of a long log have no label, and beyond some ten thousand labels a model hardly gains. So of a log of more
than LONG rows, some rows with a label and some without are kept, drawn at random. `unskew.kept.Kept` says how many
there are of each kind in the whole log, and weights and estimates make use of it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from unskew.campaigns.tables.column_types import typed
from unskew.campaigns.tables.files import (
    check_log,
    check_propensity,
    class_names,
    label_texts,
    plain_frame,
    read_table,
)
from unskew.campaigns.tables.pool_files import as_it_is, columns_of, files_that_stay, no_features
from unskew.errors import InputError, unknown
from unskew.hashing import exponentials
from unskew.kept import Kept, nearly_all
from unskew.pools.files import FilePool, PoolFile
from unskew.pools.formats import separator_of
from unskew.pools.ids import keys_of
from unskew.pools.scanning import Progress
from unskew.pools.stretches import Stretch
from unskew.pools.trying import try_files
from unskew.rows import Bools, Floats, Ints, Keys

LONG = 200_000
"""Of a log with more rows than this, only some are kept."""

LABELLED, OTHERS = 20_000, 50_000
"""The most rows that are kept, with a label and without one."""

SEED = 13
"""Of the numbers that decide which rows are kept."""

MOST_CLASSES = 100
"""A column with more different values than this in a stretch of rows is not a label."""


class Log(NamedTuple):
    """A log that can be used: the rows to learn from, its two classes, and what the whole log holds."""

    frame: pl.DataFrame
    classes: list[str]
    """The names of the classes, the negative one first."""
    labels: dict[str, int]
    """The number of labels of each class in the whole log."""
    rows: int
    """The number of rows of the whole log."""
    kept: Kept | None
    """None if the frame holds the whole log."""


def read_log(
    source: Any,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    *,
    classes: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Log:
    """The log in a file, a frame, or a folder, glob or URL of files; or a refusal.

    Every label and every propensity of a long log is checked; other columns, in the rows that are kept. Which rows are
    kept depends on their ids, if the log has them, and else on their places. Files are never read whole.

    >>> log = pl.DataFrame({"age": np.arange(300_000), "paid": [1, None, None, 0, None, None] * 50_000})
    >>> found = read_log(log, "paid")
    >>> found.labels, found.kept, found.frame["paid"].null_count(), found.frame.height
    ({'0': 50000, '1': 50000}, Kept(labelled=100000, unlabelled=200000), 50000, 70000)
    """
    files = files_that_stay(source, LONG)
    if files is not None:
        return _from_files(str(source), files, label, propensity, id, classes, progress)
    frame = read_table(source, text=[] if id is None else [id], name="the log")
    own = id if id in frame.columns else None
    pair = check_log(frame, label, propensity, own, classes=classes)
    texts = label_texts(frame, label)
    labels = {name: int((texts == name).sum()) for name in pair}
    if frame.height <= LONG:
        return Log(frame, pair, labels, frame.height, None)
    keys = np.arange(frame.height, dtype=np.uint64) if own is None else keys_of(frame[own])
    racing = _Racing.of(frame.select(label), texts, keys, np.arange(frame.height))
    return Log(frame[racing.kept()], pair, labels, frame.height, racing.whole)


class _Runners(NamedTuple):
    """Rows in the order of a random number that belongs to each: the first ones are kept."""

    numbers: Floats
    keys: Keys
    places: Ints

    def at(self, which: Bools | Ints) -> "_Runners":
        return _Runners(self.numbers[which], self.keys[which], self.places[which])

    def first(self, k: int) -> "_Runners":
        """The first k, and those that are level with the last of them."""
        few = len(self.numbers) <= k
        return self if few else self.at(self.numbers <= np.partition(self.numbers, k - 1)[k - 1])

    def exactly(self, k: int) -> "_Runners":
        """The first k, in their order."""
        return self.at(np.lexsort((self.places, self.keys, self.numbers))[:k])

    def __or__(self, other: "_Runners") -> "_Runners":
        return _Runners(
            np.concatenate((self.numbers, other.numbers)),
            np.concatenate((self.keys, other.keys)),
            np.concatenate((self.places, other.places)),
        )


class _Racing(NamedTuple):
    """What is known of some rows: how many have which label, and the first of those with a label and without one."""

    counts: Counter[str]
    others: int
    values: pl.DataFrame
    """The different values of the label."""
    labelled: _Runners
    unlabelled: _Runners

    @classmethod
    def of(cls, labels: pl.DataFrame, texts: pl.Series, keys: Keys, places: Ints) -> "_Racing":
        z = texts.is_not_null().to_numpy()
        values = labels.filter(z).unique()
        if values.height > MOST_CLASSES:
            raise InputError(
                f"the label {labels.columns[0]!r} must have two classes; got {values.height:,} different values in "
                f"{len(z):,} rows. Name another column."
            )
        counts = Counter(dict(texts.drop_nulls().value_counts(name="rows").rows()))
        all = _Runners(exponentials(SEED, keys), keys, places)
        return cls(counts, int((~z).sum()), values, all.at(z).first(LABELLED), all.at(~z).first(OTHERS))

    def merge(self, other: "_Racing") -> "_Racing":
        return _Racing(
            self.counts + other.counts,
            self.others + other.others,
            pl.concat([self.values, other.values]).unique(),
            (self.labelled | other.labelled).first(LABELLED),
            (self.unlabelled | other.unlabelled).first(OTHERS),
        )

    @property
    def whole(self) -> Kept:
        return Kept(self.counts.total(), self.others)

    def kept(self) -> Ints:
        """The places of the rows to keep. If nearly all have a label, the few others are thinned as they are."""
        labelled, others = self.whole
        most = OTHERS
        if nearly_all(labelled, labelled + others):
            most = -(-min(LABELLED, labelled) * others // labelled)
        both = self.labelled.exactly(LABELLED) | self.unlabelled.exactly(most)
        return both.exactly(len(both.places)).places


def _from_files(
    source: str,
    files: list[PoolFile],
    label: str,
    propensity: str | None,
    id: str | None,
    classes: Sequence[str] | None,
    progress: Progress | None,
) -> Log:
    columns = columns_of(files)
    for role, name in (("label", label), ("propensity", propensity)):
        if name is not None and name not in columns:
            raise unknown(f"{role} column", name, columns)
    own = id if id in columns else None
    pool = FilePool(files, as_it_is, no_features, columns=columns, id=own)
    pool.progress = progress
    try_files(pool)
    written = separator_of(files[0].path) is not None
    seen: _Racing = pool.scan_stretches(partial(_raced, label, propensity, own, written), _Racing.merge)
    rows = sum(file.rows for file in files)
    places = seen.kept() if rows > LONG else np.arange(rows)
    frame = _plain(source, pool.frame(places), own, written, lambda row: pool.where(int(places[row])))
    names = class_names(seen.values.with_columns(typed(source, seen.values[label])) if written else seen.values, label)
    known = classes or (names if len(names) == 2 else None)
    pair = check_log(frame, label, propensity, own if rows <= LONG else None, classes=known)
    labels = {name: seen.counts[name] for name in pair}
    if odd := next((name for name in names if name not in pair), None):
        raise InputError(f"the label {label!r} must be {' or '.join(map(repr, pair))}; got {odd!r}. Correct it.")
    return Log(frame, pair, labels, rows, seen.whole if rows > LONG else None)


def _plain(where: str, raw: pl.DataFrame, id: str | None, written: bool, row: Callable[[int], str]) -> pl.DataFrame:
    """Rows in plain types; those of text files in the types that fit their values."""
    if written:
        raw = raw.with_columns(typed(where, column, row) for column in raw.iter_columns() if column.name != id)
    return plain_frame(where, raw, [] if id is None else [id], row)


def _raced(label: str, propensity: str | None, id: str | None, written: bool, stretch: Stretch) -> _Racing:
    """What is to be known of a stretch of rows. Labels and propensities are checked."""
    wanted = dict.fromkeys(name for name in (label, propensity, id) if name is not None)
    raw = stretch.raw(list(wanted))
    known = raw.select(name for name in wanted if name != id or name == label)
    frame = _plain(stretch.path, known, None, written, lambda row: f"row {stretch.first + row + 1}")
    keys = stretch.places.astype(np.uint64) if id is None else keys_of(raw[id])
    try:
        if propensity is not None:
            check_propensity(frame[propensity], stretch.first)
        texts = label_texts(frame, label)
        return _Racing.of(texts.to_frame(label) if written else frame.select(label), texts, keys, stretch.places)
    except InputError as error:
        raise InputError(f"{stretch.path}: {error}") from None

"""A log as campaigns and `unskew audit` take it: a table, or as many rows of a long one as they learn from.

Most rows of a long log have no label, and beyond some ten thousand labels a model hardly gains. So of a log of more
than LONG rows, some rows with a label and some without are kept, drawn at random. `unskew.kept.Kept` says how many
there are of each kind in the whole log, and weights and estimates make use of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
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
from unskew.campaigns.tables.given_types import check_columns, checked, settled
from unskew.campaigns.tables.label_columns import Marks, check_is_class
from unskew.campaigns.tables.labels import check_classes
from unskew.campaigns.tables.pool_files import as_it_is, columns_of, files_that_stay, no_features
from unskew.campaigns.tables.several_logs import is_several, read_several
from unskew.errors import InputError, unknown
from unskew.hashing import exponentials
from unskew.kept import Kept, nearly_all
from unskew.labels import MOST_CLASSES
from unskew.pools.files import FilePool, PoolFile
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


class Log(NamedTuple):
    """A log that can be used: the rows to learn from, its classes, and what the whole log holds."""

    frame: pl.DataFrame
    classes: list[str]
    """The names of the classes, of two the negative one first."""
    labels: dict[str, int]
    """The number of labels of each class in the whole log."""
    rows: int
    """The number of rows of the whole log."""
    kept: Kept | None
    """None if the frame holds the whole log."""
    types: dict[str, str]
    """The types that were given, with the order of ordinals."""
    policy: str | None = None
    """The column that names the policy of each row, if there are several."""
    marks: Mapping[str, int] = MappingProxyType({})
    """How often labels were read as missing, by how they are written."""

    @property
    def described(self) -> pl.DataFrame:
        """The columns that describe rows, and label, propensity and id: all but the policy."""
        return self.frame if self.policy is None else self.frame.drop(self.policy)


def read_log(
    source: Any,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    *,
    policy: str | None = None,
    classes: Sequence[str] | None = None,
    types: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Log:
    """The log in a file, a frame, or a folder, glob or URL of files; or in a list of files or frames; or a refusal.

    `policy` is a column that names who or what decided on a row. Several logs get such a column (`several_logs`).

    Every label and every propensity of a long log is checked; other columns, in the rows that are kept. Which rows are
    kept depends on their ids, if the log has them, and else on their places. Files are never read whole.

    >>> log = pl.DataFrame({"age": np.arange(300_000), "paid": [1, None, None, 0, None, None] * 50_000})
    >>> found = read_log(log, "paid")
    >>> found.labels, found.kept, found.frame["paid"].null_count(), found.frame.height
    ({'0': 50000, '1': 50000}, Kept(labelled=100000, unlabelled=200000), 50000, 70000)
    """
    given, marks, whole = checked(types), Marks(label, classes), True
    if is_several(source) and len(source) != 1:
        frame, policy, whole = read_several(source, label, propensity, id, policy, given, most=LONG, clean=marks)
    else:
        source = source[0] if is_several(source) else source
        files = files_that_stay(source, LONG)
        if files is not None:
            return _from_files(str(source), files, label, propensity, id, policy, classes, given, progress)
        frame = read_table(source, text=[] if id is None else [id], name="the log", types=given, clean=marks)
    if policy is not None and policy not in frame.columns:
        raise unknown("policy column", policy, frame.columns)
    check_columns(given, frame.columns, {"label": label, "propensity": propensity, "id": id, "policy": policy})
    frame, given = settled(frame, given)
    own = id if id in frame.columns else None
    hidden = [name for name in (policy, None if whole else propensity) if name is not None]
    pair = _checked(frame.drop(hidden), label, propensity if whole else None, own, classes, given, marks)
    texts = label_texts(frame, label)
    labels = {name: int((texts == name).sum()) for name in pair}
    if frame.height <= LONG:
        return Log(frame, pair, labels, frame.height, None, given, policy, marks.seen)
    keys = np.arange(frame.height, dtype=np.uint64) if own is None else keys_of(frame[own])
    racing = _Racing.of(frame.select(label), texts, keys, np.arange(frame.height), marks.seen)
    return Log(frame[racing.kept()], pair, labels, frame.height, racing.whole, given, policy, marks.seen)


def _checked(
    frame: pl.DataFrame,
    label: str,
    propensity: str | None,
    id: str | None,
    classes: Sequence[str] | None,
    types: Mapping[str, str],
    marks: Marks,
) -> list[str]:
    """`check_log`, for a label that may be a quantity, or of which some were read as missing."""
    if label in frame.columns and classes is None:
        check_is_class(frame[label])
    try:
        return check_log(frame, label, propensity, id, classes=classes, types=types)
    except InputError as error:
        if not marks.seen or "classes" not in str(error):
            raise
        raise InputError(f"{error} ({marks}; a class of that name must be given with --classes.)") from None


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
    marks: Counter[str]

    @classmethod
    def of(cls, labels: pl.DataFrame, texts: pl.Series, keys: Keys, places: Ints, marks: Counter[str]) -> "_Racing":
        z = texts.is_not_null().to_numpy()
        values = labels.filter(z).unique()
        if values.height > MOST_CLASSES:
            name = labels.columns[0]
            check_is_class(typed("the log", labels[name]) if labels[name].dtype == pl.String else labels[name])
            raise InputError(
                f"the label {labels.columns[0]!r} must have at most {MOST_CLASSES} classes; got {values.height:,} in "
                f"{len(z):,} rows. Merge rare classes, or name another column."
            )
        counts = Counter(dict(texts.drop_nulls().value_counts(name="rows").rows()))
        all = _Runners(exponentials(SEED, keys), keys, places)
        return cls(counts, int((~z).sum()), values, all.at(z).first(LABELLED), all.at(~z).first(OTHERS), marks)

    def merge(self, other: "_Racing") -> "_Racing":
        return _Racing(
            self.counts + other.counts,
            self.others + other.others,
            pl.concat([self.values, other.values]).unique(),
            (self.labelled | other.labelled).first(LABELLED),
            (self.unlabelled | other.unlabelled).first(OTHERS),
            self.marks + other.marks,
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
    policy: str | None,
    classes: Sequence[str] | None,
    given: Mapping[str, str],
    progress: Progress | None,
) -> Log:
    columns = columns_of(files)
    check_columns(given, columns, {"label": label, "propensity": propensity, "id": id, "policy": policy})
    for role, name in (("label", label), ("propensity", propensity), ("policy", policy)):
        if name is not None and name not in columns:
            raise unknown(f"{role} column", name, columns)
    own = id if id in columns else None
    pool = FilePool(files, as_it_is, no_features, columns=columns, id=own)
    pool.progress = progress
    try_files(pool)
    seen: _Racing = pool.scan_stretches(partial(_raced, label, propensity, own, classes), _Racing.merge)
    rows = sum(file.rows for file in files)
    places = seen.kept() if rows > LONG else np.arange(rows)
    text, marks = [] if own is None else [own], Marks(label, classes)
    read = marks.frame(pool.frame(places))
    marks.seen = seen.marks
    raw = plain_frame(source, read, text, lambda row: pool.where(int(places[row])), given)
    frame, given = settled(raw, given)
    written = seen.values[label].dtype == pl.String
    values = seen.values.with_columns(typed(source, seen.values[label])) if written else seen.values
    names = class_names(values, label)
    if classes is None:
        check_is_class(values[label])
        check_classes(label, seen.counts, names)
    described = frame if policy is None else frame.drop(policy)
    pair = _checked(described, label, propensity, own if rows <= LONG else None, classes or names, given, marks)
    labels = {name: seen.counts[name] for name in pair}
    if odd := next((name for name in names if name not in pair), None):
        raise InputError(f"the label {label!r} must be {' or '.join(map(repr, pair))}; got {odd!r}. Correct it.")
    return Log(frame, pair, labels, rows, seen.whole if rows > LONG else None, given, policy, seen.marks)


def _raced(
    label: str, propensity: str | None, id: str | None, classes: Sequence[str] | None, stretch: Stretch
) -> _Racing:
    """What is to be known of a stretch of rows. Labels and propensities are checked."""
    wanted = dict.fromkeys(name for name in (label, propensity, id) if name is not None)
    marks = Marks(label, classes)
    raw = marks.frame(stretch.raw(list(wanted)))
    known = raw.select(name for name in wanted if name != id or name == label)
    frame = plain_frame(stretch.path, known, [], lambda row: f"row {stretch.first + row + 1}")
    keys = stretch.places.astype(np.uint64) if id is None else keys_of(raw[id])
    try:
        if propensity is not None:
            check_propensity(frame[propensity], stretch.first)
        texts = label_texts(frame, label)
        written = raw.schema[label] == pl.String
        shown = texts.to_frame(label) if written else frame.select(label)
        return _Racing.of(shown, texts, keys, stretch.places, marks.seen)
    except InputError as error:
        raise InputError(f"{stretch.path}: {error}") from None

"""A pool in Parquet files, which stay where they are: one file or thousands, here or in an object store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl

from unskew.errors import InputError
from unskew.hashing import exponentials
from unskew.pools.fingerprints import PoolFile, check_files, find_files
from unskew.pools.interface import Block, Pool
from unskew.pools.keys import keys_of
from unskew.pools.scanning import BLOCK, spread
from unskew.rows import Ints, Keys, Rows

__all__ = ["FilePool", "PoolFile", "check_files", "find_files"]

T = TypeVar("T")

READ = 131_072
"""Rows that are read together, at most. It is a power of two, as most writers cut their row groups."""

ReadFrame = Callable[[pl.DataFrame], pl.DataFrame]
Visit = Callable[[Ints, Keys, pl.DataFrame], T]


class Stretch(NamedTuple):
    """Rows of one file that follow one another."""

    path: str
    first: int
    """The first of them, in the file."""
    rows: int
    place: int
    """The place of the first of them in the pool."""


@dataclass(frozen=True)
class Reading:
    """How rows of a file become rows of the pool. It is sent to the processes that read."""

    read: ReadFrame
    columns: tuple[str, ...]
    id: str | None

    def raw(self, stretch: Stretch, columns: Sequence[str]) -> pl.DataFrame:
        """Columns of a stretch, as the file has them. Only the row groups that hold it are decoded."""
        try:
            lazy = pl.scan_parquet(stretch.path, glob=False, hive_partitioning=False)
            return lazy.select(columns).slice(stretch.first, stretch.rows).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            told = "a value is damaged" if isinstance(error, pl.exceptions.PanicException) else str(error)
            raise InputError(
                f"{stretch.path} cannot be read: {' '.join(told.split())[:120]}. Restore it from a copy."
            ) from None

    def keys(self, stretch: Stretch, raw: pl.DataFrame | None = None) -> Keys:
        """The keys of a stretch. Without an id, nothing is read."""
        if self.id is None:
            return np.arange(stretch.place, stretch.place + stretch.rows).astype(np.uint64)
        return keys_of((self.raw(stretch, [self.id]) if raw is None else raw)[self.id])

    def frame(self, stretch: Stretch, raw: pl.DataFrame) -> pl.DataFrame:
        try:
            return self.read(raw)
        except InputError as error:
            raise InputError(f"{stretch.path}: {error}") from None

    @property
    def needed(self) -> list[str]:
        """The columns that are read."""
        return list(dict.fromkeys((*self.columns, *([self.id] if self.id is not None else []))))

    def visit(self, visit: Visit[T], stretch: Stretch) -> T:
        raw = self.raw(stretch, self.needed)
        places = np.arange(stretch.place, stretch.place + stretch.rows)
        return visit(places, self.keys(stretch, raw), self.frame(stretch, raw))

    def some(self, stretch: Stretch, at: Ints) -> pl.DataFrame:
        """The plain rows at these places of the pool, all of them in this stretch."""
        low, high = int(at.min()), int(at.max())
        narrow = Stretch(stretch.path, stretch.first + low - stretch.place, high - low + 1, low)
        return self.frame(narrow, self.raw(narrow, self.needed)[at - low])


class FilePool(Pool):
    """Rows that can be asked for, in Parquet files.

    The places of rows follow the order of the paths, and in a file the order of its rows.

    Parameters
    ----------
    files : sequence of PoolFile
        As `find_files` found them.
    read : callable
        Makes of a frame with `columns`, as a file has it, a plain frame with the log's columns. It may raise an
        InputError; the name of the file is added. Like `encode`, it is sent to other processes.
    encode : callable
        Makes of a plain frame the features of its rows.
    columns : sequence of str
        The columns to read, besides `id`.
    id : str, optional
        The column of the ids.
    """

    def __init__(
        self,
        files: Sequence[PoolFile],
        read: ReadFrame,
        encode: Callable[[pl.DataFrame], Rows],
        *,
        columns: Sequence[str],
        id: str | None = None,
    ) -> None:
        self.files, self.encode, self.id = list(files), encode, id
        self.reading = Reading(read, tuple(columns), id)
        self._ends = np.cumsum([file.rows for file in self.files])
        self._stretches = list(self._cut())
        self._starts = np.array([stretch.place for stretch in self._stretches])

    def _cut(self) -> Iterator[Stretch]:
        """Stretches of at most READ rows that end, where possible, with a row group."""
        for file, end in zip(self.files, self._ends, strict=True):
            place = int(end) - file.rows
            first = 0
            for rows in _runs(file.groups):
                yield Stretch(file.path, first, rows, place + first)
                first += rows

    def __len__(self) -> int:
        return int(self._ends[-1])

    def frame(self, positions: Ints) -> pl.DataFrame:
        """The plain rows at these places, in that order. Only the row groups that hold them are read."""
        at = np.asarray(positions, dtype=np.int64)
        if not len(at):
            return self.frame(np.array([0])).clear()
        order = np.argsort(at, kind="stable")
        held = np.searchsorted(self._starts, at[order], side="right") - 1
        parts = np.split(at[order], np.flatnonzero(np.diff(held)) + 1)
        tasks = ((self._stretches[which], part) for which, part in zip(np.unique(held), parts, strict=True))
        found = spread(partial(_in_place, self.reading), tasks, lambda one, other: one + other)
        rows = pl.concat([frame for _, frame in sorted(found, key=lambda part: part[0])])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return rows[back]

    def features(self, positions: Ints) -> Rows:
        return self.encode(self.frame(positions))

    def values(self, position: int) -> Any:
        return self.frame(np.array([position])).row(0, named=True)

    def keys(self, positions: Ints) -> Keys:
        if self.id is None:
            return super().keys(positions)
        bare = FilePool(self.files, _as_it_is, self.encode, columns=[self.id], id=self.id)
        return keys_of(bare.frame(positions)[self.id])

    def scan(self, visit: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        return self.scan_frames(partial(_in_blocks, self.encode, visit, merge), merge)

    def scan_frames(self, visit: Visit[T], merge: Callable[[T, T], T]) -> T:
        """Look at every row once, before it is turned into features: `visit` takes places, keys and a plain frame."""
        return spread(partial(self.reading.visit, visit), ((stretch,) for stretch in self._stretches), merge)

    def sample(self, k: int, seed: int = 0) -> Ints:
        """The places of k rows, drawn evenly: those with the least numbers, in the order of these numbers.

        The numbers are hashed from the seed and the rows' keys, so if the rows have ids, the sample does not depend on
        how they are cut into files. At most k rows are kept at any time, and only ids are read.
        """
        tasks = ((stretch,) for stretch in self._stretches)
        numbers, keys, places = spread(partial(_least, self.reading, k, seed), tasks, partial(_lesser, k))
        return places[np.lexsort((keys, numbers))]


def _runs(groups: Sequence[int]) -> Iterator[int]:
    """Rows that are read together: small row groups joined, and large ones cut."""
    run = 0
    for rows in groups:
        if run and run + rows > READ:
            yield run
            run = 0
        run += rows
        if run > READ:
            pieces = -(-run // READ)
            yield from (run * (i + 1) // pieces - run * i // pieces for i in range(pieces))
            run = 0
    if run:
        yield run


def _in_place(reading: Reading, stretch: Stretch, at: Ints) -> list[tuple[int, pl.DataFrame]]:
    return [(stretch.place, reading.some(stretch, at))]


def _in_blocks(
    encode: Callable[[pl.DataFrame], Rows],
    visit: Callable[[Block], T],
    merge: Callable[[T, T], T],
    places: Ints,
    keys: Keys,
    frame: pl.DataFrame,
) -> T:
    starts = range(0, len(places), BLOCK)
    cuts = (slice(start, start + BLOCK) for start in starts)
    return reduce(merge, (visit(Block(places[cut], keys[cut], encode(frame[cut]))) for cut in cuts))


Numbered = tuple[np.ndarray, np.ndarray, np.ndarray]


def _least(reading: Reading, k: int, seed: int, stretch: Stretch) -> Numbered:
    keys = reading.keys(stretch)
    places = np.arange(stretch.place, stretch.place + stretch.rows)
    return _first(k, (exponentials(seed, keys), keys, places))


def _lesser(k: int, one: Numbered, other: Numbered) -> Numbered:
    numbers, keys, places = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    return _first(k, (numbers, keys, places))


def _first(k: int, rows: Numbered) -> Numbered:
    """The k rows with the least numbers."""
    numbers, keys, places = rows
    order = np.lexsort((keys, numbers))[:k]
    return numbers[order], keys[order], places[order]


def _as_it_is(raw: pl.DataFrame) -> pl.DataFrame:
    return raw

"""A pool in files, which stay where they are: one file or thousands, here or in an object store."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import polars as pl

from unskew.hashing import exponentials
from unskew.pools.fingerprints import PoolFile, check_files, find_files
from unskew.pools.ids import bare, check_ids, keys_of
from unskew.pools.interface import Block, Pool
from unskew.pools.scanning import BLOCK, spread
from unskew.pools.stretches import Reading, Stretch, cut
from unskew.rows import Floats, Ints, Keys, Rows

__all__ = ["FilePool", "PoolFile", "check_files", "check_ids", "find_files"]

T = TypeVar("T")
Merge = Callable[[T, T], T]
Encode = Callable[[pl.DataFrame], Rows]


class FilePool(Pool):
    """Rows that can be asked for, in Parquet, Arrow or CSV files.

    The places of rows follow the order of the files, and in a file the order of its rows.

    Parameters
    ----------
    files : sequence of PoolFile
        As `find_files` found them.
    read : callable
        Makes a plain frame with the log's columns of a frame with `columns` and `id`, as a file has it. All that a text
        file has is text. It may raise an InputError, to which the name of the file is added. Like `encode`, it is sent
        to other processes.
    encode : callable
        Makes the features of rows of a plain frame.
    columns : sequence of str
        The columns to read.
    id : str, optional
        The column of the ids. It is read too.
    """

    def __init__(
        self,
        files: Sequence[PoolFile],
        read: Callable[[pl.DataFrame], pl.DataFrame],
        encode: Encode,
        *,
        columns: Sequence[str],
        id: str | None = None,
    ) -> None:
        self.files, self.encode, self.id = tuple(files), encode, id
        self._reading = Reading(read, tuple(dict.fromkeys([*columns, *([] if id is None else [id])])))
        self.stretches = list(cut(self.files, len(self.columns)))
        self._starts = np.array([stretch.place for stretch in self.stretches])

    def __len__(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, that of the ids among them."""
        return self._reading.columns

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "progress"}

    def where(self, place: int) -> str:
        """The file and row of a place, in words."""
        stretch = self.stretches[int(np.searchsorted(self._starts, place, side="right")) - 1]
        return f"row {stretch.first + place - stretch.place + 1:,} of {stretch.path}"

    def frame(self, positions: Ints) -> pl.DataFrame:
        """The plain rows at these places, in that order. Only the row groups that hold them are decoded."""
        return self._rows(self._reading, positions)

    def features(self, positions: Ints) -> Rows:
        return self.encode(self.frame(positions))

    def values(self, position: int) -> dict[str, Any]:
        return self.frame(np.array([position])).row(0, named=True)

    def keys(self, positions: Ints) -> Keys:
        if self.id is None:
            return super().keys(positions)
        return keys_of(self._rows(Reading(_as_it_is, (self.id,)), positions)[self.id])

    def _rows(self, reading: Reading, positions: Ints) -> pl.DataFrame:
        places = np.asarray(positions, dtype=np.int64)
        if not len(places):
            return reading.frame(self.stretches[0], self.stretches[0]._replace(rows=1).raw(reading.columns)).clear()
        order = np.argsort(places, kind="stable")
        held, first = np.unique(np.searchsorted(self._starts, places[order], side="right") - 1, return_index=True)
        parts = zip(held, np.split(places[order], first[1:]), strict=True)
        tasks = ((len(part), (self.stretches[which], part)) for which, part in parts)
        found = sorted(spread(reading.some, tasks, add), key=lambda part: part[0])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        rows: pl.DataFrame = pl.concat([frame for _, frame in found])[back]
        return rows

    def scan(self, visit: Callable[[Block], T], merge: Merge[T]) -> T:
        return self.scan_frames(partial(_visit_features, self.encode, visit), merge)

    def scan_frames(self, visit: Callable[[Ints, Keys, pl.DataFrame], T], merge: Merge[T]) -> T:
        """Look at every row once, before it is turned into features: `visit` takes places, keys and plain rows."""
        return self.scan_stretches(partial(_visit_frames, self._reading, self.id, visit, merge), merge)

    def scan_ids(self, visit: Callable[[Ints, pl.Series], T], merge: Merge[T]) -> T:
        """Look at every id once: `visit` takes places and ids as text, null where there is none. Only ids are read."""
        assert self.id is not None, "a pool without ids has places only"
        return self.scan_stretches(partial(_visit_ids, self.id, visit), merge)

    def scan_stretches(self, visit: Callable[[Stretch], T], merge: Merge[T]) -> T:
        """Visit every stretch of rows once, without reading it."""
        tasks: Iterable[tuple[int, Stretch]] = ((stretch.rows, stretch) for stretch in self.stretches)
        return spread(visit, tasks, merge, len(self), self.progress)

    def sample(self, k: int, seed: int = 0) -> Ints:
        """The places of k rows, drawn evenly: those with the least numbers, in the order of these numbers.

        The numbers are hashed from the seed and the rows' keys. So if the rows have ids, their order and how they are
        cut into files do not matter. Nothing but the ids is read.
        """
        few = min(k, len(self))
        likely = few + 10.0 * np.sqrt(few) + 20.0
        # The few least are almost surely below this number: only what is below needs to be kept and sorted
        most = float(-np.log1p(-likely / len(self))) if likely < len(self) else np.inf
        while True:
            found = self.scan_stretches(partial(_below, self.id, seed, most), add)
            numbers, keys, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
            if len(places) >= few:
                return np.asarray(places[np.lexsort((keys, numbers))[:few]])
            most = np.inf


def _visit_frames(
    reading: Reading, id: str | None, visit: Callable[[Ints, Keys, pl.DataFrame], T], merge: Merge[T], stretch: Stretch
) -> T:
    """What `visit` makes of a stretch. Its values are read together, but become plain rows a block at a time."""
    raw = stretch.raw(reading.columns)
    keys = stretch.places.astype(np.uint64) if id is None else keys_of(raw[id])
    cuts = [slice(start, start + BLOCK) for start in range(0, len(keys), BLOCK)]
    return reduce(merge, (visit(stretch.places[cut], keys[cut], reading.frame(stretch, raw[cut])) for cut in cuts))


def _visit_ids(id: str, visit: Callable[[Ints, pl.Series], T], stretch: Stretch) -> T:
    return visit(stretch.places, bare(stretch.raw([id])[id]))


def _visit_features(encode: Encode, visit: Callable[[Block], T], places: Ints, keys: Keys, frame: pl.DataFrame) -> T:
    return visit(Block(places, keys, encode(frame)))


def _below(id: str | None, seed: int, most: float, stretch: Stretch) -> list[tuple[Floats, Keys, Ints]]:
    """The rows whose number is at most `most`: numbers, keys and places."""
    keys = stretch.places.astype(np.uint64) if id is None else keys_of(stretch.raw([id])[id])
    numbers = exponentials(seed, keys)
    kept = numbers <= most
    return [(numbers[kept], keys[kept], stretch.places[kept])]


def _as_it_is(raw: pl.DataFrame) -> pl.DataFrame:
    return raw

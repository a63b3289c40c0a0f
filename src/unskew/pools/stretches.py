"""Stretches of rows that follow one another in a file, and how they are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl

from unskew.errors import InputError
from unskew.pools.fingerprints import PoolFile
from unskew.pools.formats import kind_of, scanned, separator_of
from unskew.pools.text_files import Lines, read_lines
from unskew.rows import Ints

READ = 131_072
"""Rows that are read together, at most. It is a power of two, as are the row groups of many writers."""

VALUES = 1 << 24
"""Values that are read together, at most: 128 MiB of numbers. Very wide tables are read in fewer rows at a time."""


class Stretch(NamedTuple):
    """Rows of one file that follow one another."""

    path: str
    first: int
    """The first of them, in the file."""
    rows: int
    place: int
    """The place of the first of them in the pool."""
    lines: Lines | None = None
    """The part of a text file that holds them."""

    @property
    def places(self) -> Ints:
        return np.arange(self.place, self.place + self.rows)

    def around(self, places: Ints) -> "Stretch":
        """The part from the first to the last of these places."""
        low, high = int(places.min()), int(places.max())
        return self._replace(first=self.first + low - self.place, rows=high - low + 1, place=low)

    def raw(self, columns: Sequence[str]) -> pl.DataFrame:
        """Columns of these rows, as the file has them. Only the row groups that hold the rows are decoded."""
        try:
            rows = self._scanned(columns) if self.lines is None else self._read(self.lines, columns)
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise self._unreadable(str(error)) from None
        except pl.exceptions.PanicException:
            raise self._unreadable("a value is damaged") from None
        if rows.height != self.rows:
            raise self._unreadable(f"of {self.rows} rows from row {self.first + 1}, {rows.height} are there")
        return rows

    def _scanned(self, columns: Sequence[str]) -> pl.DataFrame:
        lazy = scanned(self.path, kind_of(self.path))
        return lazy.select(columns).slice(self.first, self.rows).collect()

    def _read(self, lines: Lines, columns: Sequence[str]) -> pl.DataFrame:
        found = read_lines(self.path, separator_of(self.path) or ",", lines, columns)
        return found.select(columns).slice(self.first - lines.first, self.rows)

    def _unreadable(self, why: str) -> InputError:
        return InputError(f"{self.path} cannot be read: {' '.join(why.split())[:120]}. Restore it from a copy.")


@dataclass(frozen=True)
class Reading:
    """How a stretch becomes plain rows. It is sent to the processes that read."""

    read: Callable[[pl.DataFrame], pl.DataFrame]
    columns: tuple[str, ...]

    def frame(self, stretch: Stretch, raw: pl.DataFrame) -> pl.DataFrame:
        """The plain rows of a stretch, or an error that names the file."""
        try:
            return self.read(raw)
        except InputError as error:
            raise InputError(f"{stretch.path}: {error}") from None

    def some(self, task: tuple[Stretch, Ints]) -> list[tuple[int, pl.DataFrame]]:
        """The plain rows at some places of a stretch, with the place where the stretch begins."""
        stretch, places = task
        around = stretch.around(places)
        return [(stretch.place, self.frame(stretch, around.raw(self.columns)[places - around.place]))]


def cut(files: Sequence[PoolFile], columns: int, most: int | None = None) -> Iterator[Stretch]:
    """Stretches of at most `most` rows, or READ. If possible they end with a row group: then none is decoded twice."""
    most, place = max(min(most or READ, VALUES // max(columns, 1)), 1), 0
    for file in files:
        first = 0
        for rows, lines in _pieces(file, most):
            yield Stretch(file.path, first, rows, place, lines)
            first, place = first + rows, place + rows


def _pieces(file: PoolFile, most: int) -> Iterator[tuple[int, Lines | None]]:
    """The rows of each stretch of a file. Parts of a text file are not joined: text takes much memory."""
    if not file.edges:
        yield from ((rows, None) for rows in _runs(file.groups, most))
    first = 0
    for rows, (start, end) in zip(file.groups, pairwise(file.edges), strict=True) if file.edges else ():
        lines = Lines(file.edges[0], start, end, first, rows)
        yield from ((some, lines) for some in _runs([rows], most))
        first += rows


def _runs(groups: Sequence[int], most: int) -> Iterator[int]:
    """Small row groups joined, and large ones cut evenly."""
    run = 0
    for rows in groups:
        if run and run + rows > most:
            yield run
            run = 0
        pieces = -(-rows // most)
        if pieces > 1:
            yield from (rows * (i + 1) // pieces - rows * i // pieces for i in range(pieces))
        else:
            run += rows
    if run:
        yield run

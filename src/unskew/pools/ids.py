"""The ids of rows, and the key of a row: a 64-bit hash of its id as text, the same on every machine."""

from functools import partial
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from unskew.errors import InputError
from unskew.rows import Ints, Keys

if TYPE_CHECKING:
    from unskew.pools.files import FilePool

PASS = 1 << 25
"""Keys that are compared at a time: 256 MiB."""

NONE = 1 << 62
"""No place."""

SUSPECTS = 1000
"""Equal keys whose ids are compared as text at a time."""


def bare(column: pl.Series) -> pl.Series:
    """Values as text, without blanks around them; null where nothing is left.

    >>> bare(pl.Series([" a", "", None])).to_list(), bare(pl.Series([17])).to_list()
    (['a', None, None], ['17'])
    """
    return column.cast(pl.String).str.strip_chars().replace("", None)


def keys_of(ids: pl.Series) -> Keys:
    """A key for each id. A whole number has the key of its text. A missing id has the key of an empty text.

    >>> keys_of(pl.Series(["17", " a"])).tolist() == keys_of(pl.Series(["17", "a"])).tolist()
    True
    """
    from unskew._kernels import hash_texts  # Numba is slow to import, and pools without ids do not need it

    texts = bare(ids).fill_null("")
    content = texts.str.join("").item().encode() if len(texts) else b""
    keys = np.empty(len(texts), dtype=np.uint64)
    hash_texts(np.frombuffer(content, dtype=np.uint8), texts.str.len_bytes().to_numpy().astype(np.int64), keys)
    return keys


def check_ids(pool: "FilePool") -> None:
    """Refuse ids that are missing, or that repeat in a file or in different files.

    Keys are compared first, as many at a time as PASS says: memory does not grow with the pool. Those that are equal
    lead to the few ids that are compared as text.
    """
    if pool.id is None:
        return
    passes = -(-len(pool) // PASS)
    for number in range(passes):
        gathered = _Gathered(len(pool) / passes)
        last = pool.scan_ids(partial(_keys_of_pass, number, passes), gathered.merge)
        missing, _ = gathered.merge(last, (NONE, last[1][:0]))  # a single part was merged with no other
        if missing != NONE:
            raise InputError(
                f"every row needs an id; column {pool.id!r} has none in {pool.where(missing)}. "
                "Fill it, or leave --id out."
            )
        repeated = gathered.repeated()
        del gathered
        for start in range(0, len(repeated), SUSPECTS):
            _check_texts(pool, repeated[start : start + SUSPECTS])


def shared_ids(pool: "FilePool", ids: pl.Series) -> int:
    """The number of rows of a pool whose id is one of these, of which there are not too many to be held."""
    known = bare(ids).drop_nulls().unique()
    return int(pool.scan_ids(partial(_shared, known, np.sort(keys_of(known))), add))


def _shared(known: pl.Series, keys: Keys, places: Ints, ids: pl.Series) -> int:
    suspects = ids.filter(np.isin(keys_of(ids), keys))
    return int(bare(suspects).is_in(known.implode()).sum()) if len(suspects) else 0


class _Gathered:
    """Keys, gathered in one array: two copies would be the most memory that a start takes.

    There is room for as many keys as fall to a pass if ids do not repeat. If they repeat so often that more come, there
    are equal ones among those that are kept.
    """

    def __init__(self, expected: float) -> None:
        self._keys, self._used = np.empty(int(expected + 10.0 * expected**0.5) + 1000, dtype=np.uint64), 0

    def merge(self, one: "Part", other: "Part") -> "Part":
        """Put the keys of both parts away. What is returned holds only the first place without an id."""
        for _, keys in (one, other):
            kept = keys[: len(self._keys) - self._used]
            self._keys[self._used : self._used + len(kept)] = kept
            self._used += len(kept)
        return min(one[0], other[0]), self._keys[:0]

    def repeated(self) -> Keys:
        """The keys that were gathered more than once."""
        keys = self._keys[: self._used]
        keys.sort()
        copies = keys[1:][keys[1:] == keys[:-1]]
        return np.asarray(copies[np.append(True, copies[1:] != copies[:-1])[: len(copies)]])


def _check_texts(pool: "FilePool", suspects: Keys) -> None:
    """Refuse an id that two rows have, among the rows with these keys."""
    rows = pool.scan_ids(partial(_rows_with, suspects), _joined)
    copies = rows.group_by("id").agg("place").filter(pl.col("place").list.len() > 1)
    for id, places in copies.sort("place").head(1).rows():
        raise InputError(
            f"ids must differ; {id!r} of column {pool.id!r} is in {' and in '.join(map(pool.where, places))}. "
            "Drop or rename the copies."
        )


Part = tuple[int, Keys]
"""The first place without an id, and keys."""


def _keys_of_pass(number: int, passes: int, places: Ints, ids: pl.Series) -> Part:
    """The keys whose first 32 bits fall to this pass."""
    missing = ids.is_null().arg_true()
    keys = keys_of(ids)
    of_pass = keys[((keys >> np.uint64(32)) * np.uint64(passes)) >> np.uint64(32) == number]
    return (int(places[missing[0]]) if len(missing) else NONE), of_pass


def _rows_with(suspects: Keys, places: Ints, ids: pl.Series) -> pl.DataFrame:
    kept = np.isin(keys_of(ids), suspects)
    return _first_two(pl.DataFrame({"id": ids.filter(kept), "place": places[kept]}))


def _joined(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return _first_two(pl.concat([one, other]))


def _first_two(rows: pl.DataFrame) -> pl.DataFrame:
    """The first two rows with each id: more are not needed to tell that it repeats."""
    return rows.sort("place").group_by("id", maintain_order=True).head(2)

"""Texts as counts of their words and of short pieces of words, in any language.

Pieces of 1 to 4 characters also serve languages that are written without blanks, endings and misspelt words. What is
counted is not the piece but the place that its hash gives it. So there is no list of words to build, and all texts of a
block are counted at once with arrays. (scikit-learn's vectorizers count the same in four times the time.)
"""

import unicodedata
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from unskew.rows import Bools, Ints

PLACES = 1 << 17
"""Words are counted in this number of places, and pieces in as many more."""

SIZES = (1, 2, 3, 4)
"""The lengths of pieces, in characters."""

LONGEST = 5_000
"""Characters of a text that are looked at: what a text is about shows in its beginning."""

BLANK = 32
PRIME = np.uint64(0x9E3779B97F4A7C15)
INVERSE = np.uint64(pow(int(PRIME), -1, 1 << 64))
MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

Hashes = NDArray[np.uint64]


def cleaned(texts: pl.Series) -> pl.Series:
    r"""Texts in small letters with single blanks, none at the ends; empty where missing.

    >>> cleaned(pl.Series(["  Too \n LATE", None])).to_list()
    ['too late', '']
    """
    start = texts.fill_null("").str.strip_chars().str.slice(0, LONGEST)
    return start.str.normalize("NFKC").str.to_lowercase().str.replace_all(r"\s+", " ")


def counts(texts: pl.Series) -> sparse.csr_array:
    """How often each word and each piece occurs in each text that is `cleaned`: one row for each text.

    >>> found = counts(pl.Series(["to be or not to be", ""]))
    >>> found.shape == (2, 2 * PLACES), float(found[[0], place_of("to")][0]), int(found[[1]].sum())
    (True, 2.0, 0)
    """
    rows = texts.to_list()
    code = np.frombuffer("".join(f" {row} " for row in rows).encode("utf-32-le"), dtype=np.uint32)
    row = np.repeat(np.arange(len(rows)), [len(text) + 2 for text in rows])
    sums, inverse = _sums(code)
    word = np.diff(_wordly(code).astype(np.int8), prepend=0, append=0)
    first, after = np.flatnonzero(word == 1), np.flatnonzero(word == -1)
    found = [(row[first], _place((sums[after] - sums[first]) * inverse[first], 0))]
    for size in SIZES:
        start = _pieces(code == BLANK, size)
        hashed = (sums[start + size] - sums[start]) * inverse[start]
        found.append((row[start], PLACES + _place(hashed, size)))
    i, j = (np.concatenate(parts) for parts in zip(*found, strict=True))
    made = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(len(rows), 2 * PLACES)).tocsr()
    made.sum_duplicates()
    return made


def place_of(word: str) -> int:
    """Where a word is counted."""
    code = np.frombuffer(word.encode("utf-32-le"), dtype=np.uint32)
    return int(_place(_sums(code)[0][-1:], 0)[0])


def _sums(code: NDArray[np.uint32]) -> tuple[Hashes, Hashes]:
    """Sums of code times power of a prime, up to each place: their differences are hashes of all that is between.

    A difference times the `inverse` of the power at its start is the same wherever the piece occurs.
    """
    power, inverse = np.full((2, len(code) + 1), [[PRIME], [INVERSE]])
    power[0] = inverse[0] = 1
    sums = np.zeros(len(code) + 1, dtype=np.uint64)
    np.cumsum(code * np.multiply.accumulate(power)[:-1], out=sums[1:])
    return sums, np.multiply.accumulate(inverse)


def _place(hashed: Hashes, kind: int) -> Ints:
    """Every bit of a hash decides on the place; words and pieces of each size have hashes of their own."""
    mixed = (hashed + np.uint64(kind)) * MIX[0]
    mixed = (mixed ^ (mixed >> np.uint64(31))) * MIX[1]
    return np.asarray((mixed >> np.uint64(47)).astype(np.int64))


def _pieces(blank: Bools, size: int) -> Ints:
    """Where pieces of that size start: inside a word, with the blanks before and after it if it reaches them."""
    many = len(blank) - size + 1
    if many < 1:
        return np.empty(0, dtype=np.int64)
    good = ~(blank[:many] & blank[size - 1 :]) if size < 3 else np.ones(many, dtype=bool)
    for k in range(1, size - 1):
        good &= ~blank[k : k + many]
    return np.flatnonzero(good)


def _wordly(code: NDArray[np.uint32]) -> Bools:
    """Which characters make words: letters, their marks and digits, and the pictures that people write among them."""
    return np.asarray(_letters()[np.minimum(code, 0xFFFF)] | (code > 0xFFFF))


@cache
def _letters() -> Bools:
    return np.array([unicodedata.category(chr(code))[0] in "LMN" or chr(code) == "_" for code in range(1 << 16)])

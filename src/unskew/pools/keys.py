"""The key of a row: a 64-bit hash of its id as text, the same on every machine."""

import numpy as np
import polars as pl

from unskew.rows import Keys


def bare_ids(column: pl.Series) -> pl.Series:
    """Ids as text, without blanks around them; null where nothing is left.

    >>> bare_ids(pl.Series([" a", "", None])).to_list(), bare_ids(pl.Series([17])).to_list()
    (['a', None, None], ['17'])
    """
    return column.cast(pl.String).str.strip_chars().replace("", None)


def keys_of(ids: pl.Series) -> Keys:
    """A key for each id. A whole number has the key of its text. A missing id has the key of an empty text.

    >>> keys_of(pl.Series(["17", " a"])).tolist() == keys_of(pl.Series(["17", "a"])).tolist()
    True
    """
    from unskew._kernels import hash_texts  # Numba is slow to import, and pools without ids do not need it

    texts = bare_ids(ids).fill_null("")
    content = texts.str.join("").item().encode() if len(texts) else b""
    keys = np.empty(len(texts), dtype=np.uint64)
    hash_texts(np.frombuffer(content, dtype=np.uint8), texts.str.len_bytes().to_numpy().astype(np.int64), keys)
    return keys

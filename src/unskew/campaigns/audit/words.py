"""Which common words the texts of a column have, so that rules can name them."""

import numpy as np
import polars as pl

from unskew.campaigns.tables.encoding import plain_column
from unskew.campaigns.tables.grams import cleaned
from unskew.campaigns.tables.text_features import WORD
from unskew.rows import Bools

MOST_WORDS = 100
"""The most words of a column that rules may name, the commonest first."""

LOOK_AT = 20_000
"""Texts whose words are counted, at most; and the number of texts looked at in one go."""


def has_word(column: pl.Series, word: str) -> Bools:
    """Which texts have a word, whatever its case; no word at all means no text.

    >>> texts = pl.Series("note", ["No refund!", "refunded", None])
    >>> has_word(texts, "refund").tolist(), has_word(texts, "").tolist()
    ([True, False, False], [False, False, True])
    """
    return word_marks(column, [word])[:, 0]


def common_words(column: pl.Series, least: float) -> list[str]:
    """The words that at least this share of the texts has, and this share has not, the commonest first.

    >>> common_words(pl.Series("note", ["The refund", "the end", "the refund please", "the cat"]), 0.3)
    ['refund']
    """
    some = column.gather_every(max(1, -(-len(column) // LOOK_AT)))
    counted = _words(some).explode(empty_as_null=False).alias("word").value_counts()
    share = pl.col("count") / len(some)
    kept = counted.filter(share.is_between(least, 1.0 - least)).sort("count", "word", descending=[True, False])
    return kept["word"][:MOST_WORDS].to_list()


def word_marks(column: pl.Series, words: list[str]) -> Bools:
    """Which texts have which of the words: one row for each text."""
    place = {word: k for k, word in enumerate(words)}
    marks = np.zeros((len(column), len(words)), dtype=bool)
    for start in range(0, len(column), LOOK_AT):
        texts = column[start : start + LOOK_AT]
        found = pl.DataFrame({"row": np.arange(start, start + len(texts)), "word": _words(texts)})
        known = found.explode("word", empty_as_null=False).filter(pl.col("word").is_in(words))
        marks[known["row"].to_numpy(), known["word"].replace_strict(place, return_dtype=pl.Int64).to_numpy()] = True
        if "" in place:
            marks[start : start + len(texts), place[""]] = (cleaned(plain_column(texts, "text")) == "").to_numpy()
    return marks


def _words(column: pl.Series) -> pl.Series:
    """The different words of each text."""
    return cleaned(plain_column(column, "text")).str.extract_all(WORD).list.unique(maintain_order=True)

"""How long the id of a row may be: as long as the page takes it, so that every row can be answered."""

from typing import TYPE_CHECKING

from unskew.errors import InputError

if TYPE_CHECKING:  # the page imports this, and needs no frames
    import polars as pl

LONGEST_ID = 1000
"""The most characters of an id."""
SHOWN = 20


def check_lengths(ids: "pl.Series", column: str, where: str, first: int = 0) -> None:
    """Refuse an id that is too long. `first` is the number of rows before these, in what `where` names.

    >>> import polars as pl
    >>> check_lengths(pl.Series(["17", None, "x" * 1000]), "loan", "the pool")
    """
    lengths = ids.str.len_chars().fill_null(0)
    for row in (lengths > LONGEST_ID).arg_true()[:1]:
        raise InputError(
            f"an id may have at most {LONGEST_ID:,} characters; {ids[row][:SHOWN]!r}... of column {column!r} in row "
            f"{first + row + 1:,} of {where} has {lengths[row]:,}. Shorten it, or leave --id out."
        )

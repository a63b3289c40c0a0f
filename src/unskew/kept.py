"""A long log, of which only some rows are kept: what these rows stand for."""

from typing import NamedTuple

import numpy as np

from unskew.errors import InputError
from unskew.rows import Bools, Floats

NEARLY_ALL = 0.98
"""If at least this share of a log's rows has a label, the rows without one were left out of the file."""


class Kept(NamedTuple):
    """The numbers of rows with and without a label in a long log, of which only some rows are kept.

    They are drawn at random from the labelled rows, and from those without a label, evenly from each kind.
    """

    labelled: int
    unlabelled: int


def checked_kept(kept: Kept | None, z: Bools) -> Kept | None:
    """The numbers of rows of the whole log, if these rows can have been drawn from them; None if they are all rows."""
    if kept is None:
        return None
    here = Kept(int(z.sum()), int((~z).sum()))
    for name, whole, few in zip(Kept._fields, kept, here, strict=True):
        if whole < few or (whole > 0) != (few > 0):
            raise InputError(
                f"kept.{name} must be the number of {name} rows of the whole log; got {whole} with {few} such rows "
                "here. Count them in the whole log, and keep some of each kind."
            )
    return None if kept == here else Kept(int(kept.labelled), int(kept.unlabelled))


def counts_of(z: Bools, kept: Kept) -> Floats:
    """The number of rows of the whole log that each row stands for, given which of them have a label."""
    return np.asarray(np.where(z, kept.labelled / max(z.sum(), 1), kept.unlabelled / max((~z).sum(), 1)))


def nearly_all(labelled: int, rows: int) -> bool:
    """Whether nearly all rows have a label, so that those without one must have been left out.

    >>> nearly_all(99, 100), nearly_all(90, 100)
    (True, False)
    """
    return labelled >= NEARLY_ALL * rows

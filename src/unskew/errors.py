"""Errors that name the value, the rule and the remedy, in one line.

The command line prints only that line and exits with status 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class UnskewError(Exception):
    """The base class of every error that this package raises on purpose; its message is one line."""


class InputError(UnskewError, ValueError):
    """A value that was passed in breaks a rule; the message names the value, the rule and the remedy."""


class TooFewRows(InputError):
    """A group of rows of which the sample of a large pool holds too few."""


class NoRandomLabel(InputError):
    """There is no randomly drawn label, neither in the log nor among the drawn rows, so nothing can be estimated."""


class EmptyMeasure(InputError):
    """A measure is a share of the rows of one kind, such as recall of the positive rows, and there are no such rows."""


class StoreError(UnskewError):
    """A file or database that holds a campaign cannot be read or written. Its earlier content is unchanged."""


class NotAgreed(StoreError):
    """A campaign's folder names an address that this user did not agree to connect to."""


class LedgerDamaged(StoreError):
    """Events of the ledger are lost or were changed. It has to be restored from a copy."""


class LedgerBusy(StoreError):
    """Somebody else was writing to the ledger for longer than one waits. Nothing was changed; try again."""


class LedgerUnsure(StoreError):
    """The connection broke while a change was written, so it is not known whether it was. Do the same again."""


class LedgerReplaced(StoreError):
    """The ledger's file was deleted or replaced while it was open. Nothing more is taken until it is repaired.

    `saved` is a file that holds all that was acknowledged; None if there is no such file.
    """

    def __init__(self, message: str, saved: Path | None = None) -> None:
        super().__init__(message)
        self.saved = saved


def unknown(kind: str, name: object, choices: Iterable[str]) -> InputError:
    """The error for a name that is not one of `choices`; it suggests the nearest choice.

    >>> print(unknown("method", "IDBALL", ["Passive", "IDBAL"]))
    unknown method 'IDBALL': did you mean 'IDBAL'? Known: Passive, IDBAL.
    """
    known = list(choices)
    lower = {c.lower(): c for c in known}
    close = get_close_matches(str(name).lower(), lower, n=1, cutoff=0.5)
    hint = f": did you mean {lower[close[0]]!r}?" if close else "."
    return InputError(f"unknown {kind} {name!r}{hint} Known: {', '.join(known)}.")

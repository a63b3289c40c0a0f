"""Errors that name the value, the rule and the remedy, in one line.

The command line prints only that line and exits with status 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UnskewError(Exception):
    """The base of every error that this package raises on purpose; its message is one line."""


class InputError(UnskewError, ValueError):
    """A value that was passed in breaks a rule; the message names the value, the rule and the remedy."""


class NoRandomLabel(InputError):  # noqa: N818  # says what is missing
    """No label came at random, neither in the log nor from rows drawn, so nothing can be estimated."""


class EmptyMeasure(InputError):  # noqa: N818  # says what is empty
    """A measure is a share of the rows of some kind, and there are none of that kind."""


class StoreError(UnskewError):
    """A file or database that holds a campaign cannot be read or written. What it held before is still there."""


def unknown(kind: str, name: object, choices: Iterable[str]) -> InputError:
    """The error for a name that is not one of `choices`, with the nearest one suggested.

    >>> print(unknown("method", "IDBALL", ["Passive", "IDBAL"]))
    unknown method 'IDBALL': did you mean 'IDBAL'? Known: Passive, IDBAL.
    """
    known = list(choices)
    lower = {c.lower(): c for c in known}
    close = get_close_matches(str(name).lower(), lower, n=1, cutoff=0.5)
    hint = f"did you mean {lower[close[0]]!r}? " if close else ""
    return InputError(f"unknown {kind} {name!r}: {hint}Known: {', '.join(known)}.")

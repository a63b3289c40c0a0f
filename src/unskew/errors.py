"""Errors that name the value, the rule and the remedy, in one line.

The command line prints the line alone and exits with status 2.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class UnskewError(Exception):
    """Anything this package refuses to do, said in one line."""


class InputError(UnskewError, ValueError):
    """What was passed in breaks a rule; the message says which value, which rule, what to do."""


class StoreError(UnskewError):
    """A file or database that holds a campaign cannot be read or written; what was in it before still is."""


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

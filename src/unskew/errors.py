"""Errors that name the value, the rule and the remedy, in one line.

The command line prints only that line and exits with status 2. A value in it is cut if it is long: a cell of a table,
an id or a name may have a million characters.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

LONGEST, LONGEST_WORD = 80, 300
"""The most characters of a quoted value in a message, and of anything else without blanks."""
FIRST, LAST = 60, 15
"""Those that are left of a longer one, at its beginning and at its end."""
CHOICES = 50
"""The most names that a message lists."""

# Values come as Python writes them, between quotes. An apostrophe within a word opens nothing. A path of this machine
# may be longer than other values: it is a file's name and no content. So may a command that is to be copied.
_QUOTED = re.compile(
    r"""(?<![\w'"])(?<!-c\ )(?:'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")(?!\w)""", re.DOTALL
)
_PATH = re.compile(r"/\S*")
_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}+")


def brief(message: str) -> str:
    """A message in which no value is long.

    >>> print(brief(f"label {'x' * 800_000!r} is not a class. Write 'yes' or 'no'."))
    label 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxx' (800,000 characters) is not a \
class. Write 'yes' or 'no'.
    """
    message = message.encode("utf-8", "backslashreplace").decode()  # half a character is none
    if len(message) <= LONGEST:
        return message
    return _WORD.sub(lambda word: _cut(word[0]), _QUOTED.sub(_shorter, message))


def _shorter(quoted: re.Match[str]) -> str:
    mark, value = quoted[0][0], quoted[0][1:-1]
    if len(value) <= (LONGEST_WORD if _PATH.fullmatch(value) else LONGEST):
        return quoted[0]
    return _cut(value, mark)


def _cut(value: str, mark: str = "") -> str:
    return f"{mark}{value[:FIRST]}…{value[-LAST:]}{mark} ({len(value):,} characters)"


def exact(value: float) -> str:
    """A number that was refused: with as many digits as it takes to see why.

    >>> exact(2.0), exact(0.5), exact(1.0000001)
    ('2', '0.5', '1.0000001')
    """
    short = f"{value:g}"
    return short if float(short) == value or value != value else repr(float(value))


class UnskewError(Exception):
    """The base class of every error that this package raises on purpose; its message is one line."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(brief(one) if isinstance(one, str) else one for one in args))


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
    close = get_close_matches(str(name).lower()[:LONGEST], lower, n=1, cutoff=0.5)
    hint = f": did you mean {lower[close[0]]!r}?" if close else "."
    more = f" and {len(known) - CHOICES:,} more" if len(known) > CHOICES else ""
    return InputError(f"unknown {kind} {name!r}{hint} Known: {', '.join(map(brief, known[:CHOICES]))}{more}.")

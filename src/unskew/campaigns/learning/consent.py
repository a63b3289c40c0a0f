"""Methods of one's own: what a campaign's ledger names is imported only if this user has agreed to run it.

Otherwise a folder that somebody else made could name any module, and opening it would run that module.
"""

import os
from contextlib import suppress
from pathlib import Path

from platformdirs import user_config_path

from unskew.errors import InputError

VARIABLE = "UNSKEW_METHODS"
"""An environment variable with methods that the user agrees to, separated by commas."""

_agreed: set[str] = set()


def agreed_file() -> Path:
    """Where the methods that the user started a campaign with are kept, one a line."""
    return user_config_path("unskew") / "methods"


def agree(method: str) -> None:
    """Remember that the user named this method. One of the package's own needs no consent."""
    if ":" not in method or method in _known():
        return
    _agreed.add(method)
    with suppress(OSError):  # no home, or one that cannot be written: then it holds in this process
        agreed_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(agreed_file(), "a", encoding="utf-8") as file:
            file.write(f"{method}\n")


def check_agreed(method: str) -> None:
    """Refuse a method of somebody's own that the user never named.

    >>> check_agreed("Unskew")
    >>> check_agreed("theirs:Method")
    Traceback (most recent call last):
    unskew.errors.InputError: this campaign learns with 'theirs:Method', code that is not part of unskew ...
    """
    if ":" in method and method not in _known():
        raise InputError(
            f"this campaign learns with {method!r:.80}, code that is not part of unskew and that you did not agree "
            f"to run. If you trust it, set {VARIABLE} to its name."
        )


def _known() -> set[str]:
    named = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}
    with suppress(OSError, ValueError):
        named |= set(agreed_file().read_text(encoding="utf-8").splitlines())
    return named | _agreed

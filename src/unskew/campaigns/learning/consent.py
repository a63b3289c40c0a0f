"""Methods and models of one's own: what a ledger names is imported only if this user has agreed to run it.

Otherwise a folder that somebody else made could name any module, and opening it would run that module.
"""

import os
from contextlib import suppress
from pathlib import Path

from platformdirs import user_config_path

from unskew.errors import InputError

VARIABLE = "UNSKEW_METHODS"
"""An environment variable with methods and models that the user agrees to, separated by commas."""

_agreed: set[str] = set()


def agreed_file() -> Path:
    """Where the methods and models that the user started a campaign with are kept, one a line."""
    return user_config_path("unskew") / "methods"


def agree(method: str) -> None:
    """Remember that the user named this method or model. One of the package's own needs no consent."""
    if ":" not in method or method in _known():
        return
    _agreed.add(method)
    with suppress(OSError):  # no home, or one that cannot be written: then it holds in this process
        agreed_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(agreed_file(), "a", encoding="utf-8") as file:
            file.write(f"{method}\n")


def check_agreed(method: str, shown: str = "") -> None:
    """Refuse a method or model of somebody's own that the user never named; `shown` is what a model is.

    >>> check_agreed("Unskew")
    >>> check_agreed("theirs:Method")
    Traceback (most recent call last):
    unskew.errors.InputError: this campaign learns with 'theirs:Method', code that is not part of unskew ...
    """
    if ":" in method and method not in _known():
        raise InputError(
            f"this campaign learns with {shown or method!r:.200}, code that is not part of unskew and that you did not "
            f"agree to run. If you trust it, set {VARIABLE} to {method if shown else 'its name'}."
        )


def _known() -> set[str]:
    named = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}
    with suppress(OSError, ValueError):
        named |= set(agreed_file().read_text(encoding="utf-8").splitlines())
    return named | _agreed

"""What a campaign's folder can name and only this user can allow: code, and addresses elsewhere.

Otherwise a folder that somebody else made could name any module or any machine. Opening it would
run that module, or send requests, and perhaps a password, to that machine.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from platformdirs import user_config_path

from unskew.errors import InputError, NotAgreed


class Agreed:
    """What the user agreed to: in this process, in a file, and in an environment variable."""

    def __init__(self, file: str, variable: str) -> None:
        self.file, self.variable = file, variable
        self._here: set[str] = set()

    @property
    def path(self) -> Path:
        """The user's file, with one consent a line."""
        return user_config_path("unskew") / self.file

    def named(self) -> list[str]:
        """What the environment variable holds, separated by commas."""
        names = [name.strip() for name in os.environ.get(self.variable, "").split(",")]
        return [name for name in names if name]

    def with_more(self, names: Iterable[str]) -> str:
        """What to set the variable to, so that what it holds stays agreed to."""
        return ", ".join(dict.fromkeys([*self.named(), *names]))

    def kept(self) -> set[str]:
        """What was remembered, here and in the file."""
        lines: list[str] = []
        with suppress(OSError, ValueError):
            lines = self.path.read_text(encoding="utf-8").splitlines()
        return self._here | set(lines)

    def keep(self, line: str) -> None:
        """Remember it."""
        if line in self.kept():
            return
        self._here.add(line)
        with suppress(OSError):  # no home that can be written: then it holds in this process
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(f"{line}\n")


METHODS = Agreed("methods", "UNSKEW_METHODS")
"""Methods and models that are not part of unskew."""
ADDRESSES = Agreed("addresses", "UNSKEW_ADDRESSES")
"""Where pools and ledgers elsewhere are. Before each, the file has what it is for: a list of files
by its digest, or a campaign by its id."""


def agree(method: str) -> None:
    """Remember that the user named this method or model. One of the package needs no consent."""
    if ":" in method and method not in METHODS.named():
        METHODS.keep(method)


def check_agreed(method: str, shown: str = "") -> None:
    """Refuse a method or model of somebody's own that the user never named.

    `shown` is what a model is.

    >>> check_agreed("Unskew")
    >>> check_agreed("theirs:Method")
    Traceback (most recent call last):
    unskew.errors.InputError: this campaign learns with 'theirs:Method', code that is not ...
    """
    if ":" in method and method not in {*METHODS.named(), *METHODS.kept()}:
        raise InputError(
            f"this campaign learns with {shown or method!r:.200}, code that is not part of unskew "
            "and that you did not agree to run. If you trust it, set "
            f"{METHODS.variable} to {METHODS.with_more([method if shown else 'its name'])}."
        )


def agree_to_reach(addresses: Iterable[str], purpose: str) -> None:
    """Remember that the user named these addresses for this purpose alone."""
    for address in sorted(set(addresses)):
        ADDRESSES.keep(f"{purpose} {address}")


def check_reach(addresses: Iterable[str], purpose: str, what: str) -> None:
    """Refuse addresses that the user never named for this purpose, before anything is connected to.

    `what` is what is there.

    >>> check_reach([], "a list", "the pool of this campaign")
    >>> check_reach(["s3://theirs/"], "a list", "the pool of this campaign")
    Traceback (most recent call last):
    unskew.errors.NotAgreed: the pool of this campaign is at s3://theirs/, and you did not agree ...
    """
    everywhere, kept = {address.rstrip("/") for address in ADDRESSES.named()}, ADDRESSES.kept()
    others = [
        address
        for address in sorted(set(addresses))
        if address.rstrip("/") not in everywhere and f"{purpose} {address}" not in kept
    ]
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        raise NotAgreed(
            f"{what} is at {others[0]}{more}, and you did not agree to connect to it. If you trust "
            f"it, set {ADDRESSES.variable} to {ADDRESSES.with_more(others)} and try again."
        )

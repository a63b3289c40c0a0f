"""Texts that people write and the ledger keeps."""

from typing import Any

from unskew.errors import InputError


def checked_text(name: str, value: Any, longest: int) -> str:
    """A text without spaces around it, if it can be kept.

    >>> checked_text("question", " Repaid? ", 500)
    'Repaid?'
    """
    if not isinstance(value, str):
        raise InputError(f"{name} must be text; got {type(value).__name__}. Pass a text.")
    if len(value) > longest:
        raise InputError(f"{name} may have at most {longest:,} characters; got {len(value):,}. Shorten it.")
    if any("\ud800" <= character <= "\udfff" or character == "\x00" for character in value):
        raise InputError(f"{name} must be whole characters; got {value!r:.60}. Write it again.")
    return value.strip()

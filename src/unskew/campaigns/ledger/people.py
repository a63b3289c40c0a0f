"""Tokens with which annotators come to the page; the ledger knows only their hashes."""

import hashlib
import secrets
import unicodedata

from unskew.campaigns.ledger.state import Person, State
from unskew.errors import InputError, unknown

ROLES = ("annotator", "admin")


def new_token() -> str:
    """A token nobody can guess.

    >>> len(new_token())
    43
    """
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def holder(state: State, token: str) -> Person | None:
    """Whose token that is."""
    known = token_hash(token)
    found = None
    for person in state.people.values():  # each is compared, in constant time, whether or not one was found
        if secrets.compare_digest(person.token_sha256, known):
            found = person
    return found


def checked_name(name: str) -> str:
    """A name under which answers can be recorded."""
    # Control characters, halves of characters, line and paragraph separators: what breaks a line or a file.
    if not name.strip() or len(name) > 100 or any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name):
        raise InputError(f"a name needs 1 to 100 characters on one line; got {name!r:.60}. Choose another.")
    return name


def checked_role(role: str) -> str:
    """One of the roles there are."""
    if role not in ROLES:
        raise unknown("role", role, ROLES)
    return role

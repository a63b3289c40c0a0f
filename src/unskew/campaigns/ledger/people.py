"""Names of people, and the tokens with which they come to the page. The ledger keeps only hashes of tokens."""

import hashlib
import re
import secrets
from typing import Literal

from unskew.campaigns.ledger.state import Person, State
from unskew.errors import InputError, unknown

ROLES = ("annotator", "admin")

LONGEST_NAME, LONGEST_SHOWN = 100, 50
NAME_RULE = f"a name begins with a letter, digit or underscore and has 1 to {LONGEST_NAME} characters on one line"
# Letters and digits by their ranges, without two that are spaces: readers of a schema differ in what \w means.
_LETTERS = r"0-9A-Z_a-z\u00c0-\u167f\u1681-\u1fff\u2c00-\u2fff\u3001-\ud7ff"
_BREAKS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
NAME_PATTERN = rf"[{_LETTERS}][^{_BREAKS}]*"
"""The rule as a regular expression, but for the length: no control characters, no line or paragraph separators."""


def new_token() -> str:
    """A token nobody can guess.

    >>> len(new_token())
    43
    """
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """The part of a token that is kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def holder(state: State, token: str) -> Person | None:
    """The person whose token that is."""
    known = token_hash(token)
    found = None
    for person in state.people.values():  # each is compared, in constant time, whether or not one was found
        if secrets.compare_digest(person.token_sha256, known):
            found = person
    return found


def ended(state: State, token: str) -> Literal["revoked", "replaced"] | None:
    """Why a token no longer works; None if it does, or if nobody ever had it."""
    name = state.old_tokens.get(token_hash(token))
    return None if name is None else "replaced" if name in state.people else "revoked"


def checked_name(name: str) -> str:
    """A name under which answers can be recorded. The command line and the page both use this rule.

    >>> checked_name("ada+bob")
    'ada+bob'
    """
    if not isinstance(name, str):
        raise InputError(f"a name must be text; got {name!r:.60}. Pass the name of the person, such as 'ann'.")
    halves = any("\ud800" <= character <= "\udfff" for character in name)  # of characters: no text holds one alone
    if len(name) > LONGEST_NAME or halves or not re.fullmatch(NAME_PATTERN, name):
        shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}..."
        raise InputError(f"{NAME_RULE}; got {shown!r}. Choose another.")
    return name


def checked_role(role: str) -> str:
    """One of the roles there are."""
    if role not in ROLES:
        raise unknown("role", role, ROLES)
    return role

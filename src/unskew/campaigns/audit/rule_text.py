"""Rules as people write them, and as the audit prints them: "income < 2300 and region is north"."""

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any

from unskew.campaigns.audit.rules import EPOCH, Condition, Rule
from unskew.campaigns.tables.encoding import MISSING
from unskew.errors import InputError, unknown

SAYS = r"(?:\s+(is not|is)\s+|\s*(==|=|!=|<=|≤|>=|≥|<|>)\s*)(.+)"
WORD = r"\s+(has|lacks)\s+the\s+word\s+['\"]?(\w+)['\"]?"
BETWEEN = r"(.+?)\s*(?:≤|<=)\s*{}\s*<\s*(.+)"


def rule_of(text: str, kinds: Mapping[str, str]) -> Rule:
    """The rule that a text describes, on columns of these kinds.

    >>> kinds = {"income": "number", "region": "category", "since": "date", "owner": "boolean", "note": "text"}
    >>> for text in ("income<2300 and region = north", "since ≥ 2020-01-01", "1 ≤ income < 5", "owner is not true",
    ...              "region is not north or missing", "(income < 5 or missing)", "since is known",
    ...              "note has the word Late"):
    ...     print(rule_of(text, kinds))
    income < 2300 and region is north
    since ≥ 2020-01-01
    1 ≤ income < 5
    owner is false
    region is not north or missing
    (income < 5 or missing)
    since is known
    note has the word 'late'
    """
    parts: list[str] = []
    for part in re.split(r"\s+and\s+", text.strip()):
        if parts and _column(part, kinds) is None:  # the "and" belongs to a value, such as "research and teaching"
            parts[-1] += f" and {part}"
        else:
            parts.append(part)
    return Rule(tuple(_condition(part, kinds) for part in parts))


def _column(part: str, kinds: Mapping[str, str]) -> tuple[str, re.Match[str]] | None:
    """The column that a condition is about, and how it goes on."""
    for name in sorted(kinds, key=len, reverse=True):
        own = re.escape(name)
        for form in (own + (WORD if kinds[name] == "text" else SAYS), own + SAYS, BETWEEN.format(own)):
            found = re.fullmatch(form, part.removeprefix("(").removesuffix(" or missing)"))
            if found is not None:
                return name, found
    return None


def _condition(part: str, kinds: Mapping[str, str]) -> Condition:
    found = _column(part, kinds)
    if found is None:
        named = re.match(r"\s*([^\s<>=≤≥!]+)\s*(?:[<>=≤≥!]|is\b)", part)
        if named is not None and named[1] not in kinds:
            raise unknown("column", named[1], kinds)
        raise InputError(
            f"a rule is like 'income < 2300 and region = north'; got {part!r:.80}. Columns: {_names(kinds)}."
        )
    column, said = found
    kind, missing = kinds[column], part.startswith("(") and part.endswith(" or missing)")
    if kind == "text":
        return _of_text(column, part, *said.groups())
    if len(said.groups()) == 2:
        ends = [_number(text, column, kind) for text in said.groups()]
        return Condition(column, kind, ends[0], ends[1], missing=missing)
    word, sign, value = said.groups()
    sign, value = word or sign, value.strip()
    equal, other = sign in ("is", "=", "=="), sign in ("is not", "!=")
    if value in ("missing", "known") and (equal or other):
        absent = equal == (value == "missing")
        if kind == "category":
            return Condition(column, kind, values=(MISSING,), negated=not absent)
        return Condition(column, kind, known=not absent, missing=absent)
    if kind == "category":
        if not (equal or other):
            raise InputError(f"{column!r} holds categories, which have no order; got {part!r:.80}. Use = or !=.")
        values = re.split(r", | or ", value) if " or " in value else [value]
        return Condition(
            column, kind, values=tuple(MISSING if v == "missing" else v for v in values), negated=other
        )  # fmt: skip
    if kind == "boolean":
        if value.lower() not in ("true", "false") or not (equal or other):
            raise InputError(f"{column!r} is true or false; got {part!r:.80}. Write '{column} is true'.")
        return Condition(column, kind, **_half((value.lower() == "true") == equal))
    if other:
        raise InputError(f"{column!r} holds a {kind}; got {part!r:.80}. Use <, <=, =, >= or >.")
    at = _number(value, column, kind)
    after = math.nextafter(at, math.inf)
    low = {">": after, ">=": at, "≥": at}.get(sign, at if equal else None)
    high = {"<": at, "<=": after, "≤": after}.get(sign, after if equal else None)
    return Condition(column, kind, low, high, missing=missing)


def _of_text(column: str, part: str, sign: str, *said: str) -> Condition:
    """A word that a text has or lacks, or that there is a text at all."""
    if sign in ("has", "lacks"):
        return Condition(column, "text", values=(said[0].lower(),), negated=sign == "lacks")
    value = said[-1].strip()
    if value not in ("missing", "known") or sign not in ("is", "is not"):
        raise InputError(f"{column!r} holds text; got {part!r:.80}. Write \"{column} has the word 'refund'\".")
    return Condition(column, "text", values=("",), negated=(value == "known") == (sign == "is"))


def _half(true: bool) -> dict[str, Any]:
    return {"low": 0.5} if true else {"high": 0.5}


def _number(text: str, column: str, kind: str) -> float:
    try:
        if kind == "date":
            return (datetime.datetime.fromisoformat(text) - EPOCH) / datetime.timedelta(days=1)
        return float(text.replace(",", ""))
    except (ValueError, TypeError):
        example = "2024-05-31" if kind == "date" else "2300"
        raise InputError(f"{column!r} holds a {kind}; got {text!r:.40}. Write it like {example}.") from None


def _names(kinds: Mapping[str, str]) -> str:
    return ", ".join(kinds)

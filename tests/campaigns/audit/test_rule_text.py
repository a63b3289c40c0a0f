"""Rules as people write them: what the audit prints can be read back, and what is wrong is named."""

from datetime import date

import numpy as np
import polars as pl
import pytest

from unskew.campaigns.audit.rule_text import rule_of
from unskew.campaigns.audit.rules import Condition, Rule
from unskew.campaigns.tables.encoding import MISSING
from unskew.errors import InputError

KINDS = {"income": "number", "region": "category", "since": "date", "owner": "boolean", "net income": "number"}
FRAME = pl.DataFrame(
    {
        "income": [1.0, 2.0, 3.0, None, 25_000.0],
        "net income": [5.0, 4.0, 3.0, 2.0, 1.0],
        "region": ["north", "east and west", None, "south", "north"],
        "since": [date(2020, 1, 1), date(2021, 5, 1), None, date(2024, 1, 1), date(2020, 1, 2)],
        "owner": [True, False, None, True, False],
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("income < 2", [0]), ("income <= 2", [0, 1]), ("income ≤ 2", [0, 1]), ("income>2", [2, 4]), ("income = 2", [1]),
        ("income >= 25,000", [4]), ("1.5 <= income < 3", [1]), ("(income < 2 or missing)", [0, 3]),
        ("income is missing", [3]), ("income is known", [0, 1, 2, 4]), ("income is not missing", [0, 1, 2, 4]),
        ("net income > 3", [0, 1]), ("region = north", [0, 4]), ("region == north and income < 5", [0]),
        ("region is north or south", [0, 3, 4]), ("region is not north, south or missing", [1]),
        ("region = east and west", [1]), ("region = east and west and owner is false", [1]),
        ("region is missing", [2]), ("region is known", [0, 1, 3, 4]), ("owner is true", [0, 3]),
        ("owner = False", [1, 4]), ("owner is not true", [1, 4]), ("owner is missing", [2]),
        ("since < 2020-01-02", [0]), ("since = 2020-01-02", [4]),
        ("since > 2020-01-02 and since is known", [1, 3]), ("since is missing", [2]),
    ],
)  # fmt: skip
def test_a_rule_holds_for_the_rows_it_says(text: str, rows: list[int]) -> None:
    assert np.flatnonzero(rule_of(text, KINDS).mask(FRAME)).tolist() == rows


@pytest.mark.parametrize(
    "condition",
    [
        Condition("income", "number", high=2300.0),
        Condition("income", "number", low=2.0, high=12_000.0),
        Condition("income", "number", low=2.0, missing=True),
        Condition("income", "number", known=False, missing=True),
        Condition("income", "number"),
        Condition("region", "category", values=("north",)),
        Condition("region", "category", values=("north", MISSING, "south"), negated=True),
        Condition("since", "date", low=18262.5),
        Condition("since", "date", high=18263.0),
        Condition("owner", "boolean", low=0.5),
        Condition("owner", "boolean", high=0.5),
    ],
)
def test_what_the_audit_prints_is_read_back(condition: Condition) -> None:
    rule = Rule((condition, Condition("net income", "number", low=2.0)))
    assert rule_of(str(rule), KINDS) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("incme < 3", "unknown column 'incme': did you mean 'income'?"),
        ("north", "a rule is like 'income < 2300 and region = north'; got 'north'"),
        ("", "a rule is like"),
        ("income < many", "'income' holds a number; got 'many'. Write it like 2300."),
        ("since < 2020", "'since' holds a date; got '2020'. Write it like 2024-05-31."),
        ("region < north", "'region' holds categories, which have no order"),
        ("owner = perhaps", "'owner' is true or false; got 'owner = perhaps'"),
        ("income != 3", "Use <, <=, =, >= or >."),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        rule_of(text, KINDS)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("note has the word 'late'", [0, 1]), ("note has the word LATE", [0, 1]),
        ("note lacks the word 'late'", [2, 3]),
        ("note is missing", [3]), ("note is known", [0, 1, 2]), ("note is not missing", [0, 1, 2]),
        ("note has the word 'late' and income < 2", [0]),
    ],
)  # fmt: skip
def test_rules_name_words_of_a_text(text: str, rows: list[int]) -> None:
    kinds, frame = {"note": "text", "income": "number"}, FRAME[:4].select("income")
    frame = frame.with_columns(note=pl.Series(["Too late!", "late, LATE", "belated", None]))
    rule = rule_of(text, kinds)
    assert np.flatnonzero(rule.mask(frame)).tolist() == rows
    assert rule_of(str(rule), kinds) == rule == Rule.from_dict(rule.as_dict())


def test_other_rules_on_a_text_are_refused() -> None:
    for text in ("note < 5", "note is late", "note = late"):
        with pytest.raises(InputError, match="'note' holds text; got .* has the word 'refund'"):
            rule_of(text, {"note": "text"})

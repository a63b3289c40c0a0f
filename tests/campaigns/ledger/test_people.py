"""One rule for names, on the command line and on the page."""

import re

import pytest
from pydantic import ValidationError

from unskew.campaigns.ledger.people import LONGEST_NAME, NAME_PATTERN, NAME_RULE, checked_name
from unskew.errors import InputError
from unskew.web.models import Invitation

GOOD = [
    "a",
    "ada+bob",
    "ada/bob",
    "Ada Lovelace",
    "_x",
    "7",
    "Ægir",
    "李",
    "o'neil@example.org",
    "x" * 100,
    "a😀",
    "Ünal ",
]
BAD = [
    "",
    " ",
    " ada",
    "+x",
    "😀",
    "a\nb",
    "a\tb",
    "a\x85b",
    "a\u2028b",
    "a\u2029b",
    "a\ud800",
    "\u3000a",
    "x" * 101,
    "a\n",
]


@pytest.mark.parametrize("name", GOOD)
def test_a_name_is_good_everywhere(name):
    assert checked_name(name) == name
    assert Invitation(name=name).name == name
    assert re.fullmatch(NAME_PATTERN, name) and len(name) <= LONGEST_NAME


@pytest.mark.parametrize("name", BAD)
def test_a_name_is_refused_everywhere(name):
    with pytest.raises(
        InputError, match="a name begins with a letter, digit or underscore and has 1 to 100 characters"
    ):
        checked_name(name)
    with pytest.raises(ValidationError):
        Invitation(name=name)


def test_a_long_name_is_cut_within_its_quotes():
    with pytest.raises(InputError, match=r"; got 'x{50}\.\.\.'\. Choose another\."):
        checked_name("x" * 101)


def test_the_page_says_the_same_sentence():
    with pytest.raises(ValidationError) as refused:
        Invitation(name="+x")
    (problem,) = refused.value.errors()
    assert str(problem["ctx"]["error"]) == f"{NAME_RULE}; got '+x'. Choose another."


def test_the_schema_shows_the_rule_as_a_pattern_that_all_readers_understand_alike():
    schema = Invitation.model_json_schema()["properties"]["name"]
    assert (schema["minLength"], schema["maxLength"], schema["pattern"]) == (1, 100, f"^{NAME_PATTERN}$")
    assert not re.search(r"\\[wWdDsSpP]|\(\?", schema["pattern"])

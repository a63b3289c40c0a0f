"""Each option of `start` is described once: a new one appears everywhere by its description alone."""

import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from added_options import seen
from campaign_folder import make
from unskew.campaigns import Campaign, Settings
from unskew.campaigns.options import Option, check, plain
from unskew.campaigns.start_options import START
from unskew.errors import InputError

NEW = """
    colour: Annotated[
        str,
        Option(
            "The colour of the first page.",
            default="red",
            choices=("red", "blue"),
            about="The colour.",
            recorded="colour",
            pages=(Page(step="begin", kind="choice", label="Its colour", says={"red": "Red", "blue": "Blue"}),),
        ),
    ]"""

LOOK = """
import contextlib, inspect, io, json, sys
from pathlib import Path
from added_options import add
folder = Path(sys.argv[1])
add("unskew.campaigns.start_options", (sys.argv[2], "\\n    hash: Annotated["))

from campaign_folder import make, write_tables
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL
from unskew.cli import main
from web_house import serving_house

seen = {"signature": str(inspect.signature(Campaign.create)), "docstring": Campaign.create.__doc__}
tables = write_tables(folder)
with make(tables, folder / "python", colour="blue") as campaign:
    seen["record"] = campaign.settings.as_record()["colour"]
    old = campaign.settings.as_record()
    del old["colour"]
    seen["old"] = type(campaign.settings).from_record(old).options["colour"]
with Campaign.open(folder / "python") as campaign:
    seen["opened"] = campaign.settings.options["colour"]
try:
    make(tables, folder / "wrong", colour="green")
except ValueError as error:
    seen["refused"] = str(error)
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    main(["start", "--help"])
    words = ["--log", str(LOG), "--pool", str(POOL), "--label", "repaid", "--propensity", "granted_with"]
    assert main(["start", str(folder / "typed"), *words, "--colour", "blue"]) == 0
seen["help"] = printed.getvalue()
with Campaign.open(folder / "typed") as campaign:
    seen["typed"] = campaign.settings.options["colour"]
(folder / "house").mkdir()
with serving_house(folder / "house") as house, house.signed_in() as client:
    draft = client.post("/api/drafts", json={"name": "others"}).json()["id"]
    seen["page"] = client.get(f"/start/{draft}").text
    seen["schema"] = client.get("/openapi.json").json()["components"]["schemas"]["Beginning"]["properties"]["colour"]
print(json.dumps(seen))
"""


def test_a_new_option_is_its_description_and_nothing_else(tmp_path: Path) -> None:
    result = seen(LOOK, str(tmp_path), NEW)
    assert "colour: str = 'red', hash: bool" in result["signature"]
    assert "colour : str\n            The colour.\n" in result["docstring"]
    assert "--colour <str>" in result["help"] and "The colour of the first page.  [default: red]" in result["help"]
    assert [result[name] for name in ("record", "opened", "typed")] == ["blue"] * 3
    assert result["old"] == "red"
    assert result["refused"] == "colour must be red or blue; got 'green'. Name one of them."
    assert '<label for="colour">Its colour</label>' in result["page"]
    assert '<option value="blue">Blue</option>' in result["page"]
    assert result["schema"]["enum"] == ["red", "blue"] and result["schema"]["default"] == "red"
    assert result["schema"]["description"] == "The colour."


@pytest.mark.parametrize("option", START.values(), ids=list(START))
def test_descriptions_are_whole(option: Option) -> None:
    assert option.help.endswith((".", "...")) and "  " not in option.help
    if not option.required:
        assert check(option, option.default, option.name) == option.default
    if plain(option.type) is int:
        assert option.example is not None, "messages name a value that works"
    for page in option.pages:
        assert page.kind == "own" or page.label
        assert set(page.says) == set(option.choices) or page.kind != "choice"


def test_what_is_recorded_has_a_field_of_the_settings_or_its_own_name() -> None:
    own = {each.name for each in fields(Settings)}
    leaves = [part for option in START.values() for part in (option, *option.parts)]
    assert all(option.recorded in (*own, option.name) for option in leaves if option.recorded)
    assert {option.recorded for option in leaves} > {"budget", "cost_false_positive", "lease_seconds", "given"}


def test_create_shows_every_option_and_takes_no_other(tables, tmp_path):
    shown = inspect.signature(Campaign.create).parameters
    assert list(shown) == ["dir", *START, "now", "progress", "costing"]
    required = {name for name, each in shown.items() if each.default is each.empty}
    assert required == {"dir", "log", "pool", "label"}
    assert shown["budget"].default == 500 and shown["lease"].annotation.__name__ == "timedelta"
    with pytest.raises(TypeError, match=r"unknown option 'buget': did you mean 'budget'\?"):
        make(tables, tmp_path / "campaign", buget=3)
    with pytest.raises(TypeError, match="missing a required argument: 'label'"):
        Campaign.create(tmp_path / "campaign", log=tables / "log.parquet", pool=tables / "pool.parquet")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"budget": 10**10}, "budget must be at most 1,000,000,000; got 10000000000. Pass one, such as 500."),
        ({"seed": -1}, "seed must be at least 0; got -1. Pass one, such as 0."),
        ({"drawn": "much"}, "drawn must be a number; got 'much'. A good first value is 0.5."),
        ({"drawn": float("nan")}, "drawn must be in [0, 1]; got nan. A good first value is 0.5."),
        ({"recall": 1}, "recall must be in (0, 1); got 1. To find nine in ten positive rows, pass 0.9."),
        ({"lease": 30}, "lease must be from a second to a year; got 30. A good first value is half an hour."),
        ({"look": -1}, "look must be a whole number of rows, or 0 for all of them; got -1. Pass one, such as 50000."),
        ({"same_ids": "join"}, "same_ids must be refuse, merge or separate; got 'join'. Name one of them."),
    ],
)
def test_what_is_wrong_is_one_line_with_rule_value_and_remedy(tables, tmp_path, changed, message):
    with pytest.raises(InputError) as refused:
        make(tables, tmp_path / "campaign", **changed)
    assert str(refused.value) == message
    assert not (tmp_path / "campaign").exists()

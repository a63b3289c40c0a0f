"""What may change later is described once: a new thing appears everywhere by its description alone."""

from pathlib import Path

import pytest

from added_options import seen
from unskew.campaigns.ledger.arrangement import ARRANGED, CHANGES, Arrangement
from unskew.campaigns.options import Option

NEW = """
    tone: Annotated[
        str,
        Option(
            "How people are spoken to.",
            at_start="How people are spoken to, from the start.",
            longest=20,
            pages=(
                Page(step="begin", kind="line", label="Tone"),
                Page(step="campaign", kind="line", label="Tone of voice"),
            ),
        ),
    ] = "plain"
"""

LOOK = """
import contextlib, io, json, os, sys
from pathlib import Path
from added_options import add
os.chdir(sys.argv[1])
add("unskew.campaigns.ledger.arrangement", (sys.argv[2], "\\n    def changed(self"))

from campaign_folder import make, write_tables
from unskew.campaigns import Campaign
from unskew.cli import main
from unskew.web.conduct_models import Arranged, Changes
from unskew.web.pages import templates
from unskew.web.start_models import Beginning

seen = {"changes": Changes.model_json_schema(), "arranged": Arranged.model_json_schema()}
seen["beginning"] = Beginning.model_json_schema()
seen["page"] = templates.get_template("campaign.html").render(classes=["no", "yes"])
printed = io.StringIO()
make(write_tables(Path()), Path("bank")).close()
with contextlib.redirect_stdout(printed):
    main(["guide", "--help"])
    assert main(["guide", "bank", "--tone", "warm"]) == 0
    main(["start", "--help"])
seen["help"] = printed.getvalue()
with Campaign.open("bank") as campaign:
    seen["now"] = campaign.arrangement.tone
    seen["events"] = [each.event.changes for each in campaign.ledger.events(campaign.id) if each.kind == "arranged"]
    try:
        campaign.arrange(tone="x" * 21)
    except ValueError as error:
        seen["refused"] = str(error)
print(json.dumps(seen))
"""


def test_a_new_thing_that_may_change_is_its_description_and_nothing_else(tmp_path: Path) -> None:
    shown = seen(LOOK, str(tmp_path), NEW)
    assert shown["changes"]["properties"]["tone"]["anyOf"][0]["maxLength"] == 20
    assert "tone" in shown["arranged"]["required"] and shown["beginning"]["properties"]["tone"]["default"] == "plain"
    assert '<label for="tone">Tone of voice</label>' in shown["page"] and 'maxlength="20"' in shown["page"]
    assert "--tone <str>" in shown["help"] and "from the start." in shown["help"]
    assert shown["now"] == "warm" and shown["events"] == [{"tone": "warm"}]
    assert shown["refused"] == "tone may have at most 20 characters; got 21. Shorten it."


@pytest.mark.parametrize("option", ARRANGED.values(), ids=list(ARRANGED))
def test_descriptions_are_whole(option: Option) -> None:
    assert option.help.endswith(".")
    assert option.default == getattr(Arrangement(), option.name)
    for page in option.pages:
        assert page.kind == "own" or page.label


def test_the_budget_is_described_where_a_campaign_begins() -> None:
    assert list(CHANGES) == ["budget", *ARRANGED]

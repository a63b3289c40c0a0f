"""What is recorded with an answer: a new thing is kept and shown by its description alone."""

from pathlib import Path

from added_options import seen
from unskew.campaigns.ledger.events import Answered, Seconded, Skipped
from unskew.campaigns.ledger.remarks import REMARKS

NEW = """
    seconds: Annotated[float | None, Option("How long it took.", least=0, example=3.5)]
"""

LOOK = """
import json, os, sys
from pathlib import Path
from added_options import add
os.chdir(sys.argv[1])
imports = "from typing import Annotated\\nfrom unskew.campaigns.options import Option\\n"
add("unskew.campaigns.ledger.remarks", (imports, "from typing import"), (sys.argv[2], "\\n\\nREMARKS ="))

from campaign_folder import make, truth, write_tables
from unskew.campaigns import Campaign
from unskew.campaigns.ledger.events import decode
from unskew.campaigns.ledger.snapshot import as_record, from_record
from unskew.web.access import SignedIn
from unskew.web.conduct_models import Wanted
from unskew.web.demand import Demand
from unskew.web.desk import Desk
from unskew.web.models import Answer
from unskew.web.office import Office
from unskew.web.planner import Outlook

class Idle:
    outlook = Outlook()

seen = {"schema": Answer.model_json_schema()["properties"]["seconds"]}
with make(write_tables(Path()), Path("bank")) as campaign:
    first, second, third = campaign.ask(3, by="ann")
    desk = Desk(campaign, Demand())
    answers = [Answer(id=first.id, label=truth(first), seconds=2.5), Answer(id=second.id, label=None, seconds=7)]
    desk.tell("ann", [*answers, Answer(id=third.id, label=truth(third))], 1)
    said = [each.event for each in campaign.ledger.events(campaign.id) if each.kind in ("answered", "skipped")]
    seen["bodies"] = [event.as_body() for event in said]
    seen["kept"] = [decode(event.kind, json.dumps(event.as_body())).remarks for event in said]
    shown = Office(desk, Idle()).answers(Wanted(), SignedIn("ann", "annotator", "")).answers
    seen["shown"] = {each.id: each.remarks for each in shown}
    kept = from_record(json.loads(json.dumps(as_record(campaign.state))))
    assert kept == campaign.state, "a snapshot has them too"
    seen["ids"] = [first.id, second.id, third.id]
print(json.dumps(seen))
"""


def test_a_new_thing_recorded_with_an_answer_is_its_description_and_nothing_else(tmp_path: Path) -> None:
    result = seen(LOOK, str(tmp_path), NEW)
    first, second, third = result["ids"]
    assert result["schema"]["anyOf"][0]["minimum"] == 0
    assert [body.get("seconds") for body in result["bodies"]] == [2.5, 7, None]
    assert "seconds" not in result["bodies"][2], "what was not said is not written"
    assert result["kept"] == [{"seconds": 2.5}, {"seconds": 7}, {}]
    assert result["shown"] == {first: {"seconds": 2.5}, second: {"seconds": 7}, third: {}}


def test_answers_are_written_as_ever() -> None:
    assert REMARKS == {}
    assert Answered("7", "yes").as_body() == {"id": "7", "label": "yes"}
    assert Skipped("8").as_body() == {"id": "8"} and Seconded("7", None).as_body() == {"id": "7", "label": None}
    assert repr(Answered("7", "yes")) == "Answered(id='7', label='yes')"

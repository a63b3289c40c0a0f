"""Events and settings: written as JSON, read back the same, also from versions that knew less or more."""

import json
import re
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from unskew import campaigns
from unskew.campaigns.ledger import events
from unskew.campaigns.ledger.events import KINDS, PlannedRow, decode, estimate_from_record
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.store import Ledger
from unskew.errors import StoreError
from unskew.estimation.population import PopulationEstimate, Side
from unskew.methods.prospect import Prospect

UNTIL = datetime(2026, 1, 1, 12, tzinfo=UTC)
ERROR = PopulationEstimate(0.1, 0.05, 0.2, 0.03, 0.95, "error", 40, 31.0, draw=Side(0.1, 0.05, 0.2))
COST, RECALL = (replace(ERROR, measure=measure) for measure in ("cost", "recall"))
EXAMPLES = [
    events.Started(ERROR),
    events.Started(None),
    events.Started(ERROR, (RECALL,)),
    events.Planned(2, (PlannedRow("7", 6, "drawn", 0.1, {"x": None}), PlannedRow("8", 7, "chosen", 1.0, {})), 40, "m"),
    events.Leased(("7", "8"), UNTIL),
    events.Answered("7", "yes"),
    events.Skipped("8"),
    events.Seconded("7", "no"),
    events.Seconded("7", None),
    events.Corrected("7", None, was="yes"),
    events.Corrected("7", "no", was="yes", reason="read the note"),
    events.Commented("7", "hard to say"),
    events.Undone("7", None, UNTIL),
    events.Closed(2, 40, ERROR),
    events.Closed(3, 60, ERROR, Prospect(50, 0.012, 0.004)),
    events.Closed(4, 80, ERROR, Prospect(50, 0.012, 0.004, "cost"), (COST, RECALL)),
    events.Measured(80, ERROR, Prospect(50, 0.012, 0.004, "cost"), (COST, RECALL)),
    events.Measured(0),
    events.Invited("ann", "annotator", "hash"),
    events.Revoked("ann"),
    events.Paused("ann"),
    events.Resumed("ann"),
    events.Arranged({"budget": 600, "columns": [["x", ""]]}),
    events.Extended(800, "digest", "pool-2.parquet", 4),
    events.Extended(800, "digest", "pool-2.files.json", 4, {"age": "Float64"}),
]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.kind)
def test_an_event_survives_json_and_keys_it_does_not_know(event):
    body = event.as_body()
    assert decode(event.kind, json.dumps(body)) == event
    assert decode(event.kind, json.dumps({**body, "from the future": 1})) == event


def test_every_kind_has_an_example():
    assert {type(event) for event in EXAMPLES} == set(KINDS.values())
    assert all(kind == event.kind and len(kind) <= 16 for kind, event in KINDS.items())


def test_events_that_recorded_the_error_alone():
    prospect = {"labels": 50, "gain": 0.012, "least": 0.004}
    body = {"round": 1, "labels": 40, "error": events.estimate_as_record(ERROR), "prospect": prospect}
    assert decode("closed", json.dumps(body)) == events.Closed(1, 40, ERROR, Prospect(50, 0.012, 0.004))
    assert "others" not in events.Closed(1, 40, ERROR).as_body()


def test_events_of_version_0_1_0():
    row = {"id": "7", "place": 6, "probability": 0.1, "values": {}}
    body = {"round": 1, "rows": [{**row, "rule": "audit"}, {**row, "rule": "chosen"}], "rest": 40, "model": ""}
    found = decode("planned", json.dumps(body))
    assert [row.reason for row in found.rows] == ["drawn", "chosen"]
    assert '"reason": "drawn"' in json.dumps(found.as_body()) and "rule" not in json.dumps(found.as_body())


def test_an_event_of_a_newer_version_is_refused_in_one_line(store):
    class Sung(events.Skipped):
        kind = "sung"

    with Ledger(store) as ledger:
        ledger.create("c", Settings())
        with ledger.writing("c") as write:
            write.append(Sung("7"))
        with pytest.raises(StoreError, match="an event 'sung' that a newer unskew wrote"):
            ledger.events("c")


@pytest.mark.parametrize(
    "body", ["{}", '{"id": "7"}', '{"round": 1, "rows": [{}], "rest": 1}', "[" * 9999, "[]", "7", "{"]
)
def test_an_event_that_lacks_something_is_a_broken_store(body):
    for kind in ("answered", "planned"):
        with pytest.raises(StoreError, match=f"an event '{kind}' in the ledger cannot be read"):
            decode(kind, body)


def test_estimates_are_decoded_tolerantly():
    record = events.estimate_as_record(ERROR)
    assert estimate_from_record({**record, "colour": "red"}) == ERROR
    needless = [each.name for each in fields(PopulationEstimate) if each.default is not MISSING]
    bare = estimate_from_record({name: value for name, value in record.items() if name not in needless})
    assert bare == replace(ERROR, draw=None)
    old = {**record, "estimator": "dr", "interval": "wald"}  # as versions before 0.4.0 wrote it
    assert estimate_from_record(old) == ERROR
    assert estimate_from_record(None) is None


def test_settings_of_other_versions():
    settings = Settings(
        version="9", method="Unskew", budget=60, drawn=0.3, lease_seconds=600.0, seed=4, label="y", propensity="q0",
        id="key", classes=("no", "yes"), kinds={"x": "number"}, types={"x": "Float64"}, log_rows=2, log_sha256="a",
        pool_rows=3, pool_sha256="b",
    )  # fmt: skip
    record = json.loads(json.dumps(settings.as_record()))
    assert set(record) == {each.name for each in fields(Settings)} - {"pool_parts", "options"}  # events say the former
    assert Settings.from_record(record) == settings
    old = {**record, "audit": record["drawn"], "colour": "red"}
    del old["drawn"], old["version"]
    assert Settings.from_record(old).drawn == 0.3 and Settings.from_record(old).version == ""


@pytest.mark.parametrize(
    "odd",
    [{"lease_seconds": {}}, {"lease_seconds": 1e300}, {"lease_seconds": float("nan")}, {"budget": "10"}, {"classes": 7},
     {"classes": [1, 2]}, {"kinds": []}, {"types": {"x": 1}}, {"id": 7}, {"seed": None}, {"drawn": "much"}],
)  # fmt: skip
def test_settings_of_another_type_are_damaged(odd):
    with pytest.raises(ValueError, match="cannot be"):
        Settings.from_record({**Settings(classes=("0", "1")).as_record(), **odd})


def test_only_the_store_knows_the_database():
    """State, events and settings are pure."""
    folder = Path(campaigns.__file__).parent
    imports = re.compile(r"^\s*(from|import) sqlalchemy", re.MULTILINE)
    found = [path.relative_to(folder).as_posix() for path in folder.rglob("*.py") if imports.search(path.read_text())]
    assert sorted(found) == ["ledger/engines.py", "ledger/migrations.py", "ledger/store.py"]

"""The folder of each earlier version that has a format of its own opens, goes on and reports.

`tests/fixtures/make.py` made them, each with the version in its name.
"""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commands import told
from faults.replay import replay
from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import ledger_frame
from unskew.campaigns.report.report import write_report

FIXTURES = Path(__file__).parents[1] / "fixtures"
VERSIONS = sorted(path.stem.removeprefix("campaign-") for path in FIXTURES.glob("campaign-*.json"))
OLD = {"audit": "drawn", "chosen": "chosen", "drawn": "drawn"}


def later() -> datetime:
    """A time at which every lease has ended."""
    return datetime(2027, 1, 1, tzinfo=UTC)


Old = tuple[Campaign, dict[str, Any]]


@pytest.fixture(params=VERSIONS)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Old]:
    """A campaign as that version left it, and what that version reported about it."""
    folder = shutil.copytree(FIXTURES / f"campaign-{request.param}", tmp_path / "bank")
    reported = json.loads((FIXTURES / f"campaign-{request.param}.json").read_text())
    with Campaign.open(folder, now=later) as campaign:
        yield campaign, reported


def test_there_is_a_folder_of_each_format() -> None:
    formats = ["0.2.0", "0.3.0", "0.4.0", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.11.0"]
    assert sorted(VERSIONS) == sorted(formats)


def test_it_opens_as_that_version_left_it(old: Old) -> None:
    campaign, reported = old
    state, status = campaign.refresh(), campaign.status()
    assert {name: getattr(status, name) for name in reported["status"]} == reported["status"]
    done = {row.id: row for row in state.rows.values() if row.done}
    assert {id: row.label for id, row in done.items()} == reported["labels"]
    assert {id: row.by for id, row in done.items()} == reported["by"]
    asked = {row.id: [row.reason, row.probability] for row in state.rows.values()}
    assert asked == {id: [OLD[why], chance] for id, (why, chance) in reported["reasons"].items()}
    assert sorted(state.people) == reported["people"]
    texts = {id: [each.text for each in comments] for id, comments in state.comments.items()}
    assert texts == reported["comments"]
    history = [[n, [each.value, each.low, each.high]] for n, each in campaign.history()]
    assert history == reported["history"]
    events = campaign.ledger.events(campaign.id)
    assert [[each.kind, each.actor] for each in events] == reported["events"]


def test_it_goes_on_and_reports(old: Old, tmp_path: Path) -> None:
    campaign, reported = old
    spent = reported["status"]["spent"]
    before = campaign.ledger.events(campaign.id)
    rows = campaign.ask(8, by="eve")
    assert len(rows) == 8
    second = sum(campaign.state.rows[row.id].done for row in rows)
    classes = campaign.settings.classes
    campaign.tell({row.id: classes[k % len(classes)] for k, row in enumerate(rows)}, by="eve")
    campaign.close_due()
    assert campaign.status().spent == spent + 8 - second
    estimate = campaign.error()
    assert 0.0 <= estimate.low <= estimate.value <= estimate.high <= 1.0
    page = write_report(campaign, tmp_path / "report.html")
    assert page["headline"] in (tmp_path / "report.html").read_text().replace("\u00a0", " ")
    after = campaign.ledger.events(campaign.id)
    assert after[: len(before)] == before and len(after) > len(before)
    assert set(ledger_frame(after)["kind"]) == {each.kind for each in after}
    replayed = replay(campaign.folder.path)
    assert replayed.faults == []
    labels = {row.id: row.label for row in campaign.state.rows.values() if row.done}
    assert replayed.labels == labels


def test_a_command_reads_it(old: Old, capsys: pytest.CaptureFixture[str]) -> None:
    campaign, reported = old
    status = told(capsys, "status", str(campaign.folder.path))
    assert status["spent"] == reported["status"]["spent"]

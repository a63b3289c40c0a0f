"""Campaign folders made by version 0.1.0 still open, and what their ledgers say is as it was.

The folders in tests/fixtures were made by that version, and campaigns-0.1.0.json is what it said about them: as they
are, and after the next rows were asked for and answered. Since 0.4.0, rows are drawn and errors estimated in another
way, and since 0.5.0 the model has a second member, so the next rows and new estimates differ; those in the ledger do
not. The model of version 0.1.0 is the first member.
"""

import json
import shutil
from pathlib import Path

import pytest

from campaign_folder import Clock, told
from unskew.campaigns import Campaign, RowStatus
from unskew.campaigns.report.report import write_report

FIXTURES = Path(__file__).parents[1] / "fixtures"
SAID = json.loads((FIXTURES / "campaigns-0.1.0.json").read_text())
REASONS = {"chosen": "chosen", "audit": "drawn"}
"""What version 0.1.0 called why a row is asked for, and what it is called now."""


@pytest.fixture(params=list(SAID))
def old(request, tmp_path):
    """A campaign as version 0.1.0 left it, and what that version said about it."""
    folder = shutil.copytree(FIXTURES / f"campaign-0.1.0-{request.param}", tmp_path / "bank")
    with Campaign.open(folder, now=Clock()) as campaign:
        yield campaign, SAID[request.param]


def assert_estimate(found, said):
    assert said is not None and found is not None
    for name, value in said.items():
        if name in ("estimator", "interval"):  # there is one of each now
            continue
        now = getattr(found, name)
        assert now == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value), name


def assert_same(campaign, said):
    """Status, history, estimates and people are those that version 0.1.0 gave."""
    status = campaign.status()
    wanted = dict(said["status"])
    assert_estimate(status.error, wanted.pop("error"))
    people = wanted.pop("annotators")
    assert {name: getattr(status, name) for name in wanted} == wanted
    assert {
        name: {key: getattr(work, key) for key in people[name]} for name, work in status.annotators.items()
    } == people
    assert [labels for labels, _ in campaign.history()] == [labels for labels, _ in said["history"]]
    for (_, found), (_, estimate) in zip(campaign.history(), said["history"], strict=True):
        assert_estimate(found, estimate)
    for measure in ("error", "recall"):  # the old rounds, drawn evenly, still count as what they were
        now = campaign.error(measure)
        assert now.low <= said[measure]["value"] <= now.high, measure
    assert sorted(campaign.state.people) == said["people"]


def test_it_opens_as_it_was(old):
    campaign, said = old
    assert_same(campaign, said["before"])
    assert campaign.settings.drawn == 0.5
    assert {row.reason for row in campaign.state.rows.values()} == {"chosen", "drawn"}
    assert [[one.kind, one.actor] for one in campaign.ledger.events(campaign.id)] == said["before"]["events"]
    method = campaign.method()
    first = method.members()[0].alone.model_.predict_proba(method.pool_.X[:10])[:, 1]
    assert first == pytest.approx(said["before"]["predicted"], abs=1e-6)


def test_it_goes_on_to_the_next_round_takes_its_labels_and_closes(old, tmp_path):
    campaign, said = old
    before = set(campaign.state.rows)
    rows = campaign.ask(15, by="ann")
    wanted = [(REASONS[rule], round) for _, rule, _, round in said["asked"]]
    assert [(row.reason, row.round) for row in rows] == wanted
    assert len(before & {row.id for row in rows}) == len(before & {id for id, *_ in said["asked"]})
    spreads = [batch.spread for batch in campaign.state.batches]
    assert spreads[:-1] == [None] * (len(spreads) - 1) and spreads[-1] > 0.0
    assert campaign.tell(told(rows), by="ann").answered == len(rows)
    campaign.close_due()
    assert campaign.status().spent == said["after"]["status"]["spent"]
    found = campaign.error()
    assert 0.0 <= found.low <= found.value <= found.high < 0.5
    assert all(row.status in (RowStatus.ANSWERED, RowStatus.SKIPPED) for row in campaign.state.rows.values())
    headline = write_report(campaign, tmp_path / "report.html")["headline"]
    assert headline.startswith("The model is wrong on ")
    assert headline in (tmp_path / "report.html").read_text().replace("\u00a0", " ")

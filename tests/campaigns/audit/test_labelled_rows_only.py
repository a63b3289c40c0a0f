"""A log of labelled rows only: what the audit, a campaign and their pages say of it."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from commands import fill, out, refused, told
from unskew.campaigns import Campaign, example
from unskew.campaigns.audit.filling import BlindSpots
from unskew.campaigns.audit.log_audit import LogAudit, audit_log
from unskew.campaigns.report import audit_page
from unskew.cli import main

LOG, POOL = pl.read_csv(example.LOG), pl.read_csv(example.POOL)
GRANTED = LOG.filter(pl.col("repaid").is_not_null()).drop("granted_with")
SPOT = r"employment is not permanent and income < 5\d"


@pytest.fixture(scope="module")
def compared() -> LogAudit:
    return audit_log(GRANTED, "repaid", id="application", pool=POOL)


def test_alone_it_says_nothing_about_everyone() -> None:
    found = audit_log(GRANTED, "repaid", id="application")
    assert found.only_labelled and found.apparent.value < 0.1
    assert found.naive is found.weighted is found.diagnostics is found.blind_spots is None
    (finding,) = found.findings
    assert "shows only those who were picked" in finding.says and "--pool" in finding.remedy
    page = audit_page.html(found, "granted.csv")
    assert finding.says in page and finding.remedy in page and "Give the rows without a label" in page
    assert page.count("not known") == 2 and page.count("Not known") == 2 and "None:" not in page
    assert json.loads(json.dumps(found.as_dict()))["error"]["naive_on_everyone"] is None


def test_a_few_rows_without_a_label_change_nothing() -> None:
    few = GRANTED.with_columns(repaid=pl.when(pl.int_range(pl.len()) > 4).then("repaid"))
    found = audit_log(few, "repaid", id="application")
    assert found.only_labelled and found.blind_spots is None and "(667 of 672)" in found.warnings[0]


def test_a_pool_shows_where_labels_are_missing(compared: LogAudit) -> None:
    assert compared.only_labelled and compared.pool_rows == POOL.height and compared.naive is None
    assert compared.blind_spots is not None and compared.relative is not None
    (spot,) = compared.blind_spots
    assert re.fullmatch(SPOT, str(spot.rule))
    assert spot.rows == spot.rule.mask(POOL).sum() and spot.labels == spot.rule.mask(GRANTED).sum()
    assert spot.population_share == spot.rows / POOL.height > 0.5 and spot.label_share < 0.05
    assert compared.relative.below_0_05 > 0.3 and compared.relative.effective_labels < compared.labels
    page = audit_page.html(compared, "granted.csv")
    assert "up to a common factor" in page and "rows of the pool" in page and page.count('class="bar ') == 2


def test_a_column_that_only_the_pool_varies_is_a_blind_spot() -> None:
    permanent = GRANTED.filter(pl.col("employment") == "permanent")
    found = audit_log(permanent, "repaid", id="application", pool=POOL)
    assert any("no label at all where employment is not permanent" in said for said in found.warnings)


def test_recorded_propensities_of_picked_rows_are_not_called_complete() -> None:
    found = audit_log(LOG.filter(pl.col("repaid").is_not_null()), "repaid", "granted_with", "application")
    assert not found.only_labelled and found.blind_spots is None
    assert any("missing from the file" in said for said in found.warnings)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    GRANTED.write_csv("granted.csv")
    POOL.write_csv("applicants.csv")
    of = ["granted.csv", "--label", "repaid", "--id", "application"]
    said = out(capsys, "audit", *of)
    assert "Blind spots: not known" in said and "Propensities: not known" in said and said.count("% interval") == 1
    said = out(capsys, "audit", *of, "--pool", "applicants.csv")
    assert "employment is not permanent" in said and "relative to the likeliest" in said
    assert "--pool applicants.csv" in said.splitlines()[-1]
    for columns, why in ((LOG, "has its propensities in"), (LOG.drop("granted_with"), "has rows without a label")):
        columns.write_csv("log.csv")
        given = ["--propensity", "granted_with"] if "granted_with" in columns.columns else []
        asked = ["log.csv", "--label", "repaid", "--id", "application", *given, "--pool", "applicants.csv"]
        assert f"{why}" in refused(capsys, "audit", *asked)


def test_a_campaign_begins_without_an_estimate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    GRANTED.write_csv("granted.csv")
    options = ["--log", "granted.csv", "--pool", str(example.POOL), "--label", "repaid", "--id", "application"]
    said = out(capsys, "start", "bank", *options, "--drawn", "0.5", "--budget", "40")
    assert "estimated up to a common factor" in said and "error       not known yet" in said
    assert told(capsys, "status", "bank")["error"] is None
    out(capsys, "report", "bank")
    page = Path("bank/report.html").read_text()
    assert "The log shows only those who were picked." in page and "mean of z / q0" not in page
    with Campaign.open(Path("bank")) as campaign:
        (spot,) = BlindSpots(campaign.log_frame, campaign.pool_frame, campaign.settings).filled([])
        method = campaign.method()
        q0 = method.q0_at(*(lambda rows: (rows, method.pool_.features(rows)))(POOL["income"].arg_sort().to_numpy()))
    assert re.fullmatch(SPOT, spot.rule) and spot.population_share > 0.5 > 10 * spot.share_before
    assert q0[:500].mean() < 0.3 * q0[-500:].mean()
    assert main(["ask", "bank", "-n", "20", "--out", "rows.csv"]) == 0
    fill(Path("rows.csv"))
    assert main(["tell", "bank", "rows.csv"]) == 0
    assert told(capsys, "status", "bank")["error"] is not None

"""A campaign whose pool has labels already, and one with several logs."""

import numpy as np
import polars as pl
import pytest

from campaign_folder import make, told, truth
from unskew.campaigns import Campaign
from unskew.campaigns.report.report import gather, render
from unskew.cli import main


def with_labels(tables):
    """The pool, with labels of those who paid alone: they say nothing about the others."""
    pool = pl.read_parquet(tables / "pool.parquet")
    known = (pl.col("x0") > 0.2) & (pl.col("loan") % 3 == 0)
    return pool.with_columns(paid=pl.when(known).then(1).otherwise(None))


@pytest.fixture(scope="module")
def started(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("known") / "campaign"
    make(tables, folder, pool=with_labels(tables)).close()
    return folder


def test_known_labels_are_never_asked_for_and_cost_nothing(tables, started):
    known = set(with_labels(tables).drop_nulls("paid")["loan"].cast(pl.String))
    with Campaign.open(started) as campaign:
        assert campaign.settings.pool_labelled == campaign.status().known == len(known)
        first = campaign.method()
        assert first.labels_ == 0 and len(first.state_.y) == campaign.settings.log_labelled + len(known)
        rows = campaign.ask(40, by="ann")
        assert not known & {row.id for row in rows}
        assert sum(row.reason == "drawn" for row in rows) == 20  # half of those bought
        campaign.tell(told(rows), by="ann")
        assert campaign.status().spent == 40 and campaign.status().left == 20
        design = campaign.everyone().design
        assert design.rounds[0].before and len(design.rounds[0].chosen) == len(known)
        assert design.rest[1] == 400 - len(known) - 20
        assert int(design.labelled[design.m :].sum()) == len(known) + 40
        found = gather(campaign)
        assert found["log"]["revealed"] == campaign.settings.log_labelled
        assert f"the pool: {len(known)} of 400 rows labelled before" in render(found)
        assert campaign.measuring().ahead(20).left == 20
        everything = campaign.ask(400, by="ann")
        assert len(everything) == 20 and not known & {row.id for row in everything}


def test_the_answer_counts_each_known_row_once(started):
    """However skewed the known labels are, the rows that are drawn stand for the rows without a label."""
    with Campaign.open(started) as campaign:
        everyone = campaign.everyone()
        design = everyone.design
        weights = design.pool_weights(0.25) * design.n
        assert np.allclose(weights[design.rounds[0].chosen], 1.0)


def test_several_logs_start_a_campaign(tables, tmp_path, capsys):
    log = pl.read_parquet(tables / "log.parquet")
    log[:100].write_csv(tmp_path / "a.csv")
    log[100:].write_csv(tmp_path / "b.csv")
    logs = [word for name in ("a.csv", "b.csv") for word in ("--log", str(tmp_path / name))]
    columns = ["--label", "paid", "--propensity", "q0", "--id", "loan"]
    assert main(["start", str(tmp_path / "two"), *logs, "--pool", str(tables / "pool.parquet"), *columns]) == 0
    said = capsys.readouterr().out
    assert "a.csv: " in said and "of 100 rows labelled, propensities given in q0" in said
    assert "propensity  given, in q0" in said
    with Campaign.open(tmp_path / "two") as campaign, make(tables, tmp_path / "one") as one:
        assert "log" not in campaign.settings.kinds and campaign.settings.policy == "log"
        assert (campaign.method().log_.q0 == one.method().log_.q0).all()
        assert campaign.error().value == pytest.approx(one.error().value)
    assert main(["status", str(tmp_path / "two")]) == 0
    assert "            a.csv: " in capsys.readouterr().out


def test_propensities_are_estimated_within_each_officer(tables, tmp_path):
    rng = np.random.default_rng(0)
    log = pl.concat([pl.read_parquet(tables / "log.parquet")] * 3).drop("q0")
    log = log.with_columns(x0=log["x0"] + rng.normal(0, 0.01, log.height))
    officer = np.where(rng.random(log.height) < 0.5, "ann", "bo")
    hidden = pl.Series((officer == "bo") & (np.arange(log.height) % 2 == 1))
    log = log.with_columns(officer=pl.Series(officer), paid=log["paid"].set(hidden, None))
    with make(tables, tmp_path / "c", log=log, propensity=None, policy="officer") as campaign:
        data = campaign.method().log_
        assert data.q0_estimated and "officer" not in campaign.settings.kinds
        rates = [data.z[officer == name].mean() for name in ("ann", "bo")]
        means = [data.q0[officer == name].mean() for name in ("ann", "bo")]
        assert rates[0] > 1.5 * rates[1] and means == pytest.approx(rates, abs=0.04)
        assert "officer" not in campaign.ask(4, by="ann")[0].values


def test_an_audit_of_several_logs(tables, tmp_path, capsys):
    log = pl.read_parquet(tables / "log.parquet")
    log[:100].write_csv(tmp_path / "a.csv")
    log[100:].with_columns(pl.col("paid").cast(pl.String).fill_null("NA")).write_csv(tmp_path / "b.csv")
    words = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--label", "paid", "--propensity", "q0"]
    assert main(["audit", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a.csv, b.csv: 200 rows" in said and "labels read as missing: 'NA'" in said
    assert f"--log {tmp_path / 'a.csv'} --log {tmp_path / 'b.csv'}" in said.replace("' '", " ")


def test_a_merged_table_asks_only_for_rows_without_a_label(tables, tmp_path):
    rows = pl.read_parquet(tables / "log.parquet").with_columns(loan=pl.int_range(2000, 2200))
    more = with_labels(tables).with_columns(q0=0.5)
    table = pl.concat([rows, more.select(rows.columns)], how="vertical_relaxed")
    with make(tables, tmp_path / "c", log=table, pool=table, same_ids="merge") as campaign:
        assert campaign.settings.log_rows + campaign.settings.pool_rows == table.height
        labelled = set(table.drop_nulls("paid")["loan"].cast(pl.String))
        asked = campaign.ask(30, by="ann")
        assert not labelled & {row.id for row in asked}
        campaign.tell({row.id: truth(row) for row in asked}, by="ann")
        assert campaign.error().labels > 30

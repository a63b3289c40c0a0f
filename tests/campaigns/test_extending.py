"""A campaign whose pool gets new rows: asked for, measured, told; and what is refused."""

import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from campaign_folder import make, replayed, table, told
from unskew.campaigns import Campaign, extending
from unskew.campaigns.ledger.events import Extended, decode
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.report.report import gather, render
from unskew.errors import InputError, NoRandomLabel, StoreError
from unskew.web.overview import _followed


def more(first=5000, rows=120, seed=7, shift=0.0):
    """New rows of the pool, with ids that nobody has."""
    found = table(rows, np.random.default_rng(seed)).with_columns(pl.col("x0") + shift)
    return found.with_columns(pl.int_range(first, first + rows).alias("loan"))


def kinds(campaign):
    return [one.kind for one in campaign.ledger.events(campaign.id)]


def answer(campaign, n=8, rounds=1):
    for _ in range(rounds):
        campaign.tell(told(campaign.ask(n, by="ann")), by="ann")
        campaign.close_due()


def test_between_rounds(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        answer(campaign, rounds=2)
        old, name = campaign.error(), campaign.digest()
        assert campaign.status().error == old and campaign.status().pool == "400 rows"
        assert campaign.extend(more(), by="ann") == 120
        assert campaign.settings.pool_rows == campaign.pool_frame.height == 520
        assert campaign.digest() != name
        status = campaign.status()
        assert status.pool == "400 rows, then 120 more after round 2" and status.pool_rows == 520
        assert status.error is None, "the last estimate is about the old pool"
        assert status.told == "not known yet: the pool was extended since it was estimated"
        by_log = campaign.error()
        assert by_log.log_share == 1.0 and by_log.rests_on == "the log, which may not speak for rows that came later"
        assert campaign.close_due() == 0 and campaign.close_due() == 0
        assert kinds(campaign).count("measured") == 1 and replayed(campaign) == campaign.state
        status = campaign.status()
        assert status.error == by_log and status.spent == 16
        assert "rests on the log alone" in " ".join(status.beside), "with its caution"
        facts = gather(campaign)
        assert facts["error"] == by_log and facts["caution"] and facts["now"]["value"] in facts["headline"]
        assert [point.grown for point in facts["points"]] == [0, 0, 1], "points before are about the old pool"
        assert campaign.state.rows_then(8, 400) == 400 and campaign.state.rows_then(16, 400) == 520
        answer(campaign, 40)
        found = campaign.error()
        assert campaign.status().error == found and found.extended and found.log_share == 0.0
        assert found.low <= found.value <= found.high < 1.0 and found.log is not None
        assert "may not speak for the rows that came to the pool later" in " ".join(campaign.status().beside)
        rows = campaign.state.rows.values()
        assert any(row.place >= 400 for row in rows), "new rows are asked for too"
        ids = campaign.pool_frame["loan"].to_list()
        assert all(ids[row.place] == row.id for row in rows)
        assert replayed(campaign).parts == campaign.state.parts
        parts = campaign.everyone().design.strata.parts
        assert [tuple(part) for part in parts] == [(400, 0), (120, 2)]
    with Campaign.open(folder, now=clock) as again:
        assert again.settings.pool_rows == 520 and again.error() == found


def test_before_any_round_and_twice_without_ids(tables, tmp_path):
    pool = pl.read_parquet(tables / "pool.parquet").drop("loan")
    with make(tables, tmp_path / "bare", pool=pool, id=None, drawn=1.0, budget=300) as campaign:
        campaign.extend(more(rows=50).drop("loan"))
        answer(campaign, 20)
        campaign.extend(more(rows=30, seed=8).drop("loan"))
        answer(campaign, 30)
        assert campaign.status().pool == "400 rows, then 50 more before round 1, then 30 more after round 1"
        assert all(row.id == f"row-{row.place + 1}" for row in campaign.state.rows.values())
        assert 0.0 <= campaign.error().value <= 0.5
        assert sorted(path.name for path in (tmp_path / "bare").glob("pool*")) == [
            "pool-2.parquet", "pool-3.parquet", "pool.parquet",
        ]  # fmt: skip
        whole = campaign.pool_frame
        assert campaign.why("row-480").id == "row-480" and campaign.predict(whole).height == 480
        answer(campaign, 300)
        assert campaign.room(campaign.state) == 0


def test_every_row_of_old_and_new_can_be_asked_for(tables, tmp_path):
    """A complete pool: every label counts the same."""
    pool = pl.read_parquet(tables / "pool.parquet")[:30]
    with make(tables, tmp_path / "small", pool=pool, budget=100) as campaign:
        answer(campaign, 30)
        assert campaign.room(campaign.state) == 0
        campaign.extend(more(rows=12))
        assert campaign.room(campaign.state) == 12
        answer(campaign, 20)
        assert campaign.room(campaign.state) == 0 and campaign.status().spent == 42
        assert campaign.everyone().design.complete
        assert campaign.error().log_share == 0.0


def test_without_a_log_to_fall_back_on_it_is_said_that_nothing_is_known(tables, tmp_path):
    log = pl.read_parquet(tables / "log.parquet").filter(pl.col("paid").is_not_null()).drop("q0")
    with make(tables, tmp_path / "labelled", log=log, propensity=None) as campaign:
        answer(campaign, 20)
        assert campaign.error().log_share == 0.0
        campaign.extend(more())
        with pytest.raises(
            NoRandomLabel, match="none was drawn since the pool was extended, so nothing is known of 120"
        ):
            campaign.error()
        page = render(gather(campaign))
        assert "no label was drawn at random since the pool was extended" in page
        assert "400 rows, then 120 more after round 1" in page
        answer(campaign, 20)
        assert campaign.error().extended


def test_rows_planned_before_and_answered_after_measure_the_old_rows_only(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        rows = campaign.ask(10, by="ann")
        campaign.extend(more())
        campaign.tell(told(rows), by="ann")
        campaign.close_due()
        design = campaign.everyone().design
        assert design.draws > 0 and not design.measures_pool and design.unmeasured == 120
        assert campaign.error().log_share == 1.0
        answer(campaign, 20)
        assert campaign.everyone().design.measures_pool and campaign.error().log_share == 0.0


def test_before_any_round_is_closed(folder, clock):
    """No round can carry the new estimate, so it is an event of its own, about the rows that are there now."""
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.status().error == campaign.error()
        campaign.extend(more())
        campaign.close_due()
        assert campaign.status().error == campaign.error() == campaign.history()[0][1]
        facts = gather(campaign)
        assert facts["before"] is None, "the first model was judged on the first rows"
        assert "not kept: the pool was extended before the first label" in render(facts)
        rows = campaign.ask(10, by="ann")
        campaign.answer(rows[0].id, 1, by="ann")
        campaign.extend(more(first=9000))
        campaign.close_due()
        assert campaign.status().error == campaign.error() and list(campaign.state.estimates) == [0, 1]


def test_an_estimate_for_fewer_rows_is_never_the_latest(tables, tmp_path):
    """Nothing can be estimated for the larger pool: status, report and page say that, without the old number."""
    log = pl.read_parquet(tables / "log.parquet").filter(pl.col("paid").is_not_null()).drop("q0")
    with make(tables, tmp_path / "labelled", log=log, propensity=None) as campaign:
        answer(campaign, 20)
        old = campaign.status().error
        campaign.extend(more())
        assert campaign.close_due() == 0 and kinds(campaign)[-1] == "measured"
        status = campaign.status()
        assert status.told == "not known yet: no label was drawn at random since the pool was extended"
        assert status.estimates == campaign.state.latest == {} and campaign.history() == [(20, old)]
        seen = _followed(campaign.state, status)
        assert (seen.rows, seen.told, seen.rests_on, seen.alone) == (520, status.told, None, False)
        assert [(point.labels, point.rows) for point in seen.points] == [(20, 400)]
        assert gather(campaign)["now"] is None
        answer(campaign, 20)
        seen = _followed(campaign.state, campaign.status())
        assert [(point.labels, point.rows) for point in seen.points] == [(20, 400), (40, 520)]


def test_another_process_and_another_object_notice_it(folder, clock):
    with Campaign.open(folder, now=clock) as campaign, Campaign.open(folder, now=clock) as other:
        answer(campaign)
        assert other.settings.pool_rows == 400 and other.pool_frame.height == 400
        script = (
            "import sys, polars as pl\nfrom unskew.campaigns import Campaign\n"
            "with Campaign.open(sys.argv[1]) as campaign:\n    print(campaign.extend(sys.argv[2]))\n"
        )
        more().write_csv(folder.parent / "more.csv")
        command = [sys.executable, "-c", script, str(folder), str(folder.parent / "more.csv")]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "120\n"
        for each in (other, campaign):
            each.refresh()
            assert each.settings.pool_rows == 520 and each.pool_frame.height == 520
        assert other.digest() == campaign.digest()


def test_a_round_that_was_planned_for_the_old_pool_does_not_count(folder, clock, monkeypatch):
    """Somebody extends the pool while a round is chosen: recorded, it would seem to have drawn from the new rows."""
    with Campaign.open(folder, now=clock) as campaign, Campaign.open(folder, now=clock) as other:
        draft, once = campaign._rounds._draft, []

        def slowly(k):
            found = draft(k)
            if not once:
                once.append(other.extend(more()))
            return found

        monkeypatch.setattr(campaign._rounds, "_draft", slowly)
        assert not campaign.plan(10)
        assert campaign.state.batches == []
        assert len(campaign.ask(10, by="ann")) == 10
        assert campaign.state.batches[0].rest > 400


def test_two_who_extend_at_once(folder, clock, monkeypatch):
    with Campaign.open(folder, now=clock) as campaign, Campaign.open(folder, now=clock) as other:
        copied = extending._copied

        def slowly(*known):
            found = copied(*known)
            monkeypatch.setattr(extending, "_copied", copied)
            other.extend(more(first=9000, rows=10))
            return found

        monkeypatch.setattr(extending, "_copied", slowly)
        with pytest.raises(InputError, match="somebody else gave the pool new rows meanwhile"):
            campaign.extend(more())
        assert campaign.state.parts[0].rows == 10 and campaign.pool_frame.height == 410


def test_a_kill_between_file_and_event_leaves_nothing_that_counts(folder, clock, monkeypatch):
    with Campaign.open(folder, now=clock) as campaign:
        (folder / "pool-2.parquet").write_bytes(b"half")  # as a kill leaves it
        (folder / ".pool-2.parquet.abc.parquet").write_bytes(b"half")
        assert campaign.pool_frame.height == 400
        campaign.extend(more())
        assert campaign.pool_frame.height == 520 and not list(folder.glob(".pool-2*"))

        def broken(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(extending, "Extended", broken)
        with pytest.raises(KeyboardInterrupt):
            campaign.extend(more(first=7000))
        assert not (folder / "pool-3.parquet").exists() and campaign.state.parts[0].rows == 120


def test_a_damaged_or_missing_part_is_noticed(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        campaign.extend(more())
        assert campaign.check_hashes() == 2
    kept = (folder / "pool-2.parquet").read_bytes()
    (folder / "pool-2.parquet").write_bytes(kept[:-1] + b"?")
    with (
        Campaign.open(folder, now=clock) as campaign,
        pytest.raises(StoreError, match="pool-2.parquet is not the file"),
    ):
        campaign.ask(4, by="ann")
    (folder / "pool-2.parquet").unlink()
    with Campaign.open(folder, now=clock) as campaign, pytest.raises(StoreError, match="pool-2.parquet is missing"):
        campaign.ask(4, by="ann")


def test_numbers_that_are_no_longer_whole(tables, tmp_path):
    """The pool had whole numbers in a column, and the new rows have not: rows of both are shown as they are."""
    whole = [frame.with_columns(pl.int_range(pl.len()).alias("age")) for frame in
             (pl.read_parquet(tables / "log.parquet"), pl.read_parquet(tables / "pool.parquet"))]  # fmt: skip
    with make(tables, tmp_path / "whole", log=whole[0], pool=whole[1], drawn=1.0) as campaign:
        answer(campaign)
        campaign.extend(more().with_columns(pl.lit(0.5).alias("age")))
        assert campaign.settings.types["age"] == "Float64"
        answer(campaign, 40)
        ages = {row.values["age"] for row in campaign.state.rows.values()}
        assert 0.5 in ages and len(ages) > 20
        assert campaign.error().value < 0.5


REFUSED = {
    "columns": (lambda: more().drop("x1"), "the pool must have the log's columns; it lacks 'x1'"),
    "other columns": (lambda: more().with_columns(height=pl.lit(1)), "it has 'height', which the log does not have"),
    "an id of the pool": (lambda: more(first=1390), r"'1390' of column 'loan' and 9 more are in the pool already"),
    "an id twice": (lambda: pl.concat([more(rows=3)] * 2), "ids must differ; '5000' of column 'loan' is in rows 1, 4"),
    "a long id": (
        lambda: more().with_columns(loan=pl.concat_str(pl.col("loan").cast(pl.String), pl.lit("x" * 1000))),
        "an id may have at most 1,000 characters; '5000x",
    ),
    "no id": (lambda: more().with_columns(loan=pl.lit(None, dtype=pl.Int64)), "every row needs an id"),
    "nothing": (lambda: more(rows=0), "row"),
    "labels": (lambda: more().with_columns(paid=pl.lit(1)), "120 of the 120 new rows have a label in 'paid'"),
    "a type": (lambda: more().with_columns(x0=pl.lit("far")), "column 'x0' holds"),
    "propensities": (lambda: more().with_columns(q0=pl.lit(0.5)), "have the column 'q0', unlike the rows of the pool"),
    "no file": (lambda: "nowhere.csv", "nowhere.csv"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(folder, clock, what):
    rows, says = REFUSED[what]
    with Campaign.open(folder, now=clock) as campaign:
        before = sorted(os.listdir(folder))
        with pytest.raises(InputError, match=says):
            campaign.extend(rows())
        assert campaign.state.parts == () and sorted(os.listdir(folder)) == before


def test_labels_that_are_empty_are_none(folder, clock):
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.extend(more().with_columns(paid=pl.lit(None, dtype=pl.Int64))) == 120
        assert "paid" not in campaign.pool_frame.columns


def test_the_same_rows_again_without_ids(tables, tmp_path):
    pool = pl.read_parquet(tables / "pool.parquet").drop("loan")
    with make(tables, tmp_path / "bare", pool=pool, id=None) as campaign:
        campaign.extend(more().drop("loan"))
        for again in (more().drop("loan"), pool):
            with pytest.raises(InputError, match="these rows are in the pool already"):
                campaign.extend(again)


def test_ids_of_the_log(tables, tmp_path):
    log = pl.read_parquet(tables / "log.parquet").with_columns(pl.int_range(5100, 5300).alias("loan"))
    with make(tables, tmp_path / "apart", log=log) as campaign:
        with pytest.raises(InputError, match="20 ids of column 'loan' are in the log too"):
            campaign.extend(more())
        assert campaign.extend(more(rows=100)) == 100
    log = log.with_columns(pl.int_range(1000, 1200).alias("loan"))
    with make(tables, tmp_path / "people", log=log, same_ids="separate") as campaign:
        assert campaign.extend(more(first=1400)) == 120


def test_a_pool_with_labels_of_its_own(tables, tmp_path):
    """They stand for themselves, before the first round; the new rows have none."""
    pool = pl.read_parquet(tables / "pool.parquet")
    pool = pool.with_columns(pl.when(pl.int_range(pl.len()) < 30).then(1).alias("paid"))
    with make(tables, tmp_path / "known", pool=pool) as campaign:
        answer(campaign, 10)
        campaign.extend(more())
        answer(campaign, 30)
        parts = campaign.everyone().design.strata.parts
        assert [tuple(part) for part in parts] == [(400, 0), (120, 2)]  # the labels it had are a round of their own
        assert campaign.status().known == 30 and campaign.room(campaign.state) == min(60 - 40, 490)


def test_more_than_two_classes(tables, tmp_path):
    log = pl.read_parquet(tables / "log.parquet").drop("q0")
    kinds = pl.when(pl.col("x0") > 0.5).then(pl.lit("high")).when(pl.col("x0") < -0.5).then(pl.lit("low"))
    log = log.with_columns(pl.when(pl.col("paid").is_not_null()).then(kinds.otherwise(pl.lit("mid"))).alias("paid"))
    with make(tables, tmp_path / "many", log=log, propensity=None) as campaign:
        for size in (20, 30):
            if size == 30:
                campaign.extend(more())
            for row in campaign.ask(size, by="ann"):
                x = row.values["x0"]
                campaign.answer(row.id, "high" if x > 0.5 else "low" if x < -0.5 else "mid", by="ann")
        found = campaign.error()
        assert found.extended and found.log_share == 0.0 and found.value < 0.6
        assert campaign.everyone().design.strata is not None


def test_a_campaign_that_may_only_be_read(folder, clock, monkeypatch):
    with Campaign.open(folder, now=clock) as campaign:
        monkeypatch.setattr(campaign.ledger, "read_only", True)
        with pytest.raises(StoreError, match="you may only read the ledger"):
            campaign.extend(more())


def test_several_files_are_copied_together(folder, clock, tmp_path):
    (tmp_path / "parts").mkdir()
    for k in range(3):
        more(first=5000 + 40 * k, rows=40, seed=k).write_parquet(tmp_path / "parts" / f"{k}.parquet")
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.extend(tmp_path / "parts") == 120
        assert campaign.pool_frame["loan"][-120:].to_list() == [str(id) for id in range(5000, 5120)]
        answer(campaign, 20)


def test_too_many_rows_to_be_copied(folder, clock, tmp_path, monkeypatch):
    more().write_parquet(tmp_path / "more.parquet")
    monkeypatch.setattr("unskew.campaigns.tables.pool_files.COPIED", 100)
    monkeypatch.setattr(extending, "COPIED", 100)
    with Campaign.open(folder, now=clock) as campaign, pytest.raises(InputError, match="at most 100 rows at a time"):
        campaign.extend(tmp_path / "more.parquet")


def test_a_folder_with_such_a_file_is_not_free(tables, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "pool-2.parquet").write_bytes(b"mine")
    with pytest.raises(InputError, match="pool-2.parquet exists, and a campaign would replace it"):
        make(tables, tmp_path / "new")


def test_settings_and_event_as_records():
    event = Extended(5, "abc", "pool-2.parquet", 3, {"age": "Float64"})
    assert decode("extended", json.dumps(event.as_body())) == event
    base = Settings(pool_rows=10, types={"age": "Int64"})
    assert "pool_parts" not in base.as_record()
    grown = base.with_parts((event,))
    assert (grown.pool_rows, grown.first_rows, grown.types) == (15, 10, {"age": "Float64"})
    assert grown.with_parts((event,)) is grown and grown.as_record()["pool_parts"] == [event.as_body()]
    assert Settings.from_record(base.as_record() | {"pool_parts": [1]}) == base

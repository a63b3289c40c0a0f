"""A campaign whose pool is a folder of Parquet files, which stay where they are."""

import multiprocessing
import os
import shutil
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from many_files import ROWS, table, told, whole_pool, write_log, write_pool
from unskew.campaigns import Campaign
from unskew.campaigns.report.report import write_report
from unskew.errors import InputError, StoreError

server = multiprocessing.get_context("forkserver")
server.set_forkserver_preload(["unskew.campaigns.creating"])


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    write_log(folder / "log.parquet")
    write_pool(folder / "pool", whole_pool())
    return folder


@pytest.fixture(scope="module")
def begun(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("begun") / "bank"
    create(tables, folder).close()
    return folder


@pytest.fixture
def bank(tables, begun, tmp_path):
    """A copy of a campaign that has just begun."""
    return shutil.copytree(begun, tmp_path / "bank")


def create(tables, folder, pool="pool", **changed):
    wanted = {"log": tables / "log.parquet", "pool": tables / pool, "label": "paid", "propensity": "q0", "id": "loan"}
    return Campaign.create(folder, **(wanted | {"budget": 40} | changed))


def labelled(campaign, rounds=2):
    """Ask for rows and answer them. Returns all that was asked, with probabilities."""
    asked = []
    for _ in range(rounds):
        rows = campaign.ask(20, by="ann")
        asked += [(row.id, row.probability, row.reason, row.values) for row in rows]
        campaign.tell(told(rows), by="ann")
        campaign.close_due()
    return asked


def shown(found):
    return found.value, found.low, found.high, found.flagged, found.effective_sample_size


def test_from_start_to_report(bank, tables, tmp_path):
    names = ["campaign.json", "ledger.head", "ledger.sqlite", "log.parquet", "pool.files.json"]
    assert sorted(path.name for path in bank.iterdir()) == names
    with Campaign.open(bank) as campaign:
        assert campaign.settings.pool_rows == ROWS
        asked = labelled(campaign)
        assert len({id for id, *_ in asked}) == 40 and {reason for _, _, reason, _ in asked} == {"chosen", "drawn"}
        pool = whole_pool().rows_by_key("loan", named=True, unique=True)
        assert all(values == pool[id] | {"loan": id} for id, _, _, values in asked)
        found = campaign.error()
        assert found.low <= found.value <= found.high < 0.1
        facts = write_report(campaign, tmp_path / "report.html")
        assert facts["spots"] and all(spot.about for spot in facts["spots"])
        inside = (pl.read_parquet(tables / "pool")["x0"] < 0).sum()  # the log saw few of them
        assert facts["spots"][0].rows == pytest.approx(inside, rel=0.1)
        assert facts["rows_of"][0].startswith("about 3") and facts["rows_of"][0].endswith("000")
        with pytest.raises(InputError, match=r"the 60,000 rows of the pool stay in their files. Use pool_sample"):
            _ = campaign.pool_frame
        assert campaign.pool_sample.height == 50_000
    assert "about 3" in (tmp_path / "report.html").read_text()


def test_the_answer_is_the_same_however_the_rows_are_cut_into_files(bank, tables, tmp_path):
    pool = whole_pool()
    mixed = pool[np.random.default_rng(2).permutation(ROWS)]
    folder = write_pool(tmp_path / "pool", mixed, files=5, groups=1700)
    (folder / "part-0.parquet").rename(folder / "zebra.parquet")
    with Campaign.open(bank) as one, create(tables, tmp_path / "other", folder) as other:
        assert labelled(one) == labelled(other)
        assert shown(one.error()) == shown(other.error())
        assert one.measuring().ahead(10) == other.measuring().ahead(10)
        assert one.predict(pool[:100]).equals(other.predict(pool[:100]))


def test_few_rows_in_files_are_looked_at_as_ever(tables, tmp_path):
    pool = whole_pool(3000)
    one = write_pool(tmp_path / "one", pool, files=3)
    two = write_pool(tmp_path / "two", pool.reverse(), files=4)
    with create(tables, tmp_path / "a", one) as a, create(tables, tmp_path / "b", two) as b:
        assert labelled(a) == labelled(b)
        assert shown(a.error(where="region = north")) == shown(b.error(where="region = north"))
        assert a.pool_frame.sort("loan").equals(b.pool_frame.sort("loan"))
        assert a.pool_frame.height == 3000 and a.pool_frame.equals(a.pool_sample)


def test_rows_beyond_the_sample_are_asked_for_too(bank):
    with Campaign.open(bank) as campaign:
        rows = campaign.ask(40, by="ann")
        sample = set(campaign.pool_sample["loan"])
    assert any(row.id not in sample for row in rows)


def test_look_considers_only_some_rows(tables, begun, tmp_path):
    with create(tables, tmp_path / "some", look=2000) as some, Campaign.open(begun) as every:
        assert some.settings.look == some.method().look == 2000 and every.settings.look == 0
        assert len(some.ask(20, by="ann")) == 20
    with pytest.raises(InputError, match="look must be a whole number of rows, or 0"):
        create(tables, tmp_path / "none", look=-1)


def test_groups_and_other_models_are_judged_on_the_sample(bank):
    with Campaign.open(bank) as campaign:
        labelled(campaign)
        measuring = campaign.measuring()
        assert measuring.share("region = north") == pytest.approx(1 / 3, abs=0.01)
        assert set(measuring.values_of("region")) == {"north", "south", "west"}
        group = campaign.error(where="region = north")
        assert 0.0 <= group.low <= group.value <= group.high <= 0.2
        same, earlier = campaign.error(against=40), campaign.error(against=0)
        assert same.value == 0.0 and earlier.value < 0.01
        assert campaign.error(against=campaign.model()).value == pytest.approx(0.0, abs=0.01)
        with pytest.raises(InputError, match=r"rows that stand for the pool have 'x0 > 3'; an estimate needs 200"):
            campaign.error(where="x0 > 3")


@pytest.mark.parametrize("how", ["vanished", "rewritten", "longer", "cut"])
def test_a_file_that_is_not_what_it_was_is_noticed_before_a_label_is_spent(how, tables, tmp_path):
    pool = shutil.copytree(tables / "pool", tmp_path / "pool")
    file, kept = pool / "part-3.parquet", tmp_path / "kept"
    with create(tables, tmp_path / "bank", pool) as campaign:
        labelled(campaign, 1)
        before = campaign.state.last
        shutil.move(file, kept)
        if how == "rewritten":
            pl.read_parquet(kept).reverse().write_parquet(file, row_group_size=3000)
        elif how == "longer":
            file.write_bytes(kept.read_bytes() + b" ")
        elif how == "cut":
            file.write_bytes(kept.read_bytes()[:1000])
        with pytest.raises(StoreError, match=r"part-3.parquet .*Restore it from a copy"):
            campaign.ask(20, by="ann")
        assert campaign.state.last == before and campaign.status().open == 0
        with Campaign.open(tmp_path / "bank") as again, pytest.raises(StoreError, match=r"part-3.parquet"):
            again.ask(20, by="ann")
        assert campaign.predict(whole_pool()[:10]).height == 10  # what needs no pool goes on
        file.unlink(missing_ok=True)
        shutil.move(kept, file)
        assert len(campaign.ask(20, by="ann")) == 20


def test_a_list_of_files_that_was_changed_is_refused(bank):
    path = bank / "pool.files.json"
    path.write_text(path.read_text().replace("part-0", "part-1"))
    with Campaign.open(bank) as campaign, pytest.raises(StoreError, match=r"pool.files.json is not the file"):
        campaign.ask(1, by="ann")


def test_the_campaign_moves_and_the_pool_stays(bank, tmp_path):
    elsewhere = shutil.move(bank, tmp_path / "elsewhere")
    with Campaign.open(elsewhere) as campaign:
        assert len(labelled(campaign, 1)) == 20


def _asks(folder):
    with Campaign.open(folder) as campaign:
        while True:
            rows = campaign.ask(5, by="ann")
            campaign.tell(told(rows), by="ann")
            campaign.close_due()


def test_killed_and_continued(bank):
    for k in range(4):
        child = server.Process(target=_asks, args=(bank,))
        child.start()
        time.sleep(1.0 + 0.37 * k)
        child.kill()
        child.join()
    with Campaign.open(bank) as campaign:
        assert 0 < campaign.status().spent <= 40
        while rows := campaign.ask(20, by="ann"):
            campaign.tell(told(rows), by="ann")
            campaign.close_due()
        status, rows = campaign.status(), campaign.state.rows.values()
        assert status.spent == 40 and len({row.place for row in rows}) == len(rows) == 40
        assert campaign.error().high < 0.2


def broken(file):
    content = bytearray(file.read_bytes())
    content[40:4000] = bytes(3960)
    file.write_bytes(content)


def changed(**columns):
    return lambda file: pl.read_parquet(file).with_columns(**columns).write_parquet(file)


BAD = {
    "an empty folder": (lambda file: [each.unlink() for each in file.parent.iterdir()], r"the folder \S+ is empty"),
    "not Parquet": (lambda file: file.write_text("loan,x0\n"), r"part-5.parquet is incomplete or not a Parquet file"),
    "a damaged row group": (broken, r"part-5.parquet is incomplete or damaged"),
    "another type": (changed(x0=pl.lit("high")), r"all files must have the same columns; of 'x0', .*part-5"),
    "an id twice": (changed(loan=pl.lit("A000001")), r"ids must differ; 'A000001'.*part-0.parquet.*part-5.parquet"),
    "a long id": (
        lambda file: changed(loan=pl.concat_str("loan", pl.lit("x" * 1000)))(file),
        r"at most 1,000 characters; 'A0\S+'... of column 'loan' in row 1 of \S+part-5.parquet has 1,007",
    ),
    "no id": (changed(loan=pl.lit(None, dtype=pl.String)), r"part-5.parquet"),
    "too large": (changed(x0=pl.lit(1e31)), r"part-5.parquet row 1: column 'x0' holds 1e\+31"),
    "a column more": (changed(extra=pl.lit(1)), r"all files must have the same columns; of 'extra'"),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_bad_pool_makes_no_campaign(name, tables, tmp_path):
    spoil, message = BAD[name]
    pool = write_pool(tmp_path / "pool", whole_pool(4000))
    spoil(pool / "part-5.parquet")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InputError, match=message):
        create(tables, tmp_path / "bank", pool)
    assert sorted(os.listdir(tmp_path)) == before


def test_columns_and_propensities_are_checked_against_the_log(tables, tmp_path):
    pool = whole_pool(400)
    odd = pl.Series("q0", np.where(np.arange(400) == 333, 0.0, 0.5))
    for name, frame, message in (
        ("a", pool.drop("x1"), "it lacks 'x1'"),
        ("b", pool.with_columns(region=pl.int_range(400), x0=pl.lit("one")), r"part-\d.parquet: column 'x0'"),
        ("c", pool.with_columns(odd), r"part-6.parquet: the propensity 'q0' must be in \(0, 1\].*got 0 in row 34"),
    ):
        with pytest.raises(InputError, match=message):
            create(tables, tmp_path / "bank", write_pool(tmp_path / name, frame))
        assert not (tmp_path / "bank").exists()


def test_a_pool_whose_rows_have_no_ids(tables, tmp_path):
    pool = write_pool(tmp_path / "pool", whole_pool().drop("loan"))
    with create(tables, tmp_path / "bank", pool, id=None) as campaign:
        asked = labelled(campaign, 1)
        rows = pl.read_parquet(pool)
        assert all(rows.row(int(id.removeprefix("row-")) - 1, named=True) == values for id, _, _, values in asked)


def test_a_log_of_labelled_rows_only_is_compared_with_the_sample(tables, tmp_path):
    log = pl.read_parquet(tables / "log.parquet").drop_nulls("paid").drop("q0")
    with create(tables, tmp_path / "bank", log=log, propensity=None) as campaign:
        assert campaign.method().log_.only_labelled
        labelled(campaign, 2)
        assert campaign.error().high < 0.3


@pytest.mark.parametrize("rows", [3, 30])
def test_one_large_file_stays_and_a_small_one_is_copied(rows, tables, tmp_path, monkeypatch):
    monkeypatch.setattr("unskew.campaigns.tables.pool_files.COPIED", 10)
    path = Path(tmp_path / "pool.parquet")
    whole_pool(rows).write_parquet(path)
    with create(tables, tmp_path / "bank", path) as campaign:
        assert (campaign.folder.pool.exists(), campaign.folder.pool_files.exists()) == (rows < 10, rows > 10)
        assert len(campaign.ask(3, by="ann")) == 3


def new_files(folder, rows=9000, first=ROWS, files=3):
    return write_pool(
        folder, table(rows, np.random.default_rng(9), first=first).with_columns(pl.col("x0") - 0.5), files
    )


def test_new_files_for_the_pool(bank, tables, tmp_path):
    """They stay where they are, too. Their rows follow those of the pool, and are a stratum of their own."""
    with Campaign.open(bank) as campaign:
        labelled(campaign, 1)
        assert campaign.extend(str(new_files(tmp_path / "new") / "*.parquet")) == 9000
        assert (bank / "pool-2.files.json").exists() and campaign.settings.pool_rows == 69_000
        assert (
            campaign.status().pool == "60,000 rows, then 9,000 more after round 1" and campaign.status().error is None
        )
        labelled(campaign, 1)
        found = campaign.error()
        assert found.extended and found.log_share == 0.0 and found.value < 0.3
        strata = campaign.everyone().design.strata
        assert [tuple(part) for part in strata.parts] == [(60_000, 0), (9000, 1)]
        assert 0.1 < np.mean(strata.of) < 0.16  # the sample that stands for the pool has about as many of them
        assert campaign.pool_sample.height == 50_000
        assert campaign.why("A068999").id == "A068999"
        write_report(campaign, tmp_path / "report.html")
        assert "60,000 rows, then 9,000 more after round 1" in (tmp_path / "report.html").read_text()


def test_new_files_that_are_refused(bank, tables, tmp_path):
    with Campaign.open(bank) as campaign:
        with pytest.raises(
            InputError, match="the pool stays in its files, so new rows must be in files too; got DataF"
        ):
            campaign.extend(whole_pool(10))
        with pytest.raises(InputError, match=r"part-0.parquet is in the pool already"):
            campaign.extend(tables / "pool")
        with pytest.raises(InputError, match="ids must differ; 'A059999' of column 'loan' is in row 7,500 of"):
            campaign.extend(new_files(tmp_path / "again", first=ROWS - 1))
        table(5, np.random.default_rng(1), first=ROWS).write_csv(tmp_path / "more.csv")
        with pytest.raises(InputError, match=r"the pool's files are .parquet files; got .*more.csv"):
            campaign.extend(tmp_path / "more.csv")
        known = table(5, np.random.default_rng(1), first=ROWS).with_columns(paid=pl.lit(1))
        known.write_parquet(tmp_path / "known.parquet")
        with pytest.raises(InputError, match="5 of the 5 new rows have a label in 'paid'"):
            campaign.extend(tmp_path / "known.parquet")
        assert campaign.state.parts == () and not list(bank.glob("pool-2*"))


def test_few_rows_in_files_get_new_ones_in_the_folder(tables, tmp_path):
    """The places of rows that were asked for stay the same."""
    one = write_pool(tmp_path / "one", whole_pool(3000), files=3)
    with create(tables, tmp_path / "a", one) as campaign:
        labelled(campaign, 1)
        places = {row.id: row.place for row in campaign.state.rows.values()}
        assert campaign.extend(new_files(tmp_path / "new", rows=600)) == 600
        assert (tmp_path / "a" / "pool-2.parquet").exists() and campaign.pool_frame.height == 3600
        ids = campaign.pool_frame["loan"].to_list()
        assert all(ids[place] == id for id, place in places.items())
        labelled(campaign, 1)
        assert campaign.error().extended and campaign.error().value < 0.3

"""Long logs: which rows are kept, what is checked, and what a campaign and an audit make of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commands import out, refused
from dask_processes import scheduler, workers
from file_pools import write
from unskew.campaigns import Campaign
from unskew.campaigns.audit.log_audit import audit_log
from unskew.campaigns.report.report import write_report
from unskew.campaigns.tables import log_files
from unskew.campaigns.tables.log_files import Log, read_log
from unskew.errors import InputError
from unskew.kept import Kept

ROWS = 12_000
NAMES = ["--label", "paid", "--propensity", "q0", "--id", "loan"]


def long_log(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """One row in six has a label, most of them with x0 > 0."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    q0 = np.where(x[:, 0] > 0, 0.3, 0.03)
    paid = np.where(x[:, 0] + x[:, 1] > 0.3, "yes", "no")
    return pl.DataFrame(x, schema=["x0", "x1", "x2"]).with_columns(
        loan=pl.Series([f"A{k:06}" for k in range(rows)]),
        region=pl.Series(rng.choice(["north", "south"], rows)),
        q0=pl.Series(q0),
        paid=pl.when(pl.Series(rng.random(rows) < q0)).then(pl.Series(paid)),
    )


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log is long from 2,000 rows on."""
    monkeypatch.setattr(log_files, "LONG", 2000)
    monkeypatch.setattr(log_files, "LABELLED", 600)
    monkeypatch.setattr(log_files, "OTHERS", 900)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "log", long_log(), files=5, group=700)


def ids(log: Log) -> list[str]:
    return log.frame["loan"].to_list()


@pytest.mark.usefixtures("short")
def test_the_same_rows_are_kept_however_the_log_is_given(tmp_path: Path, folder: Path) -> None:
    whole = long_log()
    mixed = write(tmp_path / "mixed", whole.sample(fraction=1.0, shuffle=True, seed=1), 3, 5000, "other-{}.parquet")
    whole.write_parquet(tmp_path / "one.parquet")
    whole.write_csv(tmp_path / "one.csv")
    whole.write_ipc(tmp_path / "one.arrow")
    Path(tmp_path / "text").mkdir()
    for k in range(2):
        whole[k::2].write_csv(tmp_path / "text" / f"part-{k}.csv")
    found = [
        read_log(source, "paid", "q0", "loan")
        for source in (whole, folder, str(folder / "*.parquet"), mixed, tmp_path / "text")
    ]
    found += [read_log(tmp_path / f"one.{kind}", "paid", "q0", "loan") for kind in ("parquet", "csv", "arrow")]
    labelled = whole["paid"].is_not_null().sum()
    for log in found:
        assert log.kept == Kept(labelled, ROWS - labelled) and log.rows == ROWS
        assert log.labels == {name: (whole["paid"] == name).sum() for name in ("no", "yes")}
        assert ids(log) == ids(found[0]) and log.classes == ["no", "yes"]
        assert log.frame["paid"].null_count() == 900 and log.frame.height == 1500
    rows = whole.rows_by_key("loan", named=True, unique=True)
    for log in found:
        kept = log.frame.rows_by_key("loan", named=True, unique=True)
        assert all(rows[id] == row for id, row in kept.items())


@pytest.mark.usefixtures("short")
def test_labels_in_text_files_are_read_as_in_a_short_log(tmp_path: Path) -> None:
    whole = long_log().with_columns(paid=(pl.col("paid") == "yes").cast(pl.Float64))  # 1.0 and 0.0, as pandas writes it
    (tmp_path / "log").mkdir()
    whole[:9000].write_csv(tmp_path / "log" / "a.csv")
    whole[9000:].write_csv(tmp_path / "log" / "b.csv")
    found = [read_log(source, "paid", "q0", "loan") for source in (whole, tmp_path / "log")]
    assert found[0].classes == found[1].classes == ["0", "1"] and found[0].labels == found[1].labels
    assert found[0].frame.sort("loan").equals(found[1].frame.sort("loan"))
    (tmp_path / "log" / "b.csv").write_text((tmp_path / "log" / "b.csv").read_text().replace(",0.3,", ",0x3,", 1))
    with pytest.raises(InputError, match=r"b.csv.*'q0'.*0x3"):
        read_log(tmp_path / "log", "paid", "q0", "loan")


@pytest.mark.usefixtures("short")
def test_rows_are_kept_evenly_from_each_kind() -> None:
    whole = long_log()
    for label in (True, False):
        side = whole.filter(pl.col("paid").is_not_null() == label)
        kept = read_log(whole, "paid", "q0", "loan").frame.filter(pl.col("paid").is_not_null() == label)
        error = side["x1"].std() / kept.height**0.5
        assert abs(kept["x1"].mean() - side["x1"].mean()) < 3.5 * error
        assert abs((kept["x0"] > 0).mean() - (side["x0"] > 0).mean()) < 3.5 * 0.5 / kept.height**0.5


def test_a_short_log_in_many_files_is_kept_whole(folder: Path) -> None:
    found = read_log(folder, "paid", "q0", "loan")
    assert found.kept is None and found.frame.sort("loan").equals(long_log().sort("loan").select(found.frame.columns))


@pytest.mark.usefixtures("short")
def test_places_decide_if_there_are_no_ids(tmp_path: Path) -> None:
    whole = long_log().drop("loan")
    found = [read_log(source, "paid", "q0") for source in (whole, write(tmp_path / "log", whole))]
    assert found[0].frame.equals(found[1].frame) and found[0].frame.height == 1500


@pytest.mark.usefixtures("short")
def test_a_log_in_which_nearly_every_row_has_a_label_is_thinned_evenly() -> None:
    whole = long_log().with_columns(paid=pl.col("paid").fill_null("no"))
    found = read_log(whole.with_columns(paid=pl.when(pl.int_range(pl.len()) >= 120).then("paid")), "paid", None, "loan")
    assert found.kept == Kept(ROWS - 120, 120) and found.frame["paid"].null_count() == 7  # 600 of 11,880 and of 120


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"paid": pl.when(pl.col("loan") == "A007001").then(pl.lit("perhaps")).otherwise("paid")}, "'perhaps'"),
        ({"paid": pl.col("loan")}, "must have at most 100 classes; got .* in .* rows. Merge rare classes"),
        ({"paid": pl.when(pl.col("paid") == "yes").then("paid")}, "must have two classes; all are 'yes'"),
        (
            {"q0": pl.when(pl.col("loan") != "A007001").then("q0").otherwise(1.5)},
            r"part-2.parquet: .*got 1.5 in row 22",
        ),
        ({"x0": pl.when(pl.col("loan") != "A007001").then("x0").otherwise(np.inf)}, None),
    ],
)
def test_every_label_and_propensity_is_checked(tmp_path: Path, changed: dict[str, pl.Expr], told: str | None) -> None:
    folder = write(tmp_path / "log", long_log().with_columns(**changed), files=5)
    if told is None:  # a row that is not kept, in a column that is not looked at
        assert "A007001" not in ids(read_log(folder, "paid", "q0", "loan"))
        return
    with pytest.raises(InputError, match=told):
        read_log(folder, "paid", "q0", "loan")


def test_a_class_too_rare_to_be_kept_is_still_a_class(tmp_path: Path, short: None) -> None:
    whole = long_log().with_columns(paid=pl.when(pl.col("paid").is_not_null()).then(pl.lit("no")))
    rare = whole.with_columns(paid=pl.when(pl.col("loan") == "A007003").then(pl.lit("yes")).otherwise("paid"))
    for source in (rare, write(tmp_path / "log", rare)):
        found = read_log(source, "paid", "q0", "loan")
        assert found.classes == ["no", "yes"] and found.labels["yes"] == 1


def test_columns_that_are_not_there(folder: Path) -> None:
    for label, propensity, told in (("pait", "q0", "label column"), ("paid", "q1", "propensity column")):
        with pytest.raises(InputError, match=f"no {told}|unknown {told}|{told}"):
            read_log(folder, label, propensity, "loan")


@pytest.mark.usefixtures("short")
def test_a_campaign_with_a_long_log(tmp_path: Path, folder: Path) -> None:
    pool = long_log(400, seed=9).drop("paid", "q0").with_columns(loan="P" + pl.col("loan"))
    with Campaign.create(
        tmp_path / "bank", log=folder, pool=pool, label="paid", propensity="q0", id="loan", budget=40
    ) as campaign:
        settings = campaign.settings
        shutil.rmtree(folder)  # what is kept is in the campaign's folder
        assert (settings.log_rows, settings.log_kept) == (ROWS, 1500) and campaign.log_frame.height == 1500
        assert settings.kept == Kept(settings.log_labelled, ROWS - settings.log_labelled)
        log = campaign.method().log_
        assert log.rows == ROWS and f"{ROWS} rows with {settings.log_labelled} labels" in campaign.method().report()
        before = campaign.error()
        assert before.low < before.value < before.high and before.labels == 600 and before.log_share == 1.0
        rows = campaign.ask(40, by="ann")
        answers = {row.id: "yes" if row.values["x0"] + row.values["x1"] > 0.3 else "no" for row in rows}
        campaign.tell(answers, by="ann")
        after = campaign.error()
        assert after.value < 0.1 and 0.0 < after.log_share <= 0.5
        facts = write_report(campaign, tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text()
        assert "1500 of these rows, drawn at random" in page and "600 labels of the log and 40 new ones" in page
        assert facts["log"]["m"] == ROWS and facts["log"]["revealed"] == settings.log_labelled
        spot = facts["spots"][0]
        truth = long_log().filter(pl.col("x0") < 0)
        assert spot.rule.startswith("x0 < ") and spot.about
        assert spot.rows == pytest.approx(truth.height + 200, rel=0.15)
        assert spot.log_labels == pytest.approx(truth["paid"].is_not_null().sum(), rel=0.3)
        assert campaign.measuring().share("x0 < 0") == pytest.approx(0.5, abs=0.05)
    with Campaign.open(tmp_path / "bank") as again:
        assert again.error() == after


@pytest.mark.usefixtures("short")
def test_propensities_of_a_long_log_are_estimated(tmp_path: Path, folder: Path) -> None:
    pool = long_log(400, seed=9).drop("paid", "q0").with_columns(loan="P" + pl.col("loan"))
    log = write(tmp_path / "bare", long_log().drop("q0"))
    with Campaign.create(tmp_path / "bank", log=log, pool=pool, label="paid", id="loan", budget=40) as campaign:
        known = campaign.method().log_
        q0 = known.q0[known.X[:, 0] > 0.2].mean(), known.q0[known.X[:, 0] < -0.2].mean()
        assert q0 == pytest.approx((0.3, 0.03), rel=0.35)


@pytest.mark.usefixtures("short")
def test_an_audit_of_a_long_log(folder: Path) -> None:
    found, whole = audit_log(folder, "paid", "q0", "loan"), long_log()
    labelled = whole["paid"].is_not_null()
    assert (found.rows, found.labels, found.kept_rows) == (ROWS, labelled.sum(), 1500)
    assert found.classes == {name: (whole["paid"] == name).sum() for name in ("no", "yes")}
    spot, low = found.blind_spots[0], whole["x0"] < 0
    assert str(spot.rule).startswith("x0 < ")
    assert spot.population_share == pytest.approx(low.mean(), abs=0.05)
    assert spot.label_share == pytest.approx((low & labelled).sum() / labelled.sum(), abs=0.04)
    assert found.diagnostics.one_inside and found.diagnostics.revealed == labelled.sum()
    assert not found.weighted.q0_refuted and found.weighted.low < found.weighted.high < 0.2
    assert any("Blind spots rest on 1,500 rows of the log" in one for one in found.warnings)
    estimated = audit_log(folder, "paid", None, "loan")
    assert estimated.diagnostics.m == ROWS and estimated.diagnostics.q0_estimated and estimated.diagnostics.one_inside
    assert str(estimated.blind_spots[0].rule).startswith("x0 < ")


def test_an_audit_by_command_and_on_a_cluster(
    tmp_path: Path, folder: Path, short: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    here = json.loads(out(capsys, "audit", "log", *NAMES, "--json"))
    assert (here["rows"], here["kept_rows"], here["next"][3:5]) == (ROWS, 1500, ["log", "--pool"])
    with scheduler(tmp_path) as address, workers(tmp_path):
        assert json.loads(out(capsys, "audit", "log", *NAMES, "--json", "--cluster", address)) == here
    said = out(capsys, "audit", "log", *NAMES, "--html", "audit.html")
    assert "log: 12,000 rows" in said.replace("\n", " ") and (tmp_path / "audit.html").exists()
    part = pl.read_parquet(tmp_path / "log" / "part-0.parquet").drop("paid")
    part.with_columns(pl.concat_str(pl.lit("p"), "loan").alias("loan")).write_parquet(tmp_path / "pool.parquet")
    started = out(capsys, "start", "bank", "--log", "log", "--pool", "pool.parquet", *NAMES)
    assert "1500 rows are kept, drawn at random from those with and without a label" in started
    damaged = tmp_path / "log" / "part-3.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-300])
    for words in (["audit", "log"], ["start", "other", "--log", "log", "--pool", "pool.parquet"]):
        assert "part-3.parquet" in refused(capsys, *words, *NAMES)
    assert not (tmp_path / "other").exists()


@pytest.mark.usefixtures("short")
def test_a_long_log_of_labelled_rows_is_compared_with_a_pool_in_files(tmp_path: Path) -> None:
    everyone = long_log()
    log = write(tmp_path / "log", everyone.filter(pl.col("paid").is_not_null()).drop("q0"))
    pool = write(tmp_path / "pool", long_log(seed=5).drop("q0", "paid"))
    found = audit_log(log, "paid", None, "loan", pool=pool)
    assert found.only_labelled and found.pool_rows == ROWS and found.relative is not None
    assert str(found.blind_spots[0].rule).startswith("x0 < ")
    assert found.blind_spots[0].rows == pytest.approx(ROWS / 2, rel=0.1)


def test_methods_on_a_stream_need_the_whole_log() -> None:
    from unskew import IDBAL, LoggedData

    log = LoggedData([[0.0], [1.0], [2.0]], y=[1, 0, None], q0=0.5, kept=Kept(4, 10))
    with pytest.raises(InputError, match="need every row of the log; got 3 of 14. Use Unskew with a pool"):
        IDBAL().start(log)

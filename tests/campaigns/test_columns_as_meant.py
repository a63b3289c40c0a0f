"""Campaigns on tables as people have them: each column is what it was meant to be, from start to predictions."""

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unskew.campaigns import Campaign
from unskew.campaigns.audit.log_audit import audit_log
from unskew.campaigns.report.report import gather
from unskew.campaigns.tables.files import read_table
from unskew.errors import InputError

TYPES = {
    "zip": "category",
    "size": "ordinal:small,medium,large",
    "flag": "boolean",
    "note": "ignore",
    "kind": "category",
}
KINDS = {"amount": "number", "since": "date", "at": "date", "zip": "category", "kind": "category",
         "size": TYPES["size"], "flag": "boolean", "site": "category", "vector": "embedding"}  # fmt: skip


def shops(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    zip = rng.choice([1067, 20095, 50667, 80331], rows)
    days = rng.integers(0, 700, rows)
    return pl.DataFrame({
        "key": [f"{seed}-{k}" for k in range(rows)],
        "amount": rng.lognormal(4, 1, rows).round(2),
        "since": [str(datetime.date(2023, 1, 1) + datetime.timedelta(int(day))) for day in days],
        "at": [f"2024-05-{1 + day % 28:02}T10:30:00" for day in days],
        "zip": zip,
        "kind": pl.Series(rng.integers(1, 4, rows).astype(float)),
        "size": rng.choice(["small", "medium", "large"], rows),
        "flag": rng.choice(["yes", "no"], rows),
        "site": [f"https://shop.example/{k}" for k in rng.integers(0, 7, rows)],
        "photo": [f"https://shop.example/{seed}/{k}.png" for k in range(rows)],
        "note": rng.choice(["a", "b"], rows),
        "vector": rng.normal(size=(rows, 3)).round(3).tolist(),
    })  # fmt: skip


def log_of(frame: pl.DataFrame) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    good = (frame["zip"] > 20_000).to_numpy() & (frame["size"] != "small").to_numpy()
    label = [None if hidden else int(one) for one, hidden in zip(good, rng.random(frame.height) < 0.4, strict=True)]
    return frame.with_columns(pl.Series("good", label), q0=pl.lit(0.6))


def start(folder: Path, log: Any, pool: Any, **how: Any) -> Campaign:
    return Campaign.create(
        folder,
        log=log,
        pool=pool,
        label="good",
        propensity="q0",
        id="key",
        budget=20,
        method="RandomLabels",
        types=TYPES | how,
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return start(tmp_path_factory.mktemp("shops") / "shops", log_of(shops(240)), shops(120, seed=1))


def test_what_a_campaign_records(campaign: Campaign) -> None:
    assert campaign.settings.kinds == {name: KINDS[name] for name in campaign.settings.kinds} and len(KINDS) == 9
    assert set(campaign.settings.kinds) == set(KINDS) and campaign.settings.given == TYPES
    assert campaign.settings.types["zip"] == "String" and campaign.settings.types["vector"] == "Array(3)"
    assert campaign.log_frame["zip"][0] in ("1067", "20095", "50667", "80331")
    left_out = {"photo": "nearly every value differs; keep it with --type photo=text", "note": "by the type given"}
    assert campaign.measuring().left_out() == left_out
    facts = gather(campaign)
    assert facts["not_learned"] == left_out


def test_the_same_from_every_kind_of_file_and_frame(campaign: Campaign, tmp_path: Path) -> None:
    frame = shops(120, seed=1)
    wanted = campaign.predict(frame)
    text = frame.with_columns(vector=pl.format("[{}]", pl.col("vector").cast(pl.List(pl.String)).list.join(", ")))
    frame.write_parquet(tmp_path / "pool.parquet")
    for source in (frame.to_pandas(), tmp_path / "pool.parquet", str(tmp_path / "*.parquet")):
        assert campaign.predict(source).equals(wanted), source
    assert campaign.predict_to(tmp_path / "p.parquet", tmp_path / "pool.parquet") == 120
    assert pl.read_parquet(tmp_path / "p.parquet").equals(wanted)
    with start(tmp_path / "other", log_of(shops(240)).to_pandas(), tmp_path / "pool.parquet") as other:
        assert other.predict(frame)["prediction"].equals(wanted["prediction"])
        assert other.settings.kinds == campaign.settings.kinds
    text.write_csv(tmp_path / "pool.csv")
    log_of(shops(240)).with_columns(
        vector=pl.format("[{}]", pl.col("vector").cast(pl.List(pl.String)).list.join(", "))
    ).write_csv(tmp_path / "log.csv")
    with start(tmp_path / "csv", tmp_path / "log.csv", tmp_path / "pool.csv", vector="embedding") as other:
        assert other.settings.kinds == campaign.settings.kinds
        assert other.predict(tmp_path / "pool.csv").equals(other.predict(frame))
        assert other.predict(frame)["prediction"].equals(wanted["prediction"])


def test_the_model_takes_columns_as_they_were(campaign: Campaign) -> None:
    """The exported pipeline is given what pandas makes of a file."""
    pool = read_table(shops(50, seed=2), types=TYPES)
    raw = pool.with_columns(pl.col("zip").cast(pl.Int64), pl.col("kind").cast(pl.Float64))
    model = campaign.model()
    assert (model.predict(raw.to_pandas()) == model.predict(pool)).all()
    assert campaign.predict(pool)["prediction"].to_list() == model.predict(raw).tolist()


def test_rows_of_the_ledger_are_learned_from(campaign: Campaign) -> None:
    rows = campaign.ask(10, by="ann")
    assert {type(row.values["zip"]) for row in rows} == {str} and len(rows[0].values["vector"]) == 3
    assert campaign.tell({row.id: int(row.values["size"] != "small") for row in rows}, by="ann").answered == 10
    with Campaign.open(campaign.folder.path) as again:
        assert again.error(where="size is small or medium").low <= again.error(where="flag is true").high
        assert set(again.measuring().values_of("size")) == {"small", "medium", "large"}


def test_pools_that_stay_in_files(campaign: Campaign, tmp_path: Path) -> None:
    """Pool columns of other types than the log's, in Parquet and in text."""
    pool = shops(300, seed=1)
    other = pool.with_columns(pl.col("kind").cast(pl.Int32), pl.col("amount").cast(pl.String))
    wanted = None
    for form, frame in (("parquet", pool), ("parquet", other), ("csv", other.drop("vector"))):
        folder = tmp_path / f"{form}-{frame.schema['kind']}"
        folder.mkdir()
        for k in range(3):
            getattr(frame[k * 100 : k * 100 + 100], f"write_{form}")(folder / f"{k}.{form}")
        log = log_of(shops(240)).select(*frame.columns, "good", "q0")
        with start(tmp_path / f"of-{folder.name}", log, str(folder)) as files:
            found = files.predict(str(folder))
            assert found.height == 300 and files.ask(2, by="ann")[0].values["zip"] in (
                "1067",
                "20095",
                "50667",
                "80331",
            )
        wanted = found if wanted is None else wanted
        assert found["prediction"].equals(wanted["prediction"])
    pool[:100].with_columns(vector=pl.Series([[1.0]] * 100)).write_parquet(tmp_path / "parquet-Float64" / "1.parquet")
    with pytest.raises(
        InputError, match="1.parquet: column 'vector' holds lists of 3 numbers in the log and lists of 1"
    ):
        start(tmp_path / "short", log_of(shops(240)), str(tmp_path / "parquet-Float64"))
    assert not (tmp_path / "short" / "campaign.json").exists()


def test_the_audit_takes_frames_and_types(tmp_path: Path) -> None:
    log = log_of(shops(240))
    log.drop("vector").write_csv(tmp_path / "log.csv")
    for source in (log.drop("vector"), log.drop("vector").to_pandas(), tmp_path / "log.csv"):
        found = audit_log(source, "good", "q0", "key", types=TYPES)
        assert found.columns == {name: kind for name, kind in KINDS.items() if name != "vector"}
        assert set(found.left_out) == {"photo", "note"}
    only = log.filter(pl.col("good").is_not_null()).drop("q0")
    found = audit_log(only, "good", id="key", pool=pd.DataFrame(shops(300, seed=5).to_pandas()), types=TYPES)
    assert found.pool_rows == 300 and found.columns["size"] == TYPES["size"]


def test_a_german_spreadsheet(tmp_path: Path) -> None:
    text = "Kunde;Betrag, EUR;Größe;seit;Notiz\n1;1.234,50;12,5;31.12.2024;a, b\n2;3;-0,5;1.2.2024;\n"
    (tmp_path / "log.csv").write_text(text)
    frame = read_table(tmp_path / "log.csv", types={"seit": "date"})
    assert frame.dtypes == [pl.Int64, pl.Float64, pl.Float64, pl.Date, pl.String]
    assert frame.rows()[0] == (1, 1234.5, 12.5, datetime.date(2024, 12, 31), "a, b") and frame["Größe"][1] == -0.5
    (tmp_path / "tabs.csv").write_text("a\tb\n1\t2,5\n")
    assert read_table(tmp_path / "tabs.csv").rows() == [(1, "2,5")]
    (tmp_path / "bad.csv").write_text("a;b\n1;2\n3;4;5\n")
    with pytest.raises(InputError, match="bad.csv line 3 has 3 cells; the header has 2"):
        read_table(tmp_path / "bad.csv")


def test_large_files_with_semicolons(tmp_path: Path) -> None:
    frame = log_of(shops(240)).drop("vector")
    comma = frame.with_columns(amount=pl.col("amount").cast(pl.String).str.replace(".", ",", literal=True))
    (tmp_path / "log").mkdir()
    (tmp_path / "pool").mkdir()
    comma.write_csv(tmp_path / "log" / "a.csv", separator=";")
    other = pl.concat_str(pl.lit("p"), "key").alias("key")
    comma[:200].drop("good", "q0").with_columns(other).write_csv(tmp_path / "pool" / "a.csv", separator=";")
    with start(tmp_path / "s", str(tmp_path / "log"), str(tmp_path / "pool")) as campaign:
        assert campaign.settings.kinds["amount"] == "number" and campaign.log_frame["amount"].equals(frame["amount"])
        assert campaign.predict_to(tmp_path / "p.csv", tmp_path / "pool" / "a.csv") == 200
        assert campaign.predict(str(tmp_path / "pool")).equals(campaign.predict(frame[:200].with_columns(other)))

"""Labels that a pool has, and rows that are in log and pool."""

import numpy as np
import polars as pl
import pytest

from unskew.campaigns.tables import pool_files, pool_labels
from unskew.campaigns.tables.files import check_pool
from unskew.campaigns.tables.sources import gather
from unskew.errors import InputError

ROWS = 400


def table(first=0, rows=ROWS, seed=0, share=0.4):
    """Rows with ids, some of them with a label."""
    rng = np.random.default_rng(seed)
    paid = np.where(rng.random(rows) < share, rng.random(rows) < 0.5, np.nan)
    return pl.DataFrame({"loan": range(first, first + rows), "age": rng.normal(size=rows), "paid": paid}).fill_nan(None)


def read(log, pool, **how):
    return gather(log, pool, "paid", how.pop("propensity", None), how.pop("id", "loan"), **how)


def test_labels_of_the_pool_are_known_and_its_rows_stay():
    pool = table(1000, seed=1)
    found = read(table(), pool)
    assert found.known == pool["paid"].count() > 0 and found.pool.height == ROWS
    assert found.pool["paid"].to_list() == [None if y is None else str(int(y)) for y in pool["paid"]]
    assert found.sources == (f"the pool: {found.known} of 400 rows labelled before, each stands for itself",)


def test_labels_of_the_pool_can_be_ignored():
    found = read(table(), table(1000), pool_labels="ignore")
    assert found.known == 0 and found.sources == () and "paid" not in found.pool.columns


@pytest.mark.parametrize(
    ("label", "told"),
    [
        (pl.lit("maybe"), "pool's label 'paid' must be '0' or '1'; got 'maybe'"),
        (pl.lit(1), "every row of the pool has a label in 'paid', so none is left"),
    ],
)
def test_labels_of_the_pool_that_cannot_be_used(label, told):
    with pytest.raises(InputError, match=told):
        read(table(), table(1000).with_columns(paid=label))


def test_more_labels_than_can_be_known(monkeypatch):
    monkeypatch.setattr(pool_labels, "LABELLED", 50)
    with pytest.raises(InputError, match="at most 50 can be known beforehand"):
        read(table(), table(1000))


def test_shared_ids_are_noticed_and_refused():
    with pytest.raises(InputError, match="100 ids of column 'loan' are in both log and pool.*--same-ids merge"):
        read(table(), table(300))
    assert read(table(), table(300), same_ids="separate").pool.height == ROWS


def test_the_same_table_is_noticed_without_ids(tmp_path):
    log = table().drop("loan")
    log.write_csv(tmp_path / "log.csv")
    for both in (log, tmp_path / "log.csv"):
        with pytest.raises(InputError, match="log and pool are the same table"):
            read(both, both, id=None)
    with pytest.raises(InputError, match="log and pool are the same table"):
        read(log, log.drop("paid"), id=None)


def together(found):
    """Each person once, with the label that is known."""
    texts = found.log.frame["paid"].cast(pl.Int64, strict=False).cast(pl.String)
    log = found.log.frame.with_columns(paid=texts).select("loan", "paid")
    pool = found.pool if "paid" in found.pool.columns else found.pool.with_columns(paid=pl.lit(None, dtype=pl.String))
    return pl.concat([log.cast(pl.String), pool.select("loan", "paid")]).sort(pl.col("loan").cast(pl.Int64))


@pytest.mark.parametrize("lacks", ["nothing", "labels", "labelled rows"])
def test_a_table_that_is_log_and_pool_is_split_at_random(lacks):
    """Also if the pool is what has no label yet: then the log must lose rows of both kinds."""
    log = table(rows=2000)
    pool = {"nothing": log, "labels": log.drop("paid"), "labelled rows": log.filter(pl.col("paid").is_null())}[lacks]
    found = read(log, pool, same_ids="merge")
    whole = log.with_columns(pl.col("loan", "paid").cast(pl.Int64).cast(pl.String)).select("loan", "paid")
    assert together(found).equals(whole)
    assert 0.45 < found.log.rows / 2000 < 0.55 and found.known == found.pool["paid"].count()
    rates = [frame["paid"].count() / frame.height for frame in (found.log.frame, found.pool)]
    assert abs(rates[0] - rates[1]) < 0.07


def test_tables_with_some_rows_in_common_keep_the_others():
    log, pool = table(), table(300, seed=1)
    found = read(log, pool.drop("paid"), same_ids="merge")
    people = together(found)
    assert people["loan"].to_list() == [str(k) for k in range(700)]
    assert set(map(str, range(300))) <= set(found.log.frame["loan"])
    assert set(map(str, range(400, 700))) <= set(found.pool["loan"])


def test_a_pool_of_some_unlabelled_rows_of_the_log_is_no_sample_of_everyone():
    log = table(rows=1000)
    pool = log.filter(pl.col("paid").is_null())[:200]
    with pytest.raises(InputError, match="the pool is no sample of everyone. Give the whole log as the pool"):
        read(log, pool, same_ids="merge")


def test_labels_that_contradict_each_other_are_refused():
    log = table()
    with pytest.raises(InputError, match="has the label '[01]' in the log and '[01]' in the pool"):
        read(log, log.with_columns(paid=1.0 - pl.col("paid")), same_ids="merge")


def test_half_of_a_pool_with_labels_can_be_a_second_log():
    log, pool = table().with_columns(q0=0.4), table(1000, rows=2000, seed=1).with_columns(q0=0.3)
    found = read(log, pool, propensity="q0", pool_labels="logged")
    new = found.log.frame.filter(pl.col("log") == "from the pool")
    assert found.log.policy == "log" and found.log.rows == ROWS + new.height
    assert new.height + found.pool.height == 2000 and 0.45 < new.height / 2000 < 0.55
    assert set(new["q0"]) == {0.3} and not set(new["loan"]) & set(found.pool["loan"])
    assert sum(found.log.labels.values()) + found.known == log["paid"].count() + pool["paid"].count()
    estimated = read(log, pool.drop("q0"), propensity="q0", pool_labels="logged")
    assert estimated.log.frame["q0"].null_count() == new.height


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"pool_labels": "all"}, "pool labels must be known, logged or ignore; got 'all'"),
        ({"same_ids": "join"}, "same ids must be refuse, merge or separate; got 'join'"),
        ({"same_ids": "merge", "id": None}, "to merge log and pool needs ids"),
        ({"same_ids": "merge", "pool_labels": "logged"}, "Leave out one of"),
    ],
)
def test_words_that_mean_nothing(how, told):
    with pytest.raises(InputError, match=told):
        read(table(), table(1000), **how)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_pool_in_files_is_looked_at_row_by_row(tmp_path, monkeypatch, ending):
    """Memory does not grow with the pool, so ids are compared as the files are read."""
    monkeypatch.setattr(pool_files, "COPIED", 100)
    path, pool = tmp_path / f"pool.{ending}", table(390, seed=1)
    getattr(pool, f"write_{ending}")(path)
    with pytest.raises(InputError, match="of the 400 rows of the pool have a label in 'paid'.*--pool-labels ignore"):
        read(table(), path, same_ids="separate")
    with pytest.raises(InputError, match="10 ids of column 'loan' are in both log and pool.*stays in its files"):
        read(table(), path, pool_labels="ignore")
    found = read(table(), path, pool_labels="ignore", same_ids="separate")
    assert found.files is not None and found.known == 0
    pool.with_columns(paid=pl.lit("NA"), loan=pl.col("loan") + 5000).pipe(lambda f: getattr(f, f"write_{ending}")(path))
    assert read(table(), path).files is not None


def test_a_pool_keeps_the_columns_of_the_log():
    log = table().with_columns(officer=pl.Series(["ann", "bo"] * 200))
    found = read(log, table(1000).drop("paid").with_columns(officer=pl.lit("cy")), policy="officer")
    assert found.pool.columns == ["loan", "age"]
    assert found.sources[0].startswith("ann: ") and len(found.sources) == 2
    assert check_pool(found.log.described, found.pool, "paid", None, "loan").equals(found.pool)

"""Several logs as one."""

import polars as pl
import pytest

from unskew.campaigns.tables import log_files
from unskew.campaigns.tables.log_files import read_log
from unskew.errors import InputError

A = pl.DataFrame({"loan": [1, 2, 3], "age": [30, 41, 52], "paid": [1, None, 0], "q0": [0.5, 0.2, 0.9]})
B = pl.DataFrame({"loan": [7, 8, 9], "age": [31.5, 42.0, 53.0], "paid": [None, 1.0, None], "q0": [0.1, 0.2, 0.3]})


def write(folder):
    A.write_csv(folder / "a.csv")
    B.write_parquet(folder / "b.parquet")
    return [folder / "a.csv", folder / "b.parquet"]


def test_rows_keep_their_own_propensities_and_say_where_they_are_from(tmp_path):
    found = read_log(write(tmp_path), "paid", "q0", "loan")
    assert found.policy == "log" and found.rows == 6 and found.labels == {"0": 1, "1": 2}
    assert found.frame["log"].to_list() == ["a.csv"] * 3 + ["b.parquet"] * 3
    assert found.frame["q0"].to_list() == [0.5, 0.2, 0.9, 0.1, 0.2, 0.3]
    assert found.frame["age"].to_list() == [30, 41, 52, 31.5, 42, 53]
    assert found.described.columns == ["loan", "age", "paid", "q0"]


def test_one_log_in_a_list_is_that_log(tmp_path):
    assert read_log(write(tmp_path)[:1], "paid", "q0").policy is None


def test_a_log_without_propensities_has_them_estimated_later():
    found = read_log([A, B.drop("q0")], "paid", "q0")
    assert found.frame["q0"].to_list() == [0.5, 0.2, 0.9, None, None, None]


def test_logs_with_several_policies_each():
    frames = [frame.with_columns(officer=pl.Series(["ann", None, "bo"])) for frame in (A, B)]
    found = read_log(frames, "paid", "q0", policy="officer")
    assert found.frame["log"].to_list()[:4] == ["log 1: ann", "log 1: missing", "log 1: bo", "log 2: ann"]
    assert "officer" not in found.frame.columns


def test_logs_of_more_rows_together_are_thinned_evenly(monkeypatch):
    monkeypatch.setattr(log_files, "LONG", 40)
    monkeypatch.setattr(log_files, "OTHERS", 10)
    frames = [pl.DataFrame({"age": range(k, k + 30), "paid": [1, 0, None] * 10}) for k in (0, 50)]
    found = read_log(frames, "paid")
    assert found.rows == 60 and found.kept == (40, 20) and found.frame.height == 50


@pytest.mark.parametrize(
    ("logs", "told"),
    [
        ([A, A], "log 1 and log 2 hold the same rows"),
        ([A, B.drop("age")], "log 1 has 'age', which log 2 has not"),
        ([A, B.with_columns(height=1.0)], "log 2 has 'height', which log 1 has not"),
        ([A, B.drop("paid")], "label column of log 2"),
        ([A, B.with_columns(q0=0.0)], r"log 2: the propensity 'q0' must be in \(0, 1\]"),
        ([A, B.with_columns(age=pl.lit("old"))], "column 'age' holds a number in log 1 and a category in log 2"),
        ([A.drop("q0"), B.drop("q0").drop_nulls()], "every row of log 2 has a label, so it shows only"),
        ([A, B.with_columns(loan=pl.Series([1, 2, 3]))], "ids must differ; '1'"),
        ([], "must not be empty"),
    ],
)
def test_logs_that_do_not_go_together_are_refused(logs, told):
    propensity = "q0" if logs and "q0" in logs[0].columns else None
    with pytest.raises(InputError, match=told):
        read_log(logs, "paid", propensity, "loan")


def test_a_long_log_among_several_is_refused(tmp_path, monkeypatch):
    paths = write(tmp_path)
    monkeypatch.setattr(log_files, "LONG", 2)
    with pytest.raises(InputError, match=r"a\.csv is not.*--policy-column"):
        read_log(paths, "paid", "q0")


def test_a_policy_column_that_is_not_there():
    with pytest.raises(InputError, match="policy column"):
        read_log(A, "paid", "q0", policy="officer")

"""Columns of labels: marks for missing ones, and quantities."""

import numpy as np
import polars as pl
import pytest

from unskew.campaigns.tables import log_files
from unskew.campaigns.tables.log_files import read_log
from unskew.errors import InputError


def csv(path, labels):
    lines = [f"{k % 7},{label}" for k, label in enumerate(labels)]
    path.write_text("\n".join(["age,paid", *lines]) + "\n")
    return path


def test_marks_in_a_text_file_are_missing_labels(tmp_path):
    found = read_log(csv(tmp_path / "log.csv", ["1", "0", "NA", "n/a", "", " null ", "1", "-"]), "paid")
    assert (found.classes, found.labels) == (["0", "1"], {"0": 1, "1": 2})
    assert found.marks == {"NA": 1, "n/a": 1, "null": 1, "-": 1}
    assert found.frame["paid"].to_list() == [1, 0, None, None, None, None, 1, None]


def test_marks_in_a_frame_and_in_a_parquet_file_are_missing_labels(tmp_path):
    frame = pl.DataFrame({"age": range(4), "paid": ["yes", "no", "NaN", "None"]})
    frame.write_parquet(tmp_path / "log.parquet")
    for source in (frame, tmp_path / "log.parquet"):
        found = read_log(source, "paid")
        assert found.labels == {"no": 1, "yes": 1} and found.marks == {"NaN": 1, "None": 1}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_marks_in_a_long_log_are_missing_labels(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(log_files, "LONG", 50)
    labels = ["yes", "no", "NA", "NA"] * 30
    path = csv(tmp_path / "log.csv", labels)
    if ending == "parquet":
        pl.read_csv(path).write_parquet(tmp_path / "log.parquet")
        path = tmp_path / "log.parquet"
    found = read_log(path, "paid")
    assert found.labels == {"no": 30, "yes": 30} and found.marks == {"NA": 60}


def test_a_mark_that_is_named_as_a_class_is_one(tmp_path):
    path = csv(tmp_path / "log.csv", ["yes", "NA", "yes", ""])
    assert read_log(path, "paid", classes=["NA", "yes"]).labels == {"NA": 1, "yes": 2}
    with pytest.raises(InputError, match=r"1 label read as missing: 'NA'; a class of that name .* --classes"):
        read_log(path, "paid")


def test_minus_beside_plus_is_a_class(tmp_path):
    found = read_log(csv(tmp_path / "log.csv", ["+", "-", "-", "?"]), "paid")
    assert found.labels == {"+": 1, "-": 2} and found.marks == {"?": 1}


def test_a_quantity_is_refused_with_what_to_do_instead(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    prices = rng.normal(100.0, 9.0, 812).round(2)
    whole = np.arange(812) % 90
    for values in (prices, whole):
        frame = pl.DataFrame({"age": range(812), "price": values})
        number = frame["price"].n_unique()
        with pytest.raises(InputError, match=f"'price' holds {number} different numbers.*Cut it at a value, such as"):
            read_log(frame, "price")
    monkeypatch.setattr(log_files, "LONG", 50)
    frame.write_csv(tmp_path / "log.csv")
    with pytest.raises(InputError, match="different numbers, and Unskew learns classes"):
        read_log(tmp_path / "log.csv", "price")


def test_two_numbers_are_classes_whatever_they_are():
    frame = pl.DataFrame({"age": range(4), "rate": [0.5, 1.5, None, 0.5]})
    assert read_log(frame, "rate").labels == {"0.5": 2, "1.5": 1}

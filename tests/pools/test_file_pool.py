"""Pools in Parquet files: the same rows, however they are cut, and only those that are needed."""

import numpy as np
import polars as pl
import pytest

import naive
from file_pools import COLUMNS, ROWS, answer, merged, pool, read, summary, table, write
from unskew.errors import InputError
from unskew.hashing import exponentials
from unskew.pools import files, stretches
from unskew.pools.ids import keys_of


def test_rows_at_places_in_any_order(tmp_path):
    of, frame = pool(write(tmp_path / "pool", table())), read(table())
    places = np.random.default_rng(1).integers(0, ROWS, 300)
    assert of.frame(places).equals(frame[places])
    assert of.frame(places[:0]).schema == frame.schema
    assert of.keys(places).tolist() == keys_of(frame["id"])[places].tolist()
    assert of.values(4999) == frame.row(4999, named=True)
    assert of.where(4999) == f"row 1,667 of {tmp_path}/pool/part-2.parquet"


def test_recut_renamed_and_reordered_files_give_the_same(tmp_path, monkeypatch):
    frame = table()
    ids = frame["id"].str.strip_chars().to_list()
    first = answer(pool(write(tmp_path / "one", frame)))
    other = frame.sample(fraction=1.0, shuffle=True, seed=1)
    for number, (rows, cut, size) in enumerate([(frame, 1, 5000), (other, 7, 100), (frame[::-1], 2, 999)]):
        monkeypatch.setattr(stretches, "READ", 400)
        monkeypatch.setattr(files, "BLOCK", 90)
        folder = write(tmp_path / f"{number}", rows.select("kind", "b", "id", "a"), cut, size, name="z{}.parquet")
        assert answer(pool(folder)) == first
    assert first[0][:2] == (int(np.rint(files_X(frame) * 2.0**30).sum()), ROWS)
    least = np.argsort(exponentials(3, keys_of(frame["id"])))[:50]
    assert [row[-1].strip() for row in first[1]] == [ids[i] for i in least]


def files_X(frame):
    return np.column_stack([frame["a"] * 2.0, frame["b"], frame["kind"] == "x"])


@pytest.mark.parametrize("k", [0, 1, 10, ROWS, 2 * ROWS])
@pytest.mark.parametrize("id", ["id", None])
def test_a_sample_has_the_least_numbers(k, id, tmp_path):
    of = pool(write(tmp_path / "pool", table()), id)
    numbers = exponentials(5, of.keys(np.arange(ROWS)))
    assert of.sample(k, seed=5).tolist() == np.argsort(numbers)[:k].tolist()


def test_a_sample_of_a_pool_without_ids_reads_nothing(tmp_path):
    of = pool(write(tmp_path / "pool", table()), id=None)
    for file in of.files:
        open(file.path, "w").close()
    assert len(of.sample(20)) == 20


def test_too_few_small_numbers_are_looked_for_again(tmp_path):
    """Ids that are all the same have one number, and it may be above what the least ones are expected to be."""
    of = pool(write(tmp_path / "pool", table().with_columns(id=pl.lit("same"))))
    drawn = of.sample(10)
    assert len(drawn) == len(set(drawn.tolist())) == 10


def test_only_the_columns_that_are_named_are_read(tmp_path):
    frame = table().with_columns(other=pl.lit("never"))
    seen = pool(write(tmp_path / "pool", frame)).scan_frames(lambda places, keys, rows: set(rows.columns), set.union)
    assert seen == {*COLUMNS, "id"}


def test_plain_rows_are_made_a_block_at_a_time(tmp_path, monkeypatch):
    """They take several times the memory of the values in a file."""
    heights = []

    def noted(raw):
        heights.append(raw.height)
        return read(raw)

    monkeypatch.setattr(files, "BLOCK", 300)
    found = pool(write(tmp_path / "pool", table()), read=noted).scan(summary, merged)
    assert found == pool(tmp_path / "pool").scan(summary, merged)
    assert max(heights) == 300
    assert sum(heights) == ROWS


def test_a_refusal_of_the_reader_names_the_file(tmp_path):
    def refuse(raw):
        if "row-4000" in raw["id"].to_list():
            raise InputError("column 'a' is odd. Correct it.")
        return raw

    of = pool(write(tmp_path / "pool", table()), read=refuse)
    for use in (lambda: of.scan(summary, merged), lambda: of.frame(np.array([4000]))):
        with pytest.raises(InputError, match=f"^{tmp_path}/pool/part-2.parquet: column 'a' is odd. Correct it.$"):
            use()


@pytest.mark.parametrize(
    ("groups", "runs"),
    [
        ([], []),
        ([3], [3]),
        ([10, 10, 10], [10, 10, 10]),
        ([4, 4, 4, 0, 2], [8, 6]),
        ([25], [8, 8, 9]),
        ([3, 25, 3], [3, 8, 8, 9, 3]),
    ],
)
@pytest.mark.parametrize(("read", "values", "columns"), [(10, 1 << 24, 4), (131_072, 40, 4)])
def test_stretches_end_with_row_groups_where_they_can(read, values, columns, groups, runs, monkeypatch):
    monkeypatch.setattr(stretches, "READ", read)
    monkeypatch.setattr(stretches, "VALUES", values)
    file = files.PoolFile("p", 0, 0, sum(groups), tuple(groups), "")
    found = list(stretches.cut([file, file], columns))
    assert [stretch.rows for stretch in found] == runs * 2
    assert [stretch.first for stretch in found] == [sum(runs[:i]) for i in range(len(runs))] * 2
    assert [stretch.place for stretch in found] == [sum((runs * 2)[:i]) for i in range(2 * len(runs))]


def test_keys_agree_with_their_twin():
    ids = ["", "a", "b", "ab", "é", "日本", "row-17", "x" * 300, *map(str, range(500))]
    assert keys_of(pl.Series(ids)).tolist() == [naive.hash_text(id.encode()) for id in ids]
    assert keys_of(pl.Series([])).tolist() == []


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt8, pl.Categorical, pl.String])
def test_a_whole_number_has_the_key_of_its_text(kind):
    texts = pl.Series(["1", "17", "200"])
    column = texts.cast(pl.Int64).cast(kind) if kind.is_integer() else texts.cast(kind)
    assert keys_of(column).tolist() == keys_of(pl.Series([" 1", "17 ", "\t200"])).tolist()


def test_the_key_of_an_id_is_the_same_for_ever():
    """Samples and draws of campaigns that have begun depend on these numbers."""
    assert keys_of(pl.Series(["a", "row-1"])).tolist() == [198367012849983736, naive.hash_text(b"row-1")]

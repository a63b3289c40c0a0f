"""Pools in Parquet, Arrow and CSV files: the same rows, whatever the kind and the cut, and bad files by name."""

import os
import shutil
from itertools import pairwise

import joblib
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from file_pools import COLUMNS, answer, encode, merged, refused, summary, table
from object_store import object_store
from unskew import Unskew
from unskew.errors import InputError, StoreError
from unskew.pools import stretches, text_files
from unskew.pools.files import FilePool, check_files, check_ids, find_files
from unskew.pools.text_files import numbers
from unskew.pools.trying import try_files

WRITE = {
    "parquet": lambda part, path: part.write_parquet(path, row_group_size=700),
    "arrow": lambda part, path: part.write_ipc(path, record_batch_size=300),
    "feather": lambda part, path: part.write_ipc(path, compression="lz4", record_batch_size=800),
    "csv": lambda part, path: part.write_csv(path),
    "quoted.csv": lambda part, path: part.write_csv(path, quote_style="always"),
    "windows.csv": lambda part, path: part.write_csv(path, line_terminator="\r\n", include_bom=True),
    "tsv": lambda part, path: part.write_csv(path, separator="\t"),
}


def rows():
    """Ids with leading zeros, quotes, separators and line ends."""
    odd = ["{:05}", "{},x", 'say "{}"', "two\nlines {}", " {} ", "ä{}", "\t{}"]
    ids = [odd[i % len(odd)].format(i) for i in range(5000)]
    return table().with_columns(pl.Series("id", ids))


def write(folder, kind, cuts=(0, 900, 901, 5000), frame=None):
    folder.mkdir()
    whole = rows() if frame is None else frame
    for k, (start, end) in enumerate(pairwise(cuts)):
        WRITE[kind](whole[start:end], folder / f"part-{k}.{kind}")
    return folder


def pool(source, id="id"):
    read = doubled if "sv" in find_files(source)[0].path[-3:] else doubled_numbers
    return FilePool(find_files(source), read, encode, columns=COLUMNS, id=id)


def doubled(raw):
    return doubled_numbers(numbers(["a", "b"], raw))


def doubled_numbers(raw):
    return raw.with_columns(pl.col("a") * 2.0)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected") / "pool"
    with joblib.parallel_config(backend="threading", n_jobs=1):
        return answer(pool(write(folder, "parquet", (0, 5000))))


@pytest.mark.parametrize("config", [{"backend": "threading", "n_jobs": 2}, {"backend": "loky", "n_jobs": 2}])
@pytest.mark.parametrize("kind", list(WRITE))
def test_the_same_answer_from_every_kind_of_file(kind, config, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BYTES", 40_000)
    monkeypatch.setattr(text_files, "ROWS", 250)
    monkeypatch.setattr(stretches, "READ", 170)
    of = pool(write(tmp_path / "pool", kind))
    assert len(of.stretches) >= 25 and len(of.files[2].groups) > 4
    with joblib.parallel_config(**config):
        found = answer(of)
        assert found[1][0][-1].strip() == expected[1][0][-1].strip()
        assert (found[0], found[2], found[3]) == (expected[0], expected[2], expected[3])
        assert [row[:3] for row in found[1]] == [row[:3] for row in expected[1]]
        try_files(of)
        check_ids(of)
        check_files(of.files)


@pytest.mark.parametrize("kind", ["arrow", "csv"])
def test_rows_at_places_are_read_without_the_whole_file(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BYTES", 40_000)
    of = pool(write(tmp_path / "pool", kind))
    places = np.array([4999, 0, 2500, 2501, 0])
    assert of.frame(places)["id"].to_list() == rows()["id"][places].to_list()
    path = tmp_path / "pool" / f"part-2.{kind}"
    content = path.read_bytes()
    if kind == "csv":  # what is damaged elsewhere is not looked at
        path.write_bytes(content[: -len(content) // 3] + b"\0" * (len(content) // 3))
        assert of.frame(np.array([1000]))["id"].to_list() == [rows()["id"][1000]]
    assert of.values(950)["id"] == rows()["id"][950]


def test_arrow_of_other_writers_with_dictionaries(tmp_path):
    plain = table(1000)
    with pa.OSFile(str(tmp_path / "1.arrow"), "wb") as sink:
        words = plain.to_arrow().set_column(2, "kind", plain["kind"].cast(pl.Categorical).to_arrow())
        with pa.ipc.new_file(sink, words.schema) as writer:
            writer.write_table(words, max_chunksize=70)
    files = find_files(tmp_path)
    assert files[0].groups == (70,) * 14 + (20,)
    of = FilePool(files, lambda raw: raw.with_columns(pl.col("kind").cast(pl.String)), encode, columns=COLUMNS, id="id")
    assert of.frame(np.array([999, 70])).select(*COLUMNS).equals(plain[[999, 70]].select(*COLUMNS))


def test_a_method_learns_from_any_kind(tmp_path):
    rng = np.random.default_rng(0)
    log = pl.DataFrame(rng.normal(size=(400, 2)), schema=["a", "b"])
    log = log.with_columns(y=pl.when(pl.Series(rng.random(400) < 0.5)).then((log["a"] > 0).cast(pl.Int8)), q0=0.5)
    asked = []
    for kind in ("parquet", "csv", "arrow"):
        method = Unskew(random_state=0)
        method.start(log, write(tmp_path / kind, kind), label="y", propensity="q0", id="id")
        asked.append([(row.values["a"], row.values["b"], row.probability) for row in method.ask(12)])
    assert asked[0] == asked[1] == asked[2]
    (tmp_path / "csv" / "part-1.csv").write_text("a,b,kind,id\n1,high,x,7\n")
    with pytest.raises(InputError, match=r"part-1.csv: column 'b' must hold numbers or booleans; got 'high'"):
        Unskew().start(log, tmp_path / "csv", label="y", propensity="q0").ask(3)


def bad_line(line):
    return lambda path: path.write_bytes(path.read_bytes() + line)


BAD = {
    "a cell too many": ("csv", bad_line(b"1,2,x,y,z\n"), "part-0.csv line 1031 has 5 cells; the header has 4."),
    "a broken quote": ("csv", bad_line(b'1,2,"x,y\n'), "part-0.csv line 1031 is not CSV: "),
    "not UTF-8": ("csv", bad_line(b"1,2,x,\xe4\n"), "part-0.csv line 1031 is not UTF-8: byte "),
    "another header": ("csv", lambda path: path.write_text("a,b,c,id\n"), "of 'c', "),
    "no header": ("csv", lambda path: path.write_text(""), "part-0.csv is empty. It needs a line of column names"),
    "half": ("arrow", lambda path: path.write_bytes(path.read_bytes()[:5000]), "part-0.arrow is incomplete or not an "),
    "text": (
        "arrow",
        lambda path: path.write_text("a,b\n"),
        "part-0.arrow is incomplete or not an Arrow file: it does",
    ),
    "zeros": (
        "arrow",
        lambda path: path.write_bytes(path.read_bytes()[:-500] + bytes(490) + b"\0\1\0\0ARROW1"),
        ": its",
    ),
    "gzip": ("csv", lambda path: path.rename(f"{path}.gz"), "part-0.csv.gz is packed, so no row in it can be found al"),
    "mixed": ("csv", lambda path: path.rename(path.with_suffix(".arrow")), "must be of one kind; "),
    "tabs": ("csv", lambda path: path.rename(path.with_suffix(".tsv")), "part-0.tsv is TSV and "),
}


@pytest.mark.parametrize("name", list(BAD))
def test_a_bad_file_is_named(name, tmp_path):
    kind, spoil, told = BAD[name]
    folder = write(tmp_path / "pool", kind)
    spoil(folder / f"part-0.{kind}")
    message = refused(InputError, lambda: find_files(folder), told, folder)
    assert message.endswith((".", ".gz", "utf8.csv"))


def test_a_file_with_a_header_alone_among_others(tmp_path):
    folder = write(tmp_path / "pool", "csv")
    (folder / "part-9.csv").write_text("id,kind,a,b\n")  # the order of columns does not matter
    assert pool(folder).scan(summary, merged)[1] == 5000
    for path in folder.iterdir():
        path.write_text("id,kind,a,b\n")
    refused(InputError, lambda: find_files(folder), f"'{folder}' has no rows")


def test_a_damaged_arrow_file_is_found_before_it_is_used(tmp_path, capfd):
    folder = write(tmp_path / "pool", "feather")
    path = folder / "part-2.feather"
    content = bytearray(path.read_bytes())
    content[2000:20_000] = b"\xff" * 18_000
    path.write_bytes(content)
    of = pool(folder)
    refused(InputError, lambda: try_files(of), f"{path} is incomplete or damaged: ", "Write it again.")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["arrow", "csv"])
def test_a_file_that_is_not_what_it_was(kind, tmp_path):
    folder = write(tmp_path / "pool", kind)
    path, files = folder / f"part-0.{kind}", find_files(folder)
    kept = shutil.copy2(path, tmp_path / "kept")
    content, times = bytearray(path.read_bytes()), path.stat()
    content[-30] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    refused(StoreError, lambda: check_files(files), f"{path} is not the file the campaign began with. Restore it")
    path.unlink()
    refused(StoreError, lambda: check_files(files), f"{path} is gone")
    shutil.copy2(kept, path)
    check_files(files)
    os.utime(path)
    refused(StoreError, lambda: check_files(files), f"{path} is not the file", "it was written at another time")


def test_text_that_changes_during_a_scan(tmp_path):
    folder = write(tmp_path / "pool", "csv")
    of = pool(folder)
    (folder / "part-2.csv").write_text("a,b,kind,id\n1,2,x,y\n")
    told = f"{folder}/part-2.csv cannot be read: "
    refused(InputError, lambda: of.scan(summary, merged), told)


@pytest.mark.parametrize("kind", ["arrow", "csv"])
def test_an_object_store(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BYTES", 40_000)
    with object_store() as store:
        for path in write(tmp_path / "pool", kind).iterdir():
            store.files.pipe(f"/{kind}/{path.name}", path.read_bytes())
        of = pool(f"s3://{kind}")
        assert answer(of) == answer(pool(tmp_path / "pool"))
        check_files(of.files)
        store.files.pipe(f"/{kind}/part-1.{kind}", b"a,b\n")
        refused(StoreError, lambda: check_files(of.files), f"s3://{kind}/part-1.{kind} ")

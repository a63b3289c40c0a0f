"""A table read block by block is the table that is read whole, and what is wrong with it is said in the same words."""

import numpy as np
import polars as pl
import pytest

from unskew.campaigns.tables import blocks
from unskew.campaigns.tables.files import read_table
from unskew.errors import InputError


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of a few rows."""
    monkeypatch.setattr(blocks, "BYTES", 300)
    monkeypatch.setattr(blocks, "ROWS", 7)


def joined(path, columns=("id", "x", "note"), text=("id", "note")):
    found = list(blocks.parts(path, columns, text))
    assert len(found) > 3, "it is cut into blocks"
    assert [part.done for part in found] == sorted(part.done for part in found)
    assert found[-1].done <= found[-1].total
    return pl.concat([part.read() for part in found])


def frame(rows=60):
    rng = np.random.default_rng(0)
    notes = [None, 'say "no"', "two\nlines", "a,b;c", "ä € 😀", "plain"]
    return pl.DataFrame(
        {
            "id": [f"r{k}" for k in range(rows)],
            "x": rng.normal(size=rows),
            "note": [notes[k % len(notes)] for k in range(rows)],
        }
    )


@pytest.mark.parametrize("end", ["", "\n\n\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_blocks_of_text_are_the_text(tmp_path, start, end):
    path = tmp_path / "rows.csv"
    path.write_text(start + frame().write_csv() + end, newline="")
    assert joined(path).equals(read_table(path, text=["id", "note"]))
    assert joined(path).equals(frame())


def test_quotes_inside_cells_and_windows_lines(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b"id,x,note\r\n" + b"".join(b'r%d,%d,5" pipe\r\n' % (k, k) for k in range(90)))
    assert joined(path).equals(read_table(path, text=["id", "note"]))


def test_blocks_of_parquet_are_the_file(tmp_path):
    path = tmp_path / "rows.parquet"
    frame().with_columns(pl.lit(1).alias("other")).write_parquet(path, row_group_size=10)
    assert joined(path).equals(frame())


def test_a_folder_is_read_in_the_order_of_its_files(tmp_path):
    for name, part in (("b", frame()[:20]), ("a/c", frame()[20:50]), ("d", frame()[50:])):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        part.write_parquet(tmp_path / f"{name}.parquet")
    assert joined(tmp_path).equals(pl.concat([frame()[20:50], frame()[:20], frame()[50:]]))
    assert joined(str(tmp_path / "*.parquet")).equals(pl.concat([frame()[:20], frame()[50:]]))


@pytest.mark.parametrize(
    ("row", "line", "message"),
    [
        ("r99,1e31,plain", 62, "line 62: column 'x' holds 1e+31"),
        ("r99,1.5", 62, "line 62 has 2 cells; the header has 3"),
        ("r99,1.5,\xe4", 62, "line 62 is not UTF-8"),
        ('r99,1.5,"open', 62, "line 62"),
        ("", 62, "line 62 is empty"),
    ],
)
def test_a_late_line_that_is_wrong_is_named(tmp_path, row, line, message):
    path = tmp_path / "rows.csv"
    lines = ["id,x,note", *(f"r{k},{k / 7},plain" for k in range(60))]
    path.write_bytes("\n".join([*lines, row, *lines[1:]]).encode("latin-1"))
    with pytest.raises(InputError) as error:
        joined(path)
    assert message in str(error.value) and str(path) in str(error.value)


def test_a_late_row_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.concat([frame(), frame().with_columns(pl.col("x") * 1e31)]).write_parquet(path)
    with pytest.raises(InputError, match=r"rows.parquet row 61: column 'x' holds 1.2"):
        joined(path)


def test_a_damaged_file_and_one_without_rows(tmp_path):
    path = tmp_path / "rows.parquet"
    frame().write_parquet(path)
    content = bytearray(path.read_bytes())
    content[10:60] = bytes(50)
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"rows.parquet is incomplete or not a Parquet file"):
        joined(path)
    frame()[:0].write_parquet(path)
    with pytest.raises(InputError, match=r"rows.parquet has no rows"):
        joined(path)

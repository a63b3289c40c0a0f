"""Where records of CSV end, found without a reader of CSV, is where the reader finds it."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.csv_text import check_csv, read_csv, record_ends
from unskew.errors import InputError

CELLS = st.text(alphabet='a"1, \n;é', max_size=6)


@given(st.text(alphabet='a",\n\r', max_size=40))
def test_records_end_where_a_reader_says_or_nothing_is_said(text):
    raw = text.encode()
    ends = record_ends(raw, ",")
    if ends is None:
        return
    pieces = [raw[start:end].decode() for start, end in zip([0, *ends[:-1]], ends, strict=True)] if len(ends) else []
    reader = csv.reader(io.StringIO(text[: ends[-1] if len(ends) else 0], newline=""), strict=True)
    assert [next(csv.reader(io.StringIO(piece, newline=""), strict=True), []) for piece in pieces] == list(reader)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_all_that_is_written_as_csv_is_told_apart(rows, end):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end).writerows(rows)
    ends = record_ends(file.getvalue().encode(), ",")
    assert ends is not None and len(ends) == len(rows)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_cells_come_back(rows):
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows([("x", "y"), *rows])
    found = read_csv("rows.csv", file.getvalue().encode(), ",")
    assert found.rows() == [tuple(cell or None for cell in row) for row in rows]


def test_a_late_line_of_another_length_is_named():
    raw = b"x,y\n" + b'"1","two\nlines"\n' * 5 + b"1,2,3\n"
    with pytest.raises(InputError, match=r"rows.csv line 12 has 3 cells; the header has 2."):
        check_csv("rows.csv", raw, ",")

"""Text for spreadsheets: nothing in it is run, and it comes back as it was."""

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from unskew.campaigns.tables.files import read_table
from unskew.campaigns.tables.frames import as_csv, put_frame
from unskew.spreadsheets import csv_lines, guarded, unguarded

ODD = st.text(st.sampled_from(" '=+-@\t\r\n,;|\"\u2028\uff1d\uff0b\uff0d\uff20ab17.e"))
FORMULA = re.compile(r"\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r" *[+-]?([\d.]*(e[+-]?\d+)?) *")


@given(ODD | st.text())
def test_guarding_can_be_undone(text: str) -> None:
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", ["-17", "+1.5e3", "-", "+", "", "a-b", "it's", "-.5", " -17", "3'-4'"])
def test_what_is_harmless_stays(text: str) -> None:
    assert guarded(text) == text == unguarded(text)


@given(st.lists(st.lists(ODD, min_size=2, max_size=3), min_size=1, max_size=3))
@example([["x;=1+1", "a|=1+1"], ['"=1+1', "a\t=1+1"], [' =1+1"', "a\n=1+1"]])
@example([["", ";"], ["-", ""]])
@settings(max_examples=300)
def test_no_cell_begins_a_formula_whatever_separates_cells(rows: list[list[str]]) -> None:
    text = csv_lines(rows)
    assert [[unguarded(cell) for cell in row] for row in csv.reader(io.StringIO(text, newline=""))] == rows
    for separator in ",;\t|":
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, quoting=quoting):
                for cell in (cell.strip('"\n') for cell in row):
                    alone = NUMBER.match(cell).end() == len(cell.split(",")[0])  # a number, or a sign, is harmless
                    assert alone or not FORMULA.match(cell), text


@pytest.mark.parametrize("cell", ["a;b", "a|b", "a\tb", "a,b", "a\rb", "a\nb"])
def test_separators_are_quoted(cell: str) -> None:
    assert csv_lines([[cell, "x"]]) == f'"{cell}",x\n'


def test_a_frame_comes_back_from_csv_and_is_exact_in_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame({"=id": ["=a", "x;=1", "'=b", "-17", "+"], "@y": ["-", "+", "-", "+", "=c"], "p": [0.5] * 5})
    assert as_csv(frame).startswith("'=id,'@y,p\n'=a,-,0.5\n")
    for name in ("out.csv", "out.parquet"):
        put_frame(tmp_path / name, frame)
        assert read_table(tmp_path / name, text=["=id", "@y"]).equals(frame)
    assert pl.read_parquet(tmp_path / "out.parquet").equals(frame)

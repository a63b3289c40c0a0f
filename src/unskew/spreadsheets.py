r"""CSV that people open in spreadsheets: no text in it is run as a formula, and all of it can be read back as it was.

A formula character is guarded by an apostrophe in front of it, where it begins a cell or might: after a separator, a
quote or a line end inside the text, since spreadsheets differ in where they cut a line. Blanks before it do not help.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

_ENDS = r',;\t|"\r\n\v\f\x85\u2028\u2029'
"""What a spreadsheet may take for the end of a cell."""

_BEGINS = rf"(?<![^{_ENDS}])"
"""At the beginning, or after one of these ends."""

_FORMULA = r"[ ']*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]"
"""A formula character, also in full width, after any blanks and apostrophes."""

_UNGUARDED = re.compile(rf"{_BEGINS}(?={_FORMULA})")
_GUARDED = re.compile(rf"{_BEGINS}'(?={_FORMULA})")
_HARMLESS = re.compile(r" *[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)? *", re.ASCII)
"""Numbers and lone signs, such as the ids -17 and the classes + and -."""

SPECIAL = rf"['{_ENDS}]|^ *[=+\-@\uff1d\uff0b\uff0d\uff20]"
"""What text must hold to be guarded or quoted; most text holds none of it."""

_LINE_END = "\r\n;\t|"
"""Python's writer quotes cells that hold a character of its line end. We cut this off and write a newline."""


def guarded(text: str) -> str:
    """The text with one more apostrophe in front of whatever might begin a formula. Plain numbers stay as they are.

    >>> guarded("=1+1"), guarded("x;=1+1"), guarded("'=1+1"), guarded("-17"), guarded("a-b")
    ("'=1+1", "x;'=1+1", "''=1+1", '-17', 'a-b')
    """
    return text if _HARMLESS.fullmatch(text) else _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """The text that was guarded; text that was not is unchanged, unless it looks guarded.

    >>> unguarded("'=1+1"), unguarded("x;'=1+1"), unguarded("''=1+1"), unguarded("-17"), unguarded("'tis")
    ('=1+1', 'x;=1+1', "'=1+1", '-17', "'tis")
    """
    return _GUARDED.sub("", text)


def unguarded_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame of text without the apostrophes in its cells."""
    columns = []
    for column in frame.iter_columns():
        seen = column.filter(column.str.contains("'", literal=True).fill_null(False)).unique()
        changed = {text: plain for text in seen if (plain := unguarded(text)) != text}
        columns.append(column.replace(changed) if changed else column)
    return pl.DataFrame(columns)


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    r"""Rows as CSV. Text is guarded, and quoted where it holds what any spreadsheet takes for a separator.

    >>> csv_lines([["id", "note"], [-17, "=1+1"], ["a;b", None], ["c", True]])
    'id,note\n-17,\'=1+1\n"a;b",\nc,true\n'
    """
    lines = _Lines()
    csv.writer(lines, lineterminator=_LINE_END).writerows(map(_cell, row) for row in rows)
    return "".join(lines)


class _Lines(list[str]):
    """The lines that a CSV writer wrote."""

    def write(self, line: str) -> None:
        self.append(line.removesuffix(_LINE_END) + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return guarded(value) if isinstance(value, str) else value

"""A CSV file as a frame of text in which every row is as long as the header, or one line that says what is wrong."""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unskew.errors import InputError
from unskew.reading import SMALL, SWELLING, half_memory, most_text, read_file
from unskew.spreadsheets import unguarded, unguarded_cells

MOST_COLUMNS = 2_000
"""More are refused: nobody can read such a row, and a model of them needs more labels than anyone buys."""

LARGEST_CELL = 1_000_000
"""Bytes. More in one cell is almost always a quote that was never closed."""

MOST_CELLS = 1_000_000
"""In one line. Python's reader makes a list of them before anyone can count them."""

BLOCK = 16_000_000
"""Bytes looked at a time."""

DECIMAL_COMMA = r"^\s*[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?\s*$"
"""A number such as 12,5 or 1.234,50."""

BOM = b"\xef\xbb\xbf"
"""The byte order mark."""

Places = NDArray[np.intp]


def read_csv(path: str | Path, raw: bytes, separator: str, left_out: int = 0) -> pl.DataFrame:
    """All cells as text, "" as missing, without the apostrophes of `spreadsheets`.

    The path is for messages, and so is the number of lines that were left out after the header.
    """
    names, height = check_csv(path, raw, separator, left_out)
    return cells(raw, separator, names, height)


def separator_in(raw: bytes, separator: str) -> str:
    r"""What separates the cells of a text: many files called .csv have semicolons or tabs.

    >>> separator_in(b"id;age;size, cm\n1;30;1,72\n", ","), separator_in(b"age,note\n30;1\n", ",")
    (';', ',')
    """

    def width(one: str) -> int:
        try:
            return len(next(records(raw, one))[1])
        except (csv.Error, StopIteration, UnicodeDecodeError):  # whoever reads it says what is wrong
            return 0

    return max(",;\t", key=width) if separator == "," else separator  # the first of those that are level


def check_csv(path: str | Path, raw: bytes, separator: str, left_out: int = 0) -> tuple[list[str], int]:
    """The names of the columns, and the number of rows, all of which are as long as the header."""
    names = check_header(path, raw, separator)
    try:
        rows = islice(records(raw, separator), 1, None)
        height = _even(raw, separator, len(names)) or _checked(path, rows, len(names), left_out)
    except csv.Error as error:
        raise _broken(path, raw, separator, error, left_out) from None
    return names, height


def check_header(path: str | Path, raw: bytes, separator: str) -> list[str]:
    """The names of the columns, which are all there and all different."""
    try:
        names = [unguarded(name) for name in next(records(raw, separator))[1]]
    except csv.Error as error:
        raise _broken(path, raw, separator, error, 0) from None
    return _checked_names(path, names, separator)


def cells(
    raw: bytes, separator: str, names: Sequence[str], height: int, columns: Collection[str] | None = None
) -> pl.DataFrame:
    """The cells of text that was checked before, of some columns or all, in the order of the text."""
    wanted = [k for k, name in enumerate(names) if columns is None or name in columns]
    try:
        frame = pl.read_csv(raw, separator=separator, infer_schema=False, null_values="", columns=wanted)
    except pl.exceptions.PolarsError:
        frame = pl.DataFrame()
    if frame.shape != (height, len(wanted)):  # Polars cannot read many quotes inside cells, such as 5" pipe
        rows = [row or [""] for _, row in islice(records(raw, separator), 1, None)]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        frame = frame.select(names[k] for k in wanted).with_columns(pl.all().replace("", None))
    else:
        frame.columns = [names[k] for k in wanted]
        if b'""' in raw:  # a quoted "" is missing too
            frame = frame.with_columns(pl.all().replace("", None))
    frame = unguarded_cells(frame) if b"'" in raw else frame
    return frame.with_columns(_with_points(pl.all())) if separator == ";" and b"," in raw else frame


def _with_points(cell: pl.Expr) -> pl.Expr:
    """A number with a decimal comma as one with a point: where commas are decimal, semicolons separate cells."""
    point = cell.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    return pl.when(cell.str.contains(DECIMAL_COMMA)).then(point).otherwise(cell)


def line_of(raw: bytes, separator: str, row: int) -> int:
    r"""The line of the text on which a row begins; lines and rows differ where a quoted cell has several lines.

    >>> line_of(b'id,note\n1,"two\nlines"\n2,one\n', ",", 1)
    4
    """
    before = 0
    for k, (line, _) in enumerate(records(raw, separator)):
        if k == row + 1:
            break
        before = line
    return before + 1


def records(raw: bytes, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it ends on."""
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_CELL))
    text = io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="")
    reader = csv.reader(not_endless(text, separator), delimiter=separator, strict=True)
    for row in reader:
        yield reader.line_num, row


def not_endless(lines: Iterable[str], separator: str) -> Iterator[str]:
    """The lines, none of which has more than `MOST_CELLS` cells."""
    for line in lines:
        if line.count(separator) >= MOST_CELLS:
            raise csv.Error(f"it has more than {MOST_CELLS:,} cells")
        yield line


def content(path: Path) -> bytes:
    """The text of a .csv or .csv.gz file: UTF-8, without a byte order mark and blank lines at the end."""
    raw = read_file(path, most=half_memory())
    raw = _inflated(path, raw) if path.suffix.lower() == ".gz" else raw
    raw = raw.removeprefix(BOM)
    check_text(path, raw)
    raw = raw.rstrip(b"\r\n") + b"\n"
    if raw == b"\n":
        raise InputError(f"{path} is empty. It needs a line of column names, then one row a line.")
    return raw


def check_text(path: str | Path, raw: bytes, lines: int = 0, size: int = 0) -> None:
    """Refuse what is not UTF-8. For messages: the number of lines and the bytes before this part of the file."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw:
        raise _not_text(path)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines + raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} line {line} is not UTF-8: byte {size + error.start} is 0x{raw[error.start]:02x}. Save it as CSV "
            f"in UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8 {_name(path)} > utf8.csv"
        ) from None


def _inflated(path: Path, raw: bytes) -> bytes:
    """The content of a gzip file. It is refused as soon as it grows out of proportion, or holds what no text holds."""
    most = most_text(len(raw))
    blocks, size = [], 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            while block := file.read(BLOCK):
                size += len(block)
                if b"\0" in block:
                    raise _not_text(path)
                if size > most:
                    raise InputError(
                        f"{path} has {len(raw):,} bytes and unpacks to more than {most:,}; the most is {SWELLING} "
                        f"times as many or {SMALL:,}, and half of this machine's memory. Unpack it and name that file."
                    )
                blocks.append(block)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path} is not a whole gzip file. Compress it again, or name the file without .gz.") from None
    return b"".join(blocks)


def _not_text(path: str | Path) -> InputError:
    return InputError(
        f"{path} is not UTF-8 text: it looks like UTF-16, or is not text at all. Save it as CSV in UTF-8, or "
        f"convert it: iconv -f UTF-16 -t UTF-8 {_name(path)} > utf8.csv"
    )


def _checked_names(path: str | Path, names: list[str], separator: str) -> list[str]:
    if len(names) > MOST_COLUMNS:
        raise too_wide(path, len(names))
    if all(_is_number(name) for name in names):
        shown = separator.join(names[:4])
        raise InputError(
            f"{path} line 1 must hold the column names; got numbers: {shown:.40}. Add a line of names at the top."
        )
    for k, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"{path} line 1: column {k} has no name. Name it, or drop it (pandas: to_csv(..., index=False))."
            )
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"{path} line 1: {times} columns are called {name!r}. Give each its own name.")
    if len(names) == 1 and any(other in names[0] for other in ";\t,"):
        found = next(other for other in ";\t," if other in names[0])
        raise InputError(
            f"{path} line 1 is one cell with {names[0].count(found)} times {found!r} in it, where {separator!r} must "
            f"separate columns. Save with {separator!r}{', or name the file .tsv' if found == chr(9) else ''}."
        )
    return names


def _even(raw: bytes, separator: str, width: int) -> int | None:
    """The number of rows, if each record is as long as the header. Quicker than parsing CSV; None if it cannot tell."""
    height, start = -1, 0
    while start < len(raw):
        block = raw[start : start + BLOCK]
        ends = record_ends(block, separator)
        if ends is None or not len(ends):
            return None
        between = _outside(block, separator.encode(), _quotes(block))
        count = np.searchsorted(between, ends)
        long = np.diff(ends, prepend=0)
        if long.max() > LARGEST_CELL or long.min() < 2 or (np.diff(count, prepend=0) != width - 1).any():
            return None
        height, start = height + len(ends), start + int(ends[-1])
    return height


def record_ends(raw: bytes, separator: str) -> Places | None:
    r"""Where each whole record ends, in text that begins with one. None if a quote is where only a reader can tell.

    >>> record_ends(b'1,"two\nlines"\n2,one\n3,', ",").tolist()
    [14, 20]
    >>> record_ends(b'1,5" pipe\n2,7" pipe\n', ",") is None
    True
    """
    if raw.count(b"\r") - raw.endswith(b"\r") != raw.count(b"\r\n"):
        return None
    quotes = _quotes(raw)
    ends = _outside(raw, b"\n", quotes) + 1
    quotes = quotes[: np.searchsorted(quotes, ends[-1] if len(ends) else 0)]
    text = np.frombuffer(b"\n" + raw, dtype=np.uint8)  # one byte more in front: the place before a byte has its number
    opened, closed = quotes[::2], quotes[1::2]
    again = np.append(closed[:-1] + 1 == opened[1:], False)[: len(closed)]  # a quote within quotes is written twice
    free = _any_of(text[opened], b"\n" + separator.encode()) | np.append(False, again)[: len(opened)]
    shut = _any_of(text[closed + 2], b"\r\n" + separator.encode()) | again
    return ends if bool(free.all() and shut.all()) else None


def _quotes(raw: bytes) -> Places:
    return np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) == ord('"'))


def _outside(raw: bytes, sought: bytes, quotes: Places) -> Places:
    """Where a byte is that is not within quotes."""
    found = np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) == ord(sought))
    return found[np.searchsorted(quotes, found) % 2 == 0] if len(quotes) else found


def _any_of(text: NDArray[np.uint8], wanted: bytes) -> NDArray[np.bool_]:
    return np.isin(text, np.frombuffer(wanted, dtype=np.uint8))


def _checked(path: str | Path, rows: Iterator[tuple[int, list[str]]], width: int, left_out: int) -> int:
    """The number of rows, all of which are as long as the header, with no cell too large."""
    height, before = 0, 1
    for line, row in rows:
        if len(row) != width and (row or width > 1):  # in a single column, an empty line is a missing value
            told = f"has {len(row)} cells" if row else "is empty"
            raise InputError(
                f"{path} line {before + 1 + left_out} {told}; the header has {width}. "
                "Put cells that hold a separator in quotes, and write every cell, also a missing one."
            )
        height, before = height + 1, line
    if not height:
        raise InputError(f"{path} has column names and no rows. It needs one row a line below them.")
    return height


def _broken(path: str | Path, raw: bytes, separator: str, error: csv.Error, left_out: int) -> InputError:
    line = 0
    try:
        for line, _ in records(raw, separator):  # noqa: B007
            pass
    except csv.Error:
        pass
    line += left_out
    if "more than" in str(error):
        return InputError(f"{path} line {line + 1}: {error}. Write one row a line.")
    if "limit" in str(error):
        return InputError(
            f"{path} line {line + 1}: a cell is larger than {LARGEST_CELL:,} bytes. Close the quote if one was left "
            "open; else keep large content in files of its own and put their names in the column."
        )
    told = str(error).replace("\t", "\\t")
    return InputError(f"{path} line {line + 1} is not CSV: {told}. A quote within quotes is written twice.")


def _name(path: str | Path) -> str:
    return str(path).rpartition("/")[2]


def too_wide(path: str | Path, columns: int) -> InputError:
    """The error for a file of too many columns."""
    return InputError(
        f"{path} has {columns:,} columns; the most is {MOST_COLUMNS:,}. Keep those a person would look at."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True

"""The footer of a Parquet file: what it says about the rows, read from its bytes alone.

Polars tells the schema and the number of rows of a file, but not how the rows are cut into groups. Reads that end where
a group ends are twice as fast. So this reads the few numbers that it needs, in Thrift's compact protocol.
"""

from collections.abc import Callable
from typing import Any

END = 8
"""A Parquet file ends with the length of its footer, in four bytes, and the four letters PAR1."""

ROWS, ROW_GROUPS = 3, 4
"""The numbers of two fields of a footer. A row group, too, has its rows as field 3."""

STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)


def footer_length(end: bytes) -> int:
    r"""The length of the footer, from the last eight bytes of a file. A ValueError says that it is no Parquet file.

    >>> footer_length(b"\x05\x00\x00\x00PAR1")
    5
    """
    if len(end) != END or end[4:] != b"PAR1":
        raise ValueError("it does not end as a Parquet file does")
    return int.from_bytes(end[:4], "little")


def rows_of_groups(footer: bytes) -> tuple[int, ...]:
    """The number of rows of each row group. A ValueError says that the footer is damaged."""
    try:
        found = _Reader(footer).struct({ROWS: _Reader.signed, ROW_GROUPS: lambda reader: reader.each(_rows)})
        rows, groups = found[ROWS], found[ROW_GROUPS]
    except (IndexError, KeyError, RecursionError):
        raise ValueError("its footer is damaged") from None
    if min(groups, default=0) < 0 or sum(groups) != rows:
        raise ValueError("its footer is damaged")
    return tuple(groups)


def _rows(reader: "_Reader") -> int:
    rows: int = reader.struct({ROWS: _Reader.signed})[ROWS]
    return rows


class _Reader:
    """A place in the bytes. Reading beyond their end is an IndexError."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def unsigned(self) -> int:
        """A whole number, seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def signed(self) -> int:
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def struct(self, wanted: dict[int, Callable[["_Reader"], Any]]) -> dict[int, Any]:
        """What `wanted` reads of a struct, by the number of the field; other fields are skipped."""
        found, field = {}, 0
        while kind := (head := self.byte()) & 15:
            field = field + (head >> 4) if head >> 4 else self.signed()
            if field in wanted:
                found[field] = wanted[field](self)
            else:
                self.skip(kind)
        return found

    def each(self, read: Callable[["_Reader"], Any]) -> list[Any]:
        """What `read` makes of each element of a list."""
        return [read(self) for _ in range(self.size()[0])]

    def size(self) -> tuple[int, int]:
        """The length of a list, and the kind of its elements."""
        head = self.byte()
        size = self.unsigned() if head >> 4 == 15 else head >> 4
        if size > len(self.content):
            raise IndexError
        return size, head & 15

    def skip(self, kind: int) -> None:
        if kind in (I16, I32, I64):
            while self.byte() >= 128:
                pass
        elif kind == BINARY:
            length = self.unsigned()
            self.at += length
        elif kind == STRUCT:
            self.struct({})
        elif kind in (LIST, SET):
            size, element = self.size()
            for _ in range(size):
                self.byte() if element in (TRUE, FALSE) else self.skip(element)
        elif kind in (BYTE, DOUBLE):
            self.at += 1 if kind == BYTE else 8
        elif kind not in (TRUE, FALSE):  # a map, which Parquet does not use, or nonsense
            raise IndexError

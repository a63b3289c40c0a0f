"""The footer of an Arrow file (its IPC format, also called Feather): how the rows are cut into record batches.

Polars tells the schema of a file, but not its batches. The footer says where they are, and each begins with the number
of its rows. Both are FlatBuffers: a table has a list of the places of its fields.
"""

import struct
from typing import IO

END = 10
"""An Arrow file ends with the length of its footer, in four bytes, and the six letters ARROW1."""

BATCHES, HEADER, LENGTH = 3, 2, 0
"""The numbers of fields: the batches of a footer, the header of a message, and the rows of a batch."""

BLOCK = 24
"""Bytes in which a footer says where a batch is: where it begins, the length of its head, and that of its body."""


def footer_length(end: bytes) -> int:
    r"""The length of the footer, from the last ten bytes of a file. A ValueError says that it is no Arrow file.

    >>> footer_length(b"\x05\x00\x00\x00ARROW1")
    5
    """
    if len(end) != END or end[4:] != b"ARROW1":
        raise ValueError("it does not end as an Arrow file does, and streams cannot be used")
    return int.from_bytes(end[:4], "little")


def rows_of_batches(file: IO[bytes], size: int, footer: bytes) -> tuple[int, ...]:
    """The number of rows of each record batch of a file. A ValueError says that it is damaged."""
    try:
        return tuple(_rows(file, size, *block) for block in _blocks(footer))
    except struct.error:
        raise ValueError("its footer is damaged") from None


def _blocks(footer: bytes) -> list[tuple[int, int, int]]:
    """Where each batch begins, the length of its head, and that of its body."""
    held = _field(footer, _number("<I", footer, 0), BATCHES)
    if held is None:
        return []
    first = held + _number("<I", footer, held)
    count = _number("<I", footer, first)
    if count * BLOCK > len(footer):
        raise struct.error
    return [struct.unpack_from("<qi4xq", footer, first + 4 + BLOCK * k) for k in range(count)]


def _rows(file: IO[bytes], size: int, start: int, head: int, body: int) -> int:
    if min(start, head, body) < 0 or start + head + body > size:
        raise struct.error
    file.seek(start)
    message = file.read(head)
    message = message[8 if message[:4] == b"\xff\xff\xff\xff" else 4 :]  # before it is its length
    held = _field(message, _number("<I", message, 0), HEADER)
    if held is None:
        raise struct.error
    rows = _field(message, held + _number("<I", message, held), LENGTH)
    count = 0 if rows is None else _number("<q", message, rows)
    if count < 0:
        raise struct.error
    return count


def _field(content: bytes, table: int, number: int) -> int | None:
    """Where a field of a table is, or None if it has its default."""
    places = table - _number("<i", content, table)
    if 4 + 2 * number >= _number("<H", content, places):
        return None
    offset = _number("<H", content, places + 4 + 2 * number)
    return table + offset if offset else None


def _number(kind: str, content: bytes, at: int) -> int:
    if at < 0:  # Python would count from the end
        raise struct.error
    found: int = struct.unpack_from(kind, content, at)[0]
    return found

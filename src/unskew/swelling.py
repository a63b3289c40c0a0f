"""The text of a table in memory: in some files, a value of a million bytes is written once and stands in all rows.

The processes that try to read files import it, so it loads nothing but the standard library.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

TOO_LARGE = 4
"""The exit status of a process that found too much text; then it has printed `Text` as JSON."""

SPARE = 300_000_000
"""Bytes that a process may take beside twice what it reads."""

EVERY = 0.01
"""Seconds from one look at the memory of a process to the next."""

STATE = Path("/proc/self/statm")


class Text:
    """The bytes of all text that was read, and the column with most of them."""

    def __init__(self, most: int) -> None:
        self.most, self.total = most, 0
        self.columns: dict[str, int] = {}

    def add(self, frame: Any) -> bool:
        """Count a Polars frame; whether all is still within the limit.

        Values that are the same are stored once there, so this takes hardly any memory.
        """
        for column in frame.iter_columns():
            held = _bytes(column)
            self.columns[column.name] = self.columns.get(column.name, 0) + held
            self.total += held
        return self.total <= self.most

    def refuse(self) -> int:
        """Print what was counted."""
        column = max(self.columns, key=lambda name: self.columns[name])
        sys.stdout.write(json.dumps({"bytes": self.total, "column": column}))
        return TOO_LARGE


def _bytes(column: Any) -> int:
    kind = str(column.dtype.base_type())
    if kind == "String":
        return int(column.str.len_bytes().cast(int).sum())
    if kind == "Binary":
        return int(column.bin.size().cast(int).sum())
    if kind in ("Categorical", "Enum"):
        return int(column.cat.len_bytes().cast(int).sum())
    return int(column.estimated_size()) if column.dtype.is_nested() else 0


def watch(text: int, values: int) -> None:
    """End this process as soon as it takes more memory than such a table can need, if the system shows it.

    A damaged or hostile page may unpack to anything, whatever the file says of it.
    """
    if STATE.exists():
        most = _anonymous() + SPARE + 2 * text + 16 * values
        threading.Thread(target=_watch, args=(most,), daemon=True).start()


def _watch(most: int) -> None:
    while (held := _anonymous()) <= most:
        time.sleep(EVERY)
    sys.stdout.write(json.dumps({"bytes": held, "column": None}))
    sys.stdout.flush()
    os._exit(TOO_LARGE)


def _anonymous() -> int:
    """The bytes of memory of this process that are no part of a file."""
    _, resident, shared, *_ = map(int, STATE.read_text().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

"""An append-only store of finished results, one JSON line each, under keys made from everything they depend on."""

import fcntl
import hashlib
import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import unskew
from unskew.errors import InputError
from unskew.writing import Output

NAME = "results.jsonl"

BEGINNING = b'{"key":"'
"""How every line begins."""

ROOMS = ("pools", "sampling", "models", "theory", "estimation", "methods")
"""Rooms of the package on which the numbers depend, in addition to the modules at its top."""

EXPERIMENTS = ("budget", "curves", "datasets", "metrics", "protocols", "simulation", "tasks")
"""Modules in this folder on which the numbers depend."""


def code_version() -> str:
    """A digest of the modules on which the numbers depend. Changes to documentation or commands do not affect it."""
    root = Path(unskew.__file__).parent
    parts = [*sorted(root.glob("[!_]*.py")), root / "_kernels.py", root / "_look.py"]
    parts += [part for room in ROOMS for part in sorted((root / room).rglob("*.py"))]
    parts += [root / "experiments" / f"{name}.py" for name in EXPERIMENTS]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(str(part.relative_to(root)).encode() + b"\0" + part.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def key_of(what: dict[str, Any]) -> str:
    """The key of a result: a digest of everything that it depends on."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:32]


def holds_results(folder: Path) -> bool:
    """Whether a run wrote to this folder: its first line is a result."""
    try:
        with open(folder / NAME, "rb") as file:
            return {"key", "code"} <= set(json.loads(file.readline()))
    except (OSError, ValueError, TypeError):
        return False


class Store:
    """The results in a folder. `put` returns once the line is on disk; a torn last line is dropped on opening.

    Use as a context manager: only one process writes to a folder at a time.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.code = code_version()
        self.records: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Self:
        if self.path.is_symlink():
            raise InputError(
                f"{self.path} is a link, and results would be written to another file. Name another --out."
            )
        Output(self.path, "unskew reproduce", ours=lambda _: True, make_folder=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[bytes] = open(self.path, "a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InputError(
                f"another run is writing to {self.path.parent}. Wait for it or choose another --out."
            ) from None
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _load(self) -> None:
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n") and (whole or line.startswith(BEGINNING) or BEGINNING.startswith(line)):
                break  # cut off when the process was killed: that result was never finished
            try:
                record = json.loads(line)
                key, code = record["key"], record["code"]
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{self.path}, line {number}, is not a result. Choose another --out.") from None
            if code != self.code:
                raise InputError(
                    f"{self.path.parent} holds results of code version {code}; this is {self.code}. "
                    "Choose another --out, or run the version that made them."
                )
            self.records[key] = record
            whole += len(line)
        self._file.truncate(whole)

    def get(self, key: str) -> dict[str, Any] | None:
        """The finished result with that key, if any; a failed one does not count."""
        record = self.records.get(key)
        return record if record is not None and "failed" not in record else None

    def put(self, key: str, record: dict[str, Any]) -> dict[str, Any]:
        """Append a result, or a failure, under its key."""
        record = {"key": key, "code": self.code, **record}
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records[key] = record
        return record

"""Processes that start at once, because they are forked from one that has imported everything and done nothing."""

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

HANG = 10.0
"""Seconds after which a command that has nobody to wait for hangs."""

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(
    ["unskew.campaigns.creating", "unskew.cli.commands", "unskew.campaigns.exchange.label_files", "unskew.web.server",
     "unskew.campaigns.learning.fitting", "unskew.methods.pools.unskew", "unskew.models.committee",
     "sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql", "psycopg", "hypothesis", "faults.workers"]
)  # fmt: skip


def start(target: Callable[..., None], *args: Any) -> Any:
    """A process that is running."""
    child = context.Process(target=target, args=args)
    child.start()
    return child


def end(child: Any, how: int = signal.SIGKILL) -> None:
    """Kill a process, or ask it to end, and wait until it has."""
    with suppress(ProcessLookupError):
        os.kill(child.pid, how)
    child.join()
    child.close()


@dataclass(frozen=True)
class Ran:
    """A command that was run: its exit status, what it printed, and how long it took."""

    status: int
    out: str
    err: str
    seconds: float

    @property
    def refused(self) -> bool:
        """Whether it refused as it should: status 2 and one line, which can be printed anywhere."""
        line = self.err.removesuffix("\n")
        return self.status == 2 and bool(line) and "\n" not in line and "Traceback" not in line


def command(words: Sequence[str]) -> Ran:
    """Run a command of ours in this process, and catch everything it prints or raises."""
    from unskew.cli import main

    begun = time.monotonic()
    with _caught(1) as out, _caught(2) as err:
        try:
            status = main(list(words))
        except BaseException:  # Rust's panics are no Exception
            status = 1
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        seconds = time.monotonic() - begun
        return Ran(status, _text(out), _text(err), seconds)


@contextmanager
def _caught(number: int) -> Iterator[IO[bytes]]:
    """A file in place of the standard output or error: Rust prints its panics there, past Python's own streams."""
    with tempfile.TemporaryFile() as file:
        before = os.dup(number)
        os.dup2(file.fileno(), number)
        try:
            yield file
        finally:
            os.dup2(before, number)
            os.close(before)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def commands_into(file: Path, environment: dict[str, str], every: Sequence[Sequence[str]]) -> None:
    """Run commands one after the other and write what came of each to a file, a line each. The target of a process."""
    os.environ.update(environment)
    sys.stdin = open(os.devnull)  # noqa: SIM115  # as long as the process lives
    with open(file, "w") as notes:
        for words in every:
            ran = command(words)
            print(json.dumps(vars(ran)), file=notes, flush=True)


def run_commands(
    file: Path, every: Sequence[Sequence[str]], *, environment: dict[str, str] | None = None, limit: float = HANG
) -> tuple[list[Ran], str]:
    """Run commands in a process of their own: what came of each, and why the last did not end, or ""."""
    file.unlink(missing_ok=True)
    child = start(commands_into, file, environment or {}, every)
    child.join(limit * len(every))
    hangs = child.is_alive()
    child.kill()
    child.join()
    status = child.exitcode
    child.close()
    ran = [Ran(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []
    if len(ran) == len(every):
        return ran, ""
    return ran, f"no end within {limit:g} s" if hangs else f"the process died with status {status}"

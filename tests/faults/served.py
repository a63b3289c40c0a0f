"""`unskew serve` as a process that can be killed, with its planner."""

import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from faults.forks import start

PATIENCE = 60.0


def free_port() -> int:
    """A port that nobody uses, so that a server can come back to the same one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def _serve(folder: Path, port: int, names: list[str], printed: Path, again: float) -> None:
    from unskew.cli import main
    from unskew.web import planner

    os.setsid()  # so that server and planner can be killed together
    planner.AFTER_TROUBLE = again
    for number, file in ((1, printed), (2, printed.with_suffix(".err"))):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    words = [word for name in names for word in ("--annotator", name)]
    sys.exit(main(["serve", str(folder), "--port", str(port), "--json", *words]))


class Server:
    """A server that is forked, killed and forked again on the same port."""

    def __init__(self, folder: Path, names: list[str], scratch: Path, *, again: float = 5.0) -> None:
        self.port, self.tokens = free_port(), dict[str, str]()
        self._printed = scratch / "served.out"
        self._args = (folder, self.port, names, self._printed, again)
        self._child: Any = None

    @property
    def pid(self) -> int:
        pid: int = self._child.pid
        return pid

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill(alone=False)

    def start(self) -> None:
        """Start it, and wait until it has printed its links."""
        self._printed.unlink(missing_ok=True)
        self._child = start(_serve, *self._args)
        until = time.monotonic() + PATIENCE
        while not (self._printed.exists() and self._printed.read_text().endswith("\n")):
            assert self._child.is_alive(), f"unskew serve does not start: {self.complaints()}"
            assert time.monotonic() < until, "unskew serve prints no links"
            time.sleep(0.01)
        links = json.loads(self._printed.read_text())
        self.tokens |= {name: link.partition("#")[2] for name, link in links["annotators"].items()}

    def kill(self, *, alone: bool) -> None:
        """kill -9, of the server alone or with all its processes."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL) if alone else os.killpg(self.pid, signal.SIGKILL)
        self._child.join()

    def complaints(self) -> str:
        """What all of them printed to the standard error."""
        file = self._printed.with_suffix(".err")
        return file.read_text(errors="replace") if file.exists() else ""

    def planner(self) -> int | None:
        """The planner's process, once it has the ledger open."""
        for thread in Path(f"/proc/{self.pid}/task").iterdir():
            with suppress(OSError):  # it ended just now
                for child in (thread / "children").read_text().split():
                    if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes() and any(
                        "ledger.sqlite" in os.readlink(file) for file in Path(f"/proc/{child}/fd").iterdir()
                    ):
                        return int(child)
        return None

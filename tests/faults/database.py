"""A private PostgreSQL that can be crashed and started again."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self


class NoDatabase(Exception):
    """PostgreSQL is not installed."""


class Database:
    """A PostgreSQL server of Debian's packages, in a folder of its own, reached through a socket there."""

    def __init__(self) -> None:
        servers = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        if not servers:
            raise NoDatabase("no PostgreSQL in /usr/lib/postgresql: install Debian's postgresql")
        self.bin = servers[-1].parent
        self.folder = Path(tempfile.mkdtemp(prefix="unskew-faults-", dir="/tmp"))
        self.data = self.folder / "data"
        self.url = f"postgresql://unskew@/postgres?host={self.folder}"
        self._as_owner: list[str] = []
        if os.geteuid() == 0:  # the server refuses to run as root
            self._as_owner = ["runuser", "-u", "postgres", "--"]
            shutil.chown(self.folder, "postgres")

    def __enter__(self) -> Self:
        self._run("initdb", "-D", self.data, "-U", "unskew", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(AssertionError):
            self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        # fsync=off: processes crash here, not the machine, and what was written to the kernel stays.
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off -c max_connections=200"
        for attempt in range(50):  # children of a killed server must end first
            with suppress(AssertionError):
                self._run("pg_ctl", "-D", self.data, "-o", options, "-l", self.folder / "log", "-w", "start")
                return
            time.sleep(0.1 + 0.02 * attempt)
        raise AssertionError(f"PostgreSQL does not start again: {(self.folder / 'log').read_text()[-1000:]}")

    def crash(self, *, killed: bool) -> None:
        """Crash it, with kill -9 or by a stop that lets nothing finish, and start it again."""
        if killed:
            os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        else:
            self._run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        self.start()

    def _run(self, program: str, *words: str | Path) -> None:
        command = [*self._as_owner, str(self.bin / program), *map(str, words)]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert done.returncode == 0, f"{command} ended with {done.returncode}"

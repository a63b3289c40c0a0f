"""Slow work in a process of its own: it reports how far it is, it can be cancelled, and it ends with the server."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock, Thread
from typing import Any, Literal

from unskew.errors import UnskewError

State = Literal["running", "done", "failed", "cancelled"]
Report = Callable[[int, int], None]
EVERY = 0.1
"""Seconds between two reports."""
PATIENCE = 5.0
"""Seconds in which a job that was cancelled may put away what it made."""


class Job:
    """A piece of work: `work(report, *args)`, called in a new process. `then` is given its result, in a thread.

    `work` must be a function of a module. What it raises as an `UnskewError` becomes `problem`, in one line.
    """

    def __init__(self, what: str, work: Callable[..., Any], args: tuple[Any, ...], then: Callable[[Any], None]) -> None:
        self.what, self.state, self.problem = what, "running", ""
        self.done = self.total = 0
        self._then, self._lock, self._cancelled = then, Lock(), False
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_child, args=(there, work, args), daemon=True)
        self._process.start()
        there.close()
        self._thread = Thread(target=self._watch, name="unskew-job", daemon=True)
        self._thread.start()

    state: State

    @property
    def running(self) -> bool:
        return self.state == "running"

    def cancel(self) -> None:
        """End the work, and wait until it has ended. What is done already stays done."""
        with self._lock:
            if self.running:
                self._cancelled = True
                self._process.terminate()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self._process.kill()
            self._thread.join(PATIENCE)

    def _watch(self) -> None:
        """Take in what the process says until it ends."""
        said: tuple[str, Any] | None = None
        with self._here, suppress(EOFError, OSError):
            while said is None:
                kind, value = self._here.recv()
                if kind == "progress":
                    self.done, self.total = value
                else:
                    said = kind, value
        self._process.join(PATIENCE)
        self._process.kill()  # if it has said everything and still does not end
        self._process.join()
        with self._lock:
            if said is not None and said[0] == "done":
                self._then(said[1])
                self.state = "done"
            elif self._cancelled:
                self.state = "cancelled"
            else:
                status = self._process.exitcode
                self.problem = said[1] if said else f"the work broke off (status {status}). The server's log says more."
                self.state = "failed"


def _child(pipe: Connection, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """The process. It ends when it is told to, and when the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both processes; the server decides when to stop
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was made is put away
    Thread(target=_end_with, args=(pipe,), daemon=True).start()
    last = 0.0

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY or done >= total:
            last = time.monotonic()
            pipe.send(("progress", (done, total)))

    try:
        pipe.send(("done", work(report, *args)))
    except UnskewError as error:
        pipe.send(("failed", " ".join(str(error).split())))
    except MemoryError:
        pipe.send(("failed", "the server has not enough memory for this. Use smaller tables, or a larger machine."))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it is ending


def _end_with(pipe: Connection) -> None:
    """Ends this process once nobody listens to it any more."""
    with suppress(EOFError, OSError):
        pipe.recv()
    os.kill(os.getpid(), signal.SIGTERM)

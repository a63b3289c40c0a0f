"""A progress bar with the time left: only on a terminal, and only for work that takes over two seconds."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds before the bar appears."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A callback `(done, total)` that draws a bar on stderr while the block runs, and clears it afterwards."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
    bar = Progress(*columns, TimeRemainingColumn(), TextColumn("left"), console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)
    begun = time.monotonic()

    def report(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if not bar.live.is_started and time.monotonic() - begun > PATIENCE:
            bar.start()

    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def waiting(what: str) -> Iterator[Callable[[int, int], None]]:
    """While long steps run, show what they are for and how long they have taken.

    A step whose length is known calls `(done, total)`, and then a bar shows the time left.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = (BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    spinner = Progress(*columns, console=Console(stderr=True), transient=True)
    task = spinner.add_task(what, total=None)

    def report(done: int, total: int) -> None:
        spinner.columns = (*columns, *bar) if done < total else columns
        if done < total:  # a task that is complete would stop the clock, and another step may follow
            spinner.update(task, completed=done, total=total)

    later = threading.Timer(PATIENCE, spinner.start)
    later.daemon = True
    later.start()
    try:
        yield report
    finally:
        later.cancel()
        spinner.stop()

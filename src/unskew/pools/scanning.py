"""One look at every row, in parallel: threads here, or the processes or the cluster that joblib is told to use."""

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import TypeVar

import joblib
from joblib.parallel import get_active_backend

S = TypeVar("S")
T = TypeVar("T")

BLOCK = 20_000
"""Rows whose features are looked at together."""

Progress = Callable[[int, int], None]
"""Is told, now and then, how many rows have been looked at, and how many there are."""


def spread(
    run: Callable[[S], T],
    tasks: Iterable[tuple[int, S]],
    merge: Callable[[T, T], T],
    total: int = 0,
    progress: Progress | None = None,
) -> T:
    """What `run` makes of every task, merged as the results come. Each task comes with its number of rows.

    All cores work as threads, since the loops of a look run without Python's lock, and nothing is copied. Inside
    `joblib.parallel_config`, processes or a cluster do the work as it says.

    >>> spread(abs, [(1, -3), (1, 2)], int.__add__)
    5
    """
    jobs = get_active_backend()[1] or joblib.cpu_count()
    with joblib.Parallel(jobs, prefer="threads", return_as="generator_unordered") as parallel:
        results = parallel(joblib.delayed(_counted)(run, rows, task) for rows, task in tasks)
        found: T = reduce(merge, _told(results, total, progress))
        return found


def _counted(run: Callable[[S], T], rows: int, task: S) -> tuple[int, T]:
    return rows, run(task)


def _told(results: Iterable[tuple[int, T]], total: int, progress: Progress | None) -> Iterator[T]:
    done = 0
    for rows, result in results:
        done += rows
        if progress is not None:
            progress(done, total)
        yield result

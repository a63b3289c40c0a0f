"""One look at every row, in parallel: threads here, or the processes or the cluster that joblib is told to use."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, TypeVar

import joblib
from joblib.parallel import get_active_backend

T = TypeVar("T")

BLOCK = 20_000
"""Rows whose features are looked at together."""


def spread(run: Callable[..., T], tasks: Iterable[tuple[Any, ...]], merge: Callable[[T, T], T]) -> T:
    """What `run` makes of every task, merged as the results come.

    All cores work as threads, unless the caller is inside `joblib.parallel_config`: the loops of a look run without
    Python's lock, and nothing is copied.

    >>> spread(range, [(3,), (2,)], lambda one, other: max(one, other, key=len))
    range(0, 3)
    """
    jobs = get_active_backend()[1] or joblib.cpu_count()
    with joblib.Parallel(jobs, prefer="threads", return_as="generator_unordered") as parallel:
        return reduce(merge, parallel(joblib.delayed(run)(*task) for task in tasks))

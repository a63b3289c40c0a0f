"""The whole experiment section: plan every cell, tune and measure every method, keep what is finished."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from unskew.errors import InputError, unknown
from unskew.experiments.budget import Sizes, plan
from unskew.experiments.datasets import DATASETS, Drawn, Source, check, load
from unskew.experiments.protocols import RELEASED, TRAINING, Protocol
from unskew.experiments.store import Store, code_version, key_of
from unskew.experiments.tasks import Task, made, run_task, settings
from unskew.methods.registry import PAPER_METHODS, method_named, source_digest
from unskew.pools.cluster import on_cluster
from unskew.rows import Floats
from unskew.sampling.policies import ALL_POLICIES, POLICIES

QUICK_DATASETS = ("synthetic", "svmguide1", "german")


@dataclass(frozen=True)
class Grid:
    """All combinations of data sets, policies and methods, and how thoroughly each of them is run."""

    datasets: tuple[str, ...] = DATASETS
    policies: tuple[str, ...] = POLICIES
    methods: tuple[str, ...] = PAPER_METHODS
    seed: int = 0
    protocol: Protocol = RELEASED

    def __post_init__(self) -> None:
        for kind, names, known in (("data set", self.datasets, DATASETS), ("policy", self.policies, ALL_POLICIES)):
            for name in names:
                if name not in known:
                    raise unknown(kind, name, known)
        for name in self.methods:
            method_named(name)
        for what, number, least in (
            ("tune_repeats", self.protocol.tune_repeats, 1),
            ("repeats", self.protocol.repeats, 2),
            ("seed", self.seed, 0),
        ):
            if number < least:
                raise InputError(
                    f"{what} must be at least {least}; got {number}. The released protocol has 16, 64 and seed 0."
                )
        tuned, shown = self.protocol.tune_repeats, self.protocol.repeats
        if not self.protocol.fresh and tuned != shown:
            raise InputError(
                f"protocol {self.protocol.name!r} reports on the repeats that it tunes on, so both numbers must be "
                f"equal; got {tuned} to tune and {shown} to report. Give only one of them."
            )

    def __len__(self) -> int:
        return len(self.datasets) * len(self.policies) * len(self.methods)


@dataclass(frozen=True)
class Finished:
    """The progress of a run after one more result, and that result."""

    done: int
    total: int
    record: dict[str, Any]


def reproduce(
    grid: Grid,
    out: Path,
    *,
    data_dir: str | Path | None = None,
    jobs: int = -1,
    cluster: str | None = None,
    progress: Callable[[Finished], None] | None = None,
) -> list[dict[str, Any]]:
    """Run what is not in the folder's store yet, and return all results of the grid in order, including failed ones.

    Data sets are processed one after the other, so that only one is in memory. The cells of a data set run in
    parallel, the longest first. `cluster` is the address of a Dask scheduler.
    """
    checksums = {name: check(name, data_dir) for name in grid.datasets}
    results: dict[str, dict[str, Any]] = {}
    with workers(jobs, cluster) as (parallel, share), Store(out) as store:

        def finished(key: str, record: dict[str, Any]) -> None:
            results[key] = record
            if progress is not None:
                progress(Finished(len(results), len(grid), record))

        order: list[str] = []
        for name in grid.datasets:
            source = lru_cache(partial(source_of, name, data_dir, grid.protocol))
            tasks = {key_of(_what(task, checksums[name])): task for task in _tasks(grid, name, store, source)}
            order += tasks
            for key in tasks:
                if (record := store.get(key)) is not None:
                    finished(key, record)
            todo = sorted((key for key in tasks if key not in results), key=lambda key: -_cost(tasks[key]))
            if not todo:
                continue
            drawn = share(Drawn.of(source(), grid.seed, sorted(tasks[todo[0]].blocks())))
            for key, record in parallel(joblib.delayed(_attempt)(key, tasks[key], drawn) for key in todo):
                finished(key, store.put(key, record))
    return [results[key] for key in order]


def source_of(name: str, data_dir: str | Path | None, protocol: Protocol = RELEASED) -> Source:
    """As the released program drew it, but all 3175 rows of splice; for the text, all as in its Table 5."""
    if protocol.data == "paper":
        return load(name, data_dir, all_rows=True)
    return load(name, data_dir, variant="released" if name == "synthetic" else "paper")


@contextmanager
def workers(jobs: int, cluster: str | None) -> Iterator[tuple[joblib.Parallel, Callable[[Source], Any]]]:
    """Worker processes on this machine or of a Dask cluster, and how each of them gets the data once."""
    if cluster is None:
        with joblib.Parallel(n_jobs=jobs, return_as="generator_unordered") as parallel:
            yield parallel, lambda source: source
        return
    with (
        on_cluster(cluster, code_version) as client,
        joblib.Parallel(return_as="generator_unordered") as parallel,
    ):
        yield parallel, partial(client.scatter, broadcast=True, hash=False)


def _tasks(grid: Grid, dataset: str, store: Store, source: Callable[[], Source]) -> Iterator[Task]:
    for policy in grid.policies:
        protocol = grid.protocol
        what = {"plan": [dataset, policy, grid.seed, protocol.data, protocol.logged_fraction, protocol.budget]}
        key = key_of(what)
        record = store.get(key)
        if record is None:
            chosen = _sizes(*source().population(grid.seed, 0), policy, grid)
            record = store.put(key, {**what, **asdict(chosen)})
        sizes = Sizes(record["logged_fraction"], record["label_budget"])
        for method in grid.methods:
            yield Task(dataset, policy, method, sizes.logged_fraction, sizes.label_budget, grid.seed, protocol)


def _sizes(X: Floats, y: Floats, policy: str, grid: Grid) -> Sizes:
    """The sizes of log and budget: planned, unless the protocol says what they are."""
    protocol = grid.protocol
    fraction, budget = protocol.logged_fraction, None
    if fraction is None or protocol.budget == "planned":
        planned = plan(X, y, policy, np.random.default_rng([grid.seed, 2]), variant=protocol.data)
        fraction, budget = fraction or planned.logged_fraction, planned.label_budget
    if protocol.budget == "stream":
        train = int(TRAINING * len(y))
        budget = train - int(fraction * train)
    assert budget is not None
    return Sizes(fraction, budget)


def _what(task: Task, data: str) -> dict[str, Any]:
    """Everything that a result depends on besides the code version."""
    kind = method_named(task.method)
    return {"task": asdict(task), "method": source_digest(kind), "data": data}


def _cost(task: Task) -> int:
    kind = method_named(task.method)
    tried = settings(kind, task.protocol.grid)
    return len(tried) * (1 if getattr(made(kind, tried[0], 0), "anytime", True) else 4)


def _attempt(key: str, task: Task, source: Source) -> tuple[str, dict[str, Any]]:
    """A result, or what went wrong, so that one failed cell does not lose the others."""
    try:
        return key, run_task(task, source)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
        return key, {"task": asdict(task), "failed": said}

"""One cell of the grid, tuned and measured: what it is, how it is run, what comes back."""

import importlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from unskew.errors import InputError, unknown
from unskew.experiments.curves import METHODS, MORE_METHODS
from unskew.experiments.datasets import Source
from unskew.experiments.metrics import auc
from unskew.experiments.simulation import REPEATS_A_POPULATION, Simulation, curve, simulations
from unskew.methods import LinearMethod, Method
from unskew.sampling.policies import FLOOR

FRESH = 1000
"""Number of the first repeat that reports; tuning uses repeats 0, 1, ..., of other populations."""

GRIDS = {
    # protocol.md, Parameters
    "released": ([0.01 * 4.0**k for k in range(9)], [0.0001 * 4.0**k for k in range(9)] + [3.0, 10.0]),
    "coarse": ([0.01, 0.64, 10.24], [0.0016, 0.0256, 0.4096]),
}


@dataclass(frozen=True)
class Task:
    """Everything a cell's result depends on, apart from the code and the data file."""

    dataset: str
    policy: str
    method: str
    logged_fraction: float
    label_budget: int
    tune_repeats: int
    repeats: int
    seed: int
    grid: str

    def blocks(self) -> set[int]:
        """Numbers of the populations its repeats are drawn from."""
        return {r // REPEATS_A_POPULATION for r in (*self.tuning, *self.fresh)}

    @property
    def tuning(self) -> range:
        return range(self.tune_repeats)

    @property
    def fresh(self) -> range:
        return range(FRESH, FRESH + self.repeats)


def method_class(name: str) -> type[Method]:
    """A method of the package by name, or one from outside as `module:Class`."""
    known: dict[str, type[Method]] = {**METHODS, **MORE_METHODS}
    if name in known:
        return known[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise unknown("method", name, [*known, "module:Class"])
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"method {name!r} cannot be imported: {error}. Is its folder on PYTHONPATH?") from None
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise InputError(f"method {name!r} must be a subclass of unskew.methods.Method; got {found!r}.")
    return found


def settings(kind: type[Method], grid: str) -> list[dict[str, float]]:
    """The parameter settings to try: (C, eta) for a linear method, eta alone where C plays no part.

    Another method may carry a list of its own, `grid = [{...}, ...]`; without one it is not tuned.
    """
    if not issubclass(kind, LinearMethod):
        return list(getattr(kind, "grid", [{}]))
    C, eta = GRIDS[grid]
    return [{"C": c, "eta": e} for c, e in product(C[:1] if kind.queries_all else C, eta)]


def build(kind: type[Method], setting: dict[str, float], random: int) -> Method:
    """A method with these parameters, told the least propensity where it wants to know it."""
    told = {"xi0": FLOOR} if issubclass(kind, LinearMethod) else {}
    return kind(**setting, **told, random_state=np.random.default_rng(random))


def run_task(task: Task, source: Source) -> dict[str, Any]:
    """Choose the setting with the least AUC on the tuning repeats, then measure it on fresh ones."""
    kind = method_class(task.method)
    tried = settings(kind, task.grid)
    runs: list[list[list[tuple[int, int, float]]]] = [[] for _ in tried]
    tuning = task.tuning if len(tried) > 1 else ()  # nothing to choose from one setting
    for simulation, random in simulations(source, task.policy, task.logged_fraction, task.seed, tuning):
        for run, points in zip(runs, _tune(kind, tried, simulation, random, task.label_budget), strict=True):
            run.append(points)
    areas = [mean_auc(run, task.label_budget) if run else None for run in runs]
    best = int(np.argmin([area or 0.0 for area in areas]))
    fresh = [
        curve(build(kind, tried[best], random), simulation, task.label_budget)
        for simulation, random in simulations(source, task.policy, task.logged_fraction, task.seed, task.fresh)
    ]
    reached = min(map(len, fresh))
    return {
        "task": asdict(task),
        "setting": tried[best],
        "tuned_auc": areas[best],
        "horizons": [int(horizon) for horizon, _, _ in fresh[0][:reached]],
        "labels": [[int(labels) for _, labels, _ in run[:reached]] for run in fresh],
        "errors": [[error for _, _, error in run[:reached]] for run in fresh],
    }


def _tune(
    kind: type[Method], tried: list[dict[str, float]], simulation: Simulation, random: int, budget: int
) -> Iterator[list[tuple[int, int, float]]]:
    """The curve of every setting on one repeat; C grows along the settings.

    Once every row was in the disagreement region, any larger C gives the same curve: it is not run again. A
    method from outside may use C in other ways, so for those every setting is run.
    """
    saturated: dict[float | None, list[tuple[int, int, float]]] = {}
    for setting in tried:
        eta = setting.get("eta")
        points = saturated.get(eta)
        if points is None:
            method = build(kind, setting, random)
            points = curve(method, simulation, budget)
            if kind in METHODS.values() and isinstance(method, LinearMethod) and method.saturated:
                saturated[eta] = points
        yield points


def mean_auc(runs: list[list[tuple[int, int, float]]], budget: int) -> float:
    """AUC of the mean curve, as far as every repeat went."""
    reached = min(map(len, runs))
    _, labels, errors = np.array([run[:reached] for run in runs]).mean(axis=0).T
    return auc(labels, errors, budget)

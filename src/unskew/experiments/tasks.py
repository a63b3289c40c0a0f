"""One cell of the grid, tuned and measured: what it is, how it is run, what comes back."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from unskew.experiments.curves import build
from unskew.experiments.datasets import Source
from unskew.experiments.metrics import auc
from unskew.experiments.simulation import REPEATS_A_POPULATION, Simulation, curve, simulations
from unskew.methods.loop import Method
from unskew.methods.registry import is_registered, method_named
from unskew.sampling.policies import FLOOR

FRESH = 1000
"""The number of the first repeat that is reported; tuning uses repeats 0, 1, ..., on other populations."""

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
        """The numbers of the populations from which its repeats are drawn."""
        return {r // REPEATS_A_POPULATION for r in (*self.tuning, *self.fresh)}

    @property
    def tuning(self) -> range:
        return range(self.tune_repeats)

    @property
    def fresh(self) -> range:
        return range(FRESH, FRESH + self.repeats)


def settings(kind: type[Method], grid: str) -> list[dict[str, float]]:
    """The parameter settings to try: every C and eta of the grid that the method tunes.

    Another method may carry a list of its own, `grid = [{...}, ...]`; without one it is not tuned.
    """
    if not kind.tuned:
        return list(getattr(kind, "grid", [{}]))
    C, eta = GRIDS[grid]
    return [{"C": c, "eta": e} for c, e in product(C if "C" in kind.tuned else C[:1], eta)]


def made(kind: type[Method], setting: dict[str, float], random: int) -> Method:
    """A method with these parameters, told the least propensity where it wants to know it."""
    if kind.tuned:
        return build(kind, {**setting, "xi0": FLOOR}, random)
    return kind(**setting, random_state=np.random.default_rng(random))


def run_task(task: Task, source: Source) -> dict[str, Any]:
    """Choose the setting with the smallest AUC on the tuning repeats, then measure it on new ones."""
    kind = method_named(task.method)
    tried = settings(kind, task.grid)
    runs: list[list[list[tuple[int, int, float]]]] = [[] for _ in tried]
    tuning = task.tuning if len(tried) > 1 else ()  # nothing to choose from one setting
    for simulation, random in simulations(source, task.policy, task.logged_fraction, task.seed, tuning):
        for run, points in zip(runs, _tune(kind, tried, simulation, random, task.label_budget), strict=True):
            run.append(points)
    areas = [mean_auc(run, task.label_budget) if run else None for run in runs]
    best = int(np.argmin([area or 0.0 for area in areas]))
    fresh = [
        curve(made(kind, tried[best], random), simulation, task.label_budget)
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

    If every row was in the disagreement region, any larger C gives the same curve, and is not run again. A method from
    outside may use C in other ways, so for those every setting is run.
    """
    saturated: dict[float | None, list[tuple[int, int, float]]] = {}
    for setting in tried:
        eta = setting.get("eta")
        points = saturated.get(eta)
        if points is None:
            method = made(kind, setting, random)
            points = curve(method, simulation, budget)
            if is_registered(kind) and method.saturated:
                saturated[eta] = points
        yield points


def mean_auc(runs: list[list[tuple[int, int, float]]], budget: int) -> float:
    """The AUC of the mean curve, up to the end of the shortest repeat."""
    reached = min(map(len, runs))
    _, labels, errors = np.array([run[:reached] for run in runs]).mean(axis=0).T
    return auc(labels, errors, budget)

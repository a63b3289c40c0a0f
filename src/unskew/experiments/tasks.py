"""One cell of the grid, tuned and measured: what it is, how it is run, what comes back."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from unskew.experiments.curves import build
from unskew.experiments.datasets import Source
from unskew.experiments.metrics import area, printed_sum
from unskew.experiments.protocols import GRIDS, Protocol
from unskew.experiments.simulation import REPEATS_A_POPULATION, Simulation, curve, simulations
from unskew.methods.loop import Method
from unskew.methods.registry import is_registered, method_named
from unskew.rows import Floats
from unskew.sampling.policies import FLOOR


@dataclass(frozen=True)
class Task:
    """Everything a cell's result depends on, apart from the code and the data file."""

    dataset: str
    policy: str
    method: str
    logged_fraction: float
    label_budget: int
    seed: int
    protocol: Protocol

    def blocks(self) -> set[int]:
        """The numbers of the populations from which its repeats are drawn."""
        return {r // REPEATS_A_POPULATION for r in (*self.tuning, *self.protocol.reported)}

    @property
    def tuning(self) -> range:
        return range(self.protocol.tune_repeats)

    def simulations(self, source: Source, repeats: Iterable[int]) -> Iterator[tuple[Simulation, int]]:
        return simulations(source, self.policy, self.logged_fraction, self.seed, repeats, variant=self.protocol.data)

    def curve(self, method: Method, simulation: Simulation) -> list[tuple[int, int, float]]:
        return curve(method, simulation, self.label_budget, first_horizon=self.protocol.first_horizon)


def settings(kind: type[Method], grid: str) -> list[dict[str, float]]:
    """The parameter settings to try: every C and eta of the grid that the method tunes.

    Another method may carry a list of its own, `grid = [{...}, ...]`; without one it is not tuned.
    """
    if not kind.tuned:
        return list(getattr(kind, "grid", [{}]))
    C, eta = GRIDS[grid]
    return [{"C": c, "eta": e} for c, e in product(C if "C" in kind.tuned else C[:1], eta)]


def made(kind: type[Method], setting: dict[str, float], random: int, *, variant: str = "released") -> Method:
    """A method with these parameters, told the least propensity where it wants to know it."""
    if kind.tuned:
        return build(kind, {**setting, "xi0": FLOOR, "variant": variant}, random)
    return kind(**setting, random_state=np.random.default_rng(random))


def run_task(task: Task, source: Source) -> dict[str, Any]:
    """Choose the setting with the smallest AUC on the tuning repeats, then measure it on those to report."""
    kind = method_named(task.method)
    protocol = task.protocol
    tried = settings(kind, protocol.grid)
    runs: list[list[list[tuple[int, int, float]]]] = [[] for _ in tried]
    tuning = task.tuning if len(tried) > 1 else ()  # nothing to choose from one setting
    for simulation, random in task.simulations(source, tuning):
        for run, points in zip(runs, _tune(kind, tried, task, simulation, random), strict=True):
            run.append(points)
    means = [mean_points(run) for run in runs if run]
    areas = [area(*mean, task.label_budget, protocol.budget) for mean in means]
    best = int(np.argmin(areas)) if areas else 0
    sums = [float(printed_sum(labels[1:], errors[1:])) for labels, errors in means]  # the text has no point at 0 labels
    least = int(np.argmin(sums)) if sums else 0
    shown = [
        task.curve(made(kind, tried[best], random, variant=protocol.variant), simulation)
        for simulation, random in task.simulations(source, task.protocol.reported)
    ]
    reached = min(map(len, shown))
    return {
        "task": asdict(task),
        "setting": tried[best],
        "tuned_auc": areas[best] if areas else None,
        "least_sum": [sums[least], float(means[least][0].max())] if sums else None,
        "horizons": [int(horizon) for horizon, _, _ in shown[0][:reached]],
        "labels": [[int(labels) for _, labels, _ in run[:reached]] for run in shown],
        "errors": [[error for _, _, error in run[:reached]] for run in shown],
    }


def _tune(
    kind: type[Method], tried: list[dict[str, float]], task: Task, simulation: Simulation, random: int
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
            method = made(kind, setting, random, variant=task.protocol.variant)
            points = task.curve(method, simulation)
            if is_registered(kind) and method.saturated:
                saturated[eta] = points
        yield points


def mean_points(runs: list[list[tuple[int, int, float]]]) -> tuple[Floats, Floats]:
    """Labels and errors of the mean curve, up to the end of the shortest repeat."""
    reached = min(map(len, runs))
    _, labels, errors = np.array([run[:reached] for run in runs]).mean(axis=0).T
    return labels, errors

"""Mean error curves: the paper's experiment for one cell and one method."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unskew.errors import InputError, unknown
from unskew.experiments.datasets import load
from unskew.experiments.simulation import curve, simulations
from unskew.methods.loop import Method
from unskew.methods.registry import method_named
from unskew.methods.streams.linear_method import VARIANTS
from unskew.sampling.policies import ALL_POLICIES, FLOOR


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a mean curve; standard errors are over the repeats."""

    horizon: int
    labels: float
    labels_se: float
    error: float
    error_se: float

    def __getitem__(self, name: str) -> float:
        """Read like a record of a curves file: `point["error"]`."""
        if name not in self.__slots__:
            raise KeyError(name)
        return float(getattr(self, name))


def mean_curve(
    *,
    dataset: str,
    policy: str,
    method: str,
    C: float = 0.64,
    eta: float = 0.0256,
    logged_fraction: float = 0.5,
    label_budget: int = 200,
    repeats: int = 16,
    seed: int = 0,
    variant: str = "released",
    data_dir: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Point]:
    """The mean number of labels bought and the mean test error, at each horizon that every repeat reached.

    For one seed, splits, policies and revealed labels are the same for every method and parameter.
    `progress(done, repeats)` is called after each repeat.

    >>> points = mean_curve(dataset="synthetic", policy="uniform", method="IDBAL", repeats=4)
    >>> points[0].horizon, points[0].labels, points[-1].horizon
    (0, 0.0, 2400)
    """
    kind = method_named(method)
    if policy not in ALL_POLICIES:
        raise unknown("policy", policy, ALL_POLICIES)
    if variant not in VARIANTS:
        raise unknown("variant", variant, VARIANTS)
    if repeats < 2:
        raise InputError(
            f"repeats must be at least 2 for a standard error; got {repeats}. The experiments use 16 and 64."
        )
    if seed < 0:
        raise InputError(f"seed must not be negative; got {seed}. Try seed=0.")
    if label_budget < 1:
        raise InputError(f"label_budget must be at least 1; got {label_budget}. The experiments use 100 and more.")
    told: dict[str, Any] = {"C": C, "eta": eta, "variant": variant, "xi0": FLOOR}
    source = load(dataset, data_dir, variant=variant)
    runs = []
    for simulation, random in simulations(source, policy, logged_fraction, seed, range(repeats), variant=variant):
        learner = build(kind, told, random)
        runs.append(curve(learner, simulation, label_budget))
        if progress is not None:
            progress(len(runs), repeats)
    return averaged(runs)


def build(kind: type[Method], told: Mapping[str, Any], random: int) -> Method:
    """A method with those of these parameters that it takes."""
    wanted = {name: value for name, value in told.items() if name in kind.parameters}
    return kind(**wanted, random_state=np.random.default_rng(random))


def averaged(runs: list[list[tuple[int, int, float]]]) -> list[Point]:
    """The mean of the points of several runs and its standard error, up to the end of the shortest run."""
    reached = min(map(len, runs))
    table = np.array([run[:reached] for run in runs])  # repeat x point x (horizon, labels, error)
    mean = table.mean(axis=0)
    se = table.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return [
        Point(int(horizon), float(labels), float(labels_se), float(error), float(error_se))
        for (horizon, labels, error), (_, labels_se, error_se) in zip(mean, se, strict=True)
    ]

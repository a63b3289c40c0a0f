"""From results to small frames: areas, labels needed, and which differences between methods are clear.

Intervals are percentiles of a bootstrap over repeats. Repeat r uses the same split for every method and policy of a
data set. So the methods of one data set are resampled together, and their ratios are paired. Repeats share rows, so
they are not independent. The intervals are widened to account for that (`stretch`), and for the small number of repeats
(`few_repeats`).
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unskew.experiments.curves import Point, averaged
from unskew.experiments.datasets import DATASETS, FILES, ROWS_USED
from unskew.experiments.metrics import area, area_to_budget, bootstrap, error_at, labels_to_reach
from unskew.experiments.paper import paper_auc
from unskew.experiments.protocols import TRAINING, Protocol
from unskew.experiments.simulation import REPEATS_A_POPULATION
from unskew.methods.registry import PAPER_METHODS, method_named
from unskew.rows import Floats
from unskew.sampling.policies import ALL_POLICIES, POLICIES

RESAMPLES = 1000
BOOTSTRAP_SEED = 2018
INTERVAL = (2.5, 97.5)
"""Percentiles of the resampled ratios: a 95 % interval."""

Record = dict[str, Any]

TEXT, REAL, COUNT = pl.String(), pl.Float64(), pl.Int64()
POINTS = {
    "dataset": TEXT, "policy": TEXT, "method": TEXT, "horizon": COUNT,
    "labels": REAL, "labels_se": REAL, "error": REAL, "error_se": REAL,
}  # fmt: skip
CELLS = {
    "dataset": TEXT, "policy": TEXT, "method": TEXT, "logged_fraction": REAL, "label_budget": COUNT,
    "C": REAL, "eta": REAL, "setting": TEXT, "auc": REAL, "auc_se": REAL, "area_to_budget": REAL, "area_se": REAL,
    "least": pl.Boolean(), "target_error": REAL, "labels_to_target": REAL,
    "least_sum": REAL, "least_sum_labels": REAL, "labels": REAL,
}  # fmt: skip
RATIOS = {
    "dataset": TEXT, "policy": TEXT, "method": TEXT, "against": TEXT, "ratio": REAL, "low": REAL, "high": REAL,
    "call": TEXT, "area_ratio": REAL, "area_low": REAL, "area_high": REAL, "area_call": TEXT, "paper_ratio": REAL,
}  # fmt: skip
PAIRS = {
    "policy": TEXT, "method": TEXT, "against": TEXT, "cells": COUNT, "won": COUNT, "lost": COUNT,
    "clear_wins": COUNT, "clear_losses": COUNT, "mean_ratio": REAL, "low": REAL, "high": REAL, "area_won": COUNT,
    "area_clear_wins": COUNT, "area_clear_losses": COUNT, "area_mean_ratio": REAL, "area_low": REAL, "area_high": REAL,
    "paper_cells": COUNT, "paper_won": COUNT, "paper_mean_ratio": REAL,
}  # fmt: skip
STANDINGS = {
    "method": TEXT, "cells": COUNT, "best": COUNT, "paper_cells": COUNT, "paper_best": COUNT,
    "targets": COUNT, "reached": COUNT, "median_share_of_budget": REAL,
}  # fmt: skip
FAILED = {"dataset": TEXT, "policy": TEXT, "method": TEXT, "failed": TEXT}


@dataclass(frozen=True)
class Summary:
    """Frames in the paper's order of data sets, policies and methods. Methods from outside have their class names."""

    run: Record
    """What all results share: the seed, and of the protocol the name, grid, budget and repeats."""
    datasets: tuple[str, ...]
    policies: tuple[str, ...]
    methods: tuple[str, ...]
    points: pl.DataFrame
    """The mean curves, one row per point."""
    cells: pl.DataFrame
    """One row per data set, policy and method."""
    ratios: pl.DataFrame
    """One row per data set, policy and pair: AUC (and area up to B) of `method` divided by that of `against`."""
    pairs: pl.DataFrame
    """The ratios of a pair over all cells, beside the paper's over the same cells."""
    by_policy: pl.DataFrame
    """The same for each policy."""
    standings: pl.DataFrame
    """One row per method: the number of cells in which it is best, and how soon it reaches Passive's final error."""
    failed: pl.DataFrame


@dataclass(frozen=True)
class Result:
    """One record as numbers: its mean curve and the measures of it."""

    record: Record
    name: str

    @property
    def budget(self) -> int:
        return int(self.record["task"]["label_budget"])

    @property
    def kind(self) -> str:
        """Of the budget: "planned", or the whole "stream"."""
        return str(self.record["task"]["protocol"]["budget"])

    @cached_property
    def runs(self) -> NDArray[np.float64]:
        """Repeats x points x (labels, error)."""
        return np.stack([np.array(self.record["labels"], dtype=float), np.array(self.record["errors"])], axis=-1)

    @cached_property
    def mean(self) -> tuple[Floats, Floats]:
        labels, errors = self.runs.mean(axis=0).T
        return labels, errors

    @cached_property
    def auc(self) -> float:
        return area(*self.mean, self.budget, self.kind)

    @cached_property
    def area(self) -> float:
        return area_to_budget(*self.mean, self.budget) if self.kind == "planned" else self.auc

    @cached_property
    def resampled_auc(self) -> Floats:
        return bootstrap(self.runs, self.budget, self._draws(), kind=self.kind)

    @cached_property
    def resampled_area(self) -> Floats:
        return bootstrap(self.runs, self.budget, self._draws(), kind="up to B" if self.kind == "planned" else self.kind)

    @property
    def stretch(self) -> float:
        task = self.record["task"]
        return stretch(task["dataset"], Protocol(**task["protocol"]))

    def standard_error(self, resampled: Floats) -> float:
        J = len(self.runs)
        return self.stretch * math.sqrt(J / (J - 1)) * float(resampled.std(ddof=1))

    def auc_over(self, other: "Result") -> tuple[float, Floats]:
        """The ratio of the two AUCs, and of each pair of resamples, stretched."""
        return self._over(self.auc, other.auc, self.resampled_auc / other.resampled_auc)

    def area_over(self, other: "Result") -> tuple[float, Floats]:
        """The same for the areas up to the budget."""
        return self._over(self.area, other.area, self.resampled_area / other.resampled_area)

    def _over(self, mine: float, others: float, resampled: Floats) -> tuple[float, Floats]:
        """Logarithms of ratios are stretched around their mean, so that a ratio and its inverse have one interval."""
        ratio = float(np.divide(mine, others))
        if not (np.all(resampled > 0.0) and np.all(np.isfinite(resampled))):
            return ratio, resampled
        logs = np.log(resampled)
        stretched: Floats = np.exp(logs.mean() + self.stretch * few_repeats(len(self.runs)) * (logs - logs.mean()))
        return ratio, stretched

    def _draws(self) -> NDArray[np.int64]:
        """The same for all methods and policies of a data set, whatever else was run."""
        rng = np.random.default_rng([BOOTSTRAP_SEED, DATASETS.index(self.record["task"]["dataset"])])
        return rng.integers(len(self.runs), size=(RESAMPLES, len(self.runs)))

    def points(self) -> list[Point]:
        horizons = self.record["horizons"]
        rows = zip(self.record["labels"], self.record["errors"], strict=True)
        return averaged([list(zip(horizons, labels, errors, strict=True)) for labels, errors in rows])


@cache
def few_repeats(J: int) -> float:
    """How much too narrow percentiles of resamples of only J repeats are.

    Their spread is that of a mean with divisor J, not J - 1, and they know nothing of the uncertainty of that spread,
    which Student's t with J - 1 degrees of freedom knows.

    >>> round(few_repeats(64), 3), round(few_repeats(10), 3)
    (1.028, 1.217)
    """
    from scipy.stats import t

    level = INTERVAL[1] / 100.0
    return math.sqrt(J / (J - 1)) * float(t.ppf(level, J - 1) / t.ppf(level, math.inf))


@cache
def stretch(dataset: str, protocol: Protocol) -> float:
    """The standard error of a mean over these repeats, divided by what it would be if they were independent.

    A fifth of the rows is for testing, so two splits of the same rows have correlated results: about one fifth, by
    Nadeau and Bengio (Inference for the Generalization Error, Machine Learning 52, 2003). Two cuts of a larger data set
    have 6000 / N of their rows in common, and so much less correlation. With the mean correlation c of J repeats::

        stretch^2 = (1 + (J - 1) c) / (1 - c)

    >>> from unskew.experiments.protocols import RELEASED
    >>> [round(stretch(name, RELEASED), 2) for name in ("german", "skin", "synthetic")]
    [4.12, 1.76, 1.67]
    """
    repeats = np.array(protocol.reported)
    block = repeats // REPEATS_A_POPULATION
    rows = FILES[dataset].used if dataset in FILES else math.inf
    in_common = np.where(block[:, None] == block, 1.0, min(1.0, ROWS_USED / rows))
    J = len(repeats)
    c = (1.0 - TRAINING) * (in_common.sum() - J) / (J * (J - 1))
    return math.sqrt((1.0 + (J - 1) * c) / (1.0 - c))


Cells = dict[tuple[str, str], dict[str, Result]]
"""Results by data set and policy, then by the name of the method as shown."""


def summarise(records: Sequence[Record]) -> Summary:
    """Everything that is shown about the results of one run; failed ones are left out and listed."""
    tasks = [record["task"] for record in records]
    names = shown_names(task["method"] for task in tasks)
    datasets = tuple(name for name in DATASETS if name in {task["dataset"] for task in tasks})
    policies = tuple(name for name in ALL_POLICIES if name in {task["policy"] for task in tasks})
    cells: Cells = {(dataset, policy): {} for dataset in datasets for policy in policies}
    place = {name: i for i, name in enumerate(names)}
    failed = []
    for record in sorted(records, key=lambda record: place[record["task"]["method"]]):
        task = record["task"]
        if "failed" in record:
            failed.append((task["dataset"], task["policy"], names[task["method"]], record["failed"]))
        else:
            name = names[task["method"]]
            cells[task["dataset"], task["policy"]][name] = Result(record, name)
    methods = tuple(names.values())
    with np.errstate(divide="ignore", invalid="ignore"):  # an area of 0 is possible only without any error
        ratios, pairs = _ratio_rows(cells, methods), _pair_rows("all", cells, methods)
        split = [_pair_rows(one, {cell: cells[cell] for cell in cells if cell[1] == one}, methods) for one in policies]
        cell_rows = _cell_rows(cells)
    protocol = tasks[0]["protocol"]
    return Summary(
        run={
            "protocol": protocol["name"],
            "tune_repeats": protocol["tune_repeats"],
            "repeats": protocol["repeats"],
            "seed": tasks[0]["seed"],
            "grid": protocol["grid"],
            "fresh": protocol["fresh"],
            "budget": protocol["budget"],
        },
        datasets=datasets,
        policies=policies,
        methods=methods,
        points=_frame(_point_rows(cells), POINTS),
        cells=cell_rows,
        ratios=_frame(ratios, RATIOS),
        pairs=_frame(pairs, PAIRS),
        by_policy=_frame([row for rows in split for row in rows], PAIRS),
        standings=_frame(_standing_rows(cells, methods, cell_rows), STANDINGS),
        failed=_frame(sorted(failed, key=lambda row: (DATASETS.index(row[0]), ALL_POLICIES.index(row[1]))), FAILED),
    )


def shown_names(methods: Iterable[str]) -> dict[str, str]:
    """The names of methods in tables: the paper's in its order, then those from outside by class name.

    >>> shown_names(["mine:Best", "IDBAL", "Passive", "IDBAL"])
    {'Passive': 'Passive', 'IDBAL': 'IDBAL', 'mine:Best': 'Best'}
    """
    found = list(dict.fromkeys(methods))
    order = [name for name in PAPER_METHODS if name in found] + [name for name in found if name not in PAPER_METHODS]
    short = [name.rpartition(":")[2] for name in order]
    taken = [*PAPER_METHODS, *(s for name, s in zip(order, short, strict=True) if name not in PAPER_METHODS)]
    return {name: s if taken.count(s) == 1 else name for name, s in zip(order, short, strict=True)}


def pairs_of(methods: Sequence[str]) -> list[tuple[str, str]]:
    """Every method paired with each one before it, the last method first.

    >>> pairs_of(["Passive", "DBALw", "IDBAL"])
    [('IDBAL', 'Passive'), ('IDBAL', 'DBALw'), ('DBALw', 'Passive')]
    """
    place = {name: i for i, name in enumerate(methods)}
    both = [(later, earlier) for earlier, later in combinations(methods, 2)]
    return sorted(both, key=lambda pair: (-place[pair[0]], place[pair[1]]))


def _frame(rows: list[tuple[Any, ...]], schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")


def _point_rows(cells: Cells) -> list[tuple[Any, ...]]:
    return [
        (*cell, name, p.horizon, p.labels, p.labels_se, p.error, p.error_se)
        for cell, results in cells.items()
        for name, result in results.items()
        for p in result.points()
    ]


def _cell_rows(cells: Cells) -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for cell, results in cells.items():
        target = None
        if "Passive" in results:
            passive = results["Passive"]
            target = error_at(*passive.mean, passive.budget)
        least = min((result.auc for result in results.values()), default=None)
        for name, result in results.items():
            setting = dict(result.record["setting"])
            if name in PAPER_METHODS and "C" not in method_named(name).tuned:
                setting.pop("C")  # not used by this method
            needed = labels_to_reach(*result.mean, target) if target is not None else np.inf
            rows.append((
                *cell, name, result.record["task"]["logged_fraction"], result.budget,
                setting.get("C"), setting.get("eta"), json.dumps(setting),
                result.auc, result.standard_error(result.resampled_auc),
                result.area, result.standard_error(result.resampled_area),
                result.auc == least, target, needed if np.isfinite(needed) else None,
                *(result.record["least_sum"] or (None, None)), float(result.mean[0].max()),
            ))  # fmt: skip
    return _frame(rows, CELLS)


def _ratio_rows(cells: Cells, methods: Sequence[str]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for cell, results in cells.items():
        for a, b in pairs_of([name for name in methods if name in results]):
            auc_row = _compared(*results[a].auc_over(results[b]))
            area_row = _compared(*results[a].area_over(results[b]))
            rows.append((*cell, a, b, *auc_row, *area_row, _paper_ratio(cell, a, b)))
    return rows


def _compared(ratio: float, resampled: Floats) -> tuple[float, float, float, str]:
    """The ratio, its interval, and whether the whole interval lies on one side of 1."""
    low, high = (float(bound) for bound in np.percentile(resampled, INTERVAL))
    return ratio, low, high, "win" if high < 1.0 else "loss" if low > 1.0 else "noise"


def _pair_rows(policy: str, cells: Cells, methods: Sequence[str]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for a, b in pairs_of(methods):
        both = {cell: (results[a], results[b]) for cell, results in cells.items() if a in results and b in results}
        if not both:
            continue
        auc_row = _over_cells([x.auc_over(y) for x, y in both.values()])
        won, _, *area_row = _over_cells([x.area_over(y) for x, y in both.values()])
        paper = [ratio for cell in both if (ratio := _paper_ratio(cell, a, b)) is not None]
        paper_mean = float(np.exp(np.mean(np.log(paper)))) if paper else None
        rows.append(
            (policy, a, b, len(both), *auc_row, won, *area_row, len(paper), sum(r < 1.0 for r in paper), paper_mean)
        )
    return rows


def _over_cells(ratios: list[tuple[float, Floats]]) -> tuple[int, int, int, int, float, float, float]:
    """Cells won, lost, clearly won and clearly lost; the geometric mean ratio and its interval."""
    calls = [_compared(ratio, resampled)[3] for ratio, resampled in ratios]
    mean = float(np.exp(np.mean([np.log(ratio) for ratio, _ in ratios])))
    resampled = np.exp(np.mean([np.log(resampled) for _, resampled in ratios], axis=0))
    low, high = (float(bound) for bound in np.percentile(resampled, INTERVAL))
    won, lost = sum(ratio < 1.0 for ratio, _ in ratios), sum(ratio > 1.0 for ratio, _ in ratios)
    return won, lost, calls.count("win"), calls.count("loss"), mean, low, high


def _standing_rows(cells: Cells, methods: Sequence[str], frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Counts of best results over the cells that have a result of every method, except those that failed everywhere."""
    methods = [name for name in methods if any(name in results for results in cells.values())]
    whole = {cell: results for cell, results in cells.items() if len(results) == len(methods)}
    ours = [name for results in whole.values() for name in _best({name: r.auc for name, r in results.items()})]
    printed = [name for name in methods if name in PAPER_METHODS]
    in_paper = [cell for cell in whole if cell[1] in POLICIES]
    paper = [name for cell in in_paper for name in _best({name: paper_auc()[(*cell, name)] for name in printed})]
    rows: list[tuple[Any, ...]] = []
    for name in methods:
        mine = frame.filter(pl.col("method") == name, pl.col("target_error").is_not_null())
        shares = np.array([
            np.inf if needed is None else needed / budget
            for needed, budget in mine.select("labels_to_target", "label_budget").iter_rows()
        ])  # fmt: skip
        median = float(np.median(shares)) if shares.size else np.inf
        beside = (len(in_paper), paper.count(name)) if name in printed and in_paper else (None, None)
        rows.append((
            name, len(whole), ours.count(name), *beside, len(shares),
            int(np.isfinite(shares).sum()), median if np.isfinite(median) else None,
        ))  # fmt: skip
    return rows


def _paper_ratio(cell: tuple[str, str], a: str, b: str) -> float | None:
    printed = paper_auc()
    known = (*cell, a) in printed and (*cell, b) in printed
    return printed[(*cell, a)] / printed[(*cell, b)] if known else None


def _best(areas: dict[str, float]) -> list[str]:
    """The methods with the smallest value; several if they are equal, as when DBALw queries every row like Passive."""
    return [name for name, area in areas.items() if area == min(areas.values())]

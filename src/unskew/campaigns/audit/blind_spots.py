"""Regions with many rows and few labels, described by rules that a person can read.

A shallow tree separates labelled from unlabelled rows. It is grown on one half of the rows. A split or a blind spot
that the other half does not confirm is dropped, so a log that was labelled evenly has none.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.tree import DecisionTreeClassifier

from unskew.campaigns.audit.rules import Condition, Rule, roundest, roundest_day
from unskew.campaigns.audit.words import common_words, word_marks
from unskew.campaigns.tables.column_types import in_rules
from unskew.campaigns.tables.encoding import MOST_CATEGORIES, plain_column
from unskew.kept import Kept, counts_of
from unskew.rows import Bools, Floats, for_tree

DEPTH = 3
LEAST_SHARE = 0.02
"""The smallest share of the rows that a region may have."""

BEYOND_NOISE = 2.5
"""By how many standard errors a rate must differ, in the half of the rows that did not grow the tree."""

MAY_MOVE = 0.005
"""The share of the rows that may change sides so that a threshold becomes a round number."""

MOST_ROWS = 100_000
"""The most rows that the tree sees, drawn at random; shares are counted over all rows."""


@dataclass(frozen=True)
class BlindSpot:
    """A region, and its shares of the population and of the labels."""

    rule: Rule
    rows: int
    labels: int
    population_share: float
    label_share: float

    @property
    def reveal_rate(self) -> float:
        return self.labels / self.rows if self.rows else 0.0

    @property
    def gap(self) -> float:
        """The share of all labels that this region lacks to be fairly covered."""
        return self.population_share - self.label_share

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "rule": self.rule.as_dict(),
            "rows": self.rows,
            "labels": self.labels,
            "population_share": self.population_share,
            "label_share": self.label_share,
            "reveal_rate": self.reveal_rate,
            "gap": self.gap,
        }


def blind_spots(
    frame: pl.DataFrame,
    kinds: Mapping[str, str],
    labelled: Bools,
    *,
    kept: Kept | None = None,
    max_rules: int = 8,
    seed: int = 0,
) -> list[BlindSpot]:
    """Regions with less than their share of the labels, the largest gap first. They do not overlap.

    Parameters
    ----------
    frame : frame
        The population: every row, labelled or not.
    kinds : mapping
        The columns that rules may use, and what they hold (`files.kinds`).
    labelled : array of bool
        Which of the rows have a label.
    kept : Kept, optional
        If these are some rows of a longer table, how many rows with and without a label that has.
    max_rules : int
        The largest number of regions.
    seed : int
        Decides how the rows are halved.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> frame = pl.DataFrame({"income": rng.uniform(0, 5000, 2000).round(), "region": rng.choice(["n", "s"], 2000)})
    >>> low = (frame["income"] < 2300).to_numpy() & (frame["region"] == "n").to_numpy()
    >>> labelled = rng.random(2000) < np.where(low, 0.1, 0.7)
    >>> found = blind_spots(frame, {"income": "number", "region": "category"}, labelled)
    >>> [(str(spot.rule), round(spot.reveal_rate, 1)) for spot in found]
    [('region is n and income < 2340', 0.1)]
    """
    labels = int(labelled.sum())
    if labels in (0, frame.height):
        return []
    rng = np.random.default_rng(seed)
    order = rng.permutation(frame.height)[:MOST_ROWS]
    grown, held = order[: len(order) // 2], order[len(order) // 2 :]
    names, columns = _columns(frame, kinds)
    if not names or len(grown) < 2 / LEAST_SHARE:
        return []
    tree = DecisionTreeClassifier(max_depth=DEPTH, min_samples_leaf=LEAST_SHARE, random_state=0)
    tree.fit(columns[grown], labelled[grown])
    found = _Regions(tree.tree_, names, columns, columns[held], labelled[held]).all()
    spots = coverage([rule for rule, _ in found], frame, labelled, kept)
    rate = float(labelled[held].mean())
    worse = [
        spot
        for spot, (_, inside) in zip(spots, found, strict=True)
        if spot.gap > 0.0 and _apart(labelled[held][inside], rate) < -BEYOND_NOISE
    ]
    return sorted(worse, key=lambda spot: -spot.gap)[:max_rules]


def missing_from(
    log: pl.DataFrame,
    pool: pl.DataFrame,
    kinds: Mapping[str, str],
    *,
    log_rows: int | None = None,
    pool_rows: int | None = None,
    max_rules: int = 8,
    seed: int = 0,
) -> list[BlindSpot]:
    """Regions in which a log of labelled rows has less than its share, given a pool that is a sample of everyone.

    If log and pool are even samples of longer tables, `log_rows` and `pool_rows` are the numbers of rows of those.

    A spot's `rows` are rows of the pool, its `labels` rows of the log; its `reveal_rate` sets one against the other.

    >>> pool = pl.DataFrame({"income": np.arange(1000)})
    >>> [str(spot.rule) for spot in missing_from(pool.filter(pl.col("income") >= 300), pool, {"income": "number"})]
    ['income < 300']
    """
    both = pl.concat([log.select(list(kinds)), pool.select(list(kinds))], how="vertical_relaxed")
    found = blind_spots(both, kinds, np.arange(both.height) < log.height, max_rules=max_rules, seed=seed)
    spots = []
    for spot in found:
        labels = int(spot.rule.mask(both[: log.height]).sum()) / log.height
        rows = (spot.rows - round(labels * log.height)) / pool.height
        of_pool, of_log = round((pool_rows or pool.height) * rows), round((log_rows or log.height) * labels)
        spots.append(BlindSpot(spot.rule, of_pool, of_log, rows, labels))
    return spots


def coverage(rules: Sequence[Rule], frame: pl.DataFrame, labelled: Bools, kept: Kept | None = None) -> list[BlindSpot]:
    """The same regions in another frame or with other labels, such as a campaign's blind spots before and after."""
    counts = np.ones(frame.height) if kept is None else counts_of(labelled, kept)
    total, all_labels = max(float(counts.sum()), 1.0), max(float(counts[labelled].sum()), 1.0)
    spots = []
    for rule in rules:
        inside = rule.mask(frame)
        rows, labels = float(counts[inside].sum()), float(counts[inside & labelled].sum())
        spots.append(BlindSpot(rule, round(rows), round(labels), rows / total, labels / all_labels))
    return spots


def _columns(frame: pl.DataFrame, kinds: Mapping[str, str]) -> tuple[list[tuple[str, str, str]], Floats]:
    """What the tree sees: (column, kind, category, word or "") and numbers.

    These are 0 or 1 for the commonest categories and the commonest words of a text; the word "" marks a missing text.
    """
    names: list[tuple[str, str, str]] = []
    columns: list[Floats] = []
    for name, kind in in_rules(kinds).items():
        if frame[name].n_unique() < 2:
            continue
        if kind == "text":
            words = ["", *common_words(frame[name], LEAST_SHARE)]
            names += [(name, kind, word) for word in words]
            columns += list(word_marks(frame[name], words).T.astype(np.float64))
            continue
        plain = plain_column(frame[name], kind)
        if kind != "category":
            names.append((name, kind, ""))
            columns.append(plain.to_numpy())
            continue
        counts = plain.alias("value").value_counts().sort("count", "value", descending=[True, False])
        for value in counts["value"][:MOST_CATEGORIES]:
            names.append((name, kind, value))
            columns.append((plain == value).cast(pl.Float64).to_numpy())
    return names, for_tree(np.column_stack(columns)) if columns else np.empty((frame.height, 0))


class _Regions:
    """The leaves of a tree as rules. Splits that held-out rows do not confirm are undone."""

    def __init__(self, tree: Any, names: list[tuple[str, str, str]], X: Floats, held: Floats, labelled: Bools) -> None:
        self.tree, self.names, self.X, self.held, self.labelled = tree, names, X, held, labelled

    def all(self) -> list[tuple[Rule, Bools]]:
        """Each region's rule, and which of the held-out rows are in it."""
        everyone = np.ones(len(self.held), dtype=bool)
        return [(Rule(tuple(conditions.values())), inside) for conditions, inside in self._under(0, {}, everyone)]

    def _under(self, node: int, path: dict[str, Condition], inside: Bools) -> list[tuple[dict[str, Condition], Bools]]:
        feature = self.tree.feature[node]
        if feature < 0:
            return [(path, inside)]
        threshold = float(self.tree.threshold[node])
        missing_left = bool(self.tree.missing_go_to_left[node])
        cut = self._cut(feature, threshold)
        value = self.held[:, feature]
        left = np.where(np.isnan(value), missing_left, value < cut)
        parts = [
            self._under(child, self._narrowed(path, feature, cut, is_left, is_left == missing_left), inside & side)
            for child, is_left, side in (
                (self.tree.children_left[node], True, left),
                (self.tree.children_right[node], False, ~left),
            )
        ]
        if len(parts[0]) == len(parts[1]) == 1 and not self._differ(parts[0][0][1], parts[1][0][1]):
            return [(path, inside)]
        return parts[0] + parts[1]

    def _cut(self, feature: int, threshold: float) -> float:
        """A round number that splits the column's values as the threshold does, but for a few rows in a thousand."""
        values = np.sort(self.X[:, feature])
        values = values[~np.isnan(values)]
        k = int(np.searchsorted(values, threshold, side="right"))
        if k in (0, len(values)):
            return math.inf  # missing values against all others
        few = int(MAY_MOVE * len(values))
        below, above = float(values[max(k - 1 - few, 0)]), float(values[min(k + few, len(values) - 1)])
        return (roundest_day if self.names[feature][1] == "date" else roundest)(below, above)

    def _narrowed(
        self, path: dict[str, Condition], feature: int, cut: float, is_left: bool, missing: bool
    ) -> dict[str, Condition]:
        column, kind, value = self.names[feature]
        if kind == "text":
            return {**path, f"{column}\n{value}": Condition(column, kind, values=(value,), negated=is_left)}
        if kind == "category":
            old = path.get(column)
            if not is_left:
                new = Condition(column, kind, values=(value,))
            else:
                before = old.values if old is not None else ()
                new = Condition(column, kind, values=(*before, value), negated=True)
            return {**path, column: new}
        has_missing = bool(np.isnan(self.X[:, feature]).any())
        old = path.get(column, Condition(column, kind, missing=True))
        missing = missing and has_missing and old.missing
        if math.isinf(cut):
            return {**path, column: replace(old, missing=missing, known=is_left and old.known)}
        narrower = replace(old, missing=missing, high=cut) if is_left else replace(old, missing=missing, low=cut)
        return {**path, column: narrower}

    def _differ(self, one: Bools, other: Bools) -> bool:
        a, b = self.labelled[one], self.labelled[other]
        if not len(a) or not len(b):
            return False
        rate = float(np.concatenate((a, b)).mean())
        noise = math.sqrt(max(rate * (1.0 - rate), 1e-12) * (1.0 / len(a) + 1.0 / len(b)))
        return abs(float(a.mean()) - float(b.mean())) > BEYOND_NOISE * noise


def _apart(labelled: Bools, rate: float) -> float:
    """The number of standard errors by which the share of labelled rows differs from a rate."""
    if not len(labelled):
        return 0.0
    return (float(labelled.mean()) - rate) / math.sqrt(max(rate * (1.0 - rate), 1e-12) / len(labelled))

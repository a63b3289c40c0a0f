"""What a campaign's model is worth: by each measure, on a group of rows, against another model."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import logit

from unskew.campaigns.audit.rule_text import rule_of
from unskew.campaigns.audit.rules import Condition, Rule
from unskew.campaigns.learning.fitting import Fitting, design_of
from unskew.campaigns.ledger.state import Snapshot
from unskew.campaigns.tables.column_types import in_rules, kinds, left_out
from unskew.campaigns.tables.encoding import MISSING, plain_column
from unskew.campaigns.tables.labels import canonical
from unskew.errors import EmptyMeasure, InputError, NoRandomLabel, TooFewRows, unknown
from unskew.estimation.ahead import Ahead
from unskew.estimation.costs import Costs
from unskew.estimation.counts import mean_of
from unskew.estimation.everyone import WITHOUT_THRESHOLD, ClassEstimate, Everyone
from unskew.estimation.planning import Widths
from unskew.estimation.population import PopulationEstimate, Side
from unskew.models.scores import scale
from unskew.rows import Bools, Floats

LEAST_SAMPLED = 200
"""A group must have this number of rows in the sample of a large pool."""

SURE = 1e-12
"""Probabilities of another model closer to 0 or 1 than this are moved there: log-odds must be finite."""


class Worth(NamedTuple):
    """A member of the model, its weight, and by measure what the model would be worth if it were this member alone.

    A measure that has no value is None. There are no measures if nothing can be estimated.
    """

    name: str
    weight: float
    alone: dict[str, PopulationEstimate | None]


class Measuring:
    """Estimates for the model after the answers in `asked`; `Campaign` describes them."""

    def __init__(self, fitting: Fitting, asked: Snapshot) -> None:
        self.fitting, self.asked = fitting, asked

    def estimate(
        self,
        measure: str,
        level: float,
        threshold: float | None,
        where: str | Rule | None,
        against: Any,
        of: str | None = None,
    ) -> PopulationEstimate:
        whole = where is not None or against is not None  # a row must be judged as itself
        everyone = self.fitting.everyone(self.asked, whole=whole)
        group = None if where is None else self.group(where)
        decided = threshold is None and measure not in WITHOUT_THRESHOLD
        other = None if against is None else self._log_odds(against, everyone.costs if decided else None)
        how: dict[str, Any] = {"level": level, "threshold": threshold, "where": group, "against": other}
        return everyone.estimate(measure, of=None if of is None else self._class(of), **how)

    def _class(self, name: str) -> int:
        """The position of a class, written as people write it."""
        classes = self.fitting.settings.classes
        found = canonical(name, classes)
        if found is None:
            raise unknown("class", name, classes)
        return classes.index(found)

    def doubts(self) -> dict[str, float]:
        """By row, the chance that its label is wrong, as far as the model can say without having seen it.

        The model must have learned something: with fewer than two classes among the labels there are none.
        """
        answered = self.asked.answered
        method = self.fitting.method(answered)
        if not answered or not method.knows_labels:
            return {}
        places = np.array([row.place for row in answered], dtype=np.int64)
        found = self.fitting.everyone(self.asked).doubts(method.log_.m + method.held().at(places))
        return {row.id: float(chance) for row, chance in zip(answered, found, strict=True)}

    def classes(self) -> dict[str, ClassEstimate]:
        """What is known of each class, if none is the positive one; else nothing."""
        everyone = self.fitting.everyone(self.asked)
        if everyone.positive is not None:
            return {}
        return {name: everyone.of_class(k) for k, name in enumerate(self.fitting.settings.classes)}

    def confusion(self) -> list[list[Side]] | None:
        """The share of everyone with each class (row) and each prediction (column), of more than two classes."""
        everyone = self.fitting.everyone(self.asked)
        return everyone.confusion() if everyone.positive is None else None

    def measures(self) -> dict[str, PopulationEstimate | None]:
        """All measures; None for one that has no value, such as the precision of a model that flags nobody.

        The mean cost of a row is among them if errors differ in what they cost.
        """
        everyone = self.fitting.everyone(self.asked)
        return _estimated(everyone, dict.fromkeys((*everyone.measures, *self.fitting.settings.aim.measures)))

    def members(self) -> list[Worth]:
        """What each member of the model would be worth alone, by the measure that leads; none if it is no team.

        If a recall is wanted, every member gets the threshold that reaches it, so they are told apart by precision.
        """
        aim, found = self.fitting.settings.aim, []
        for member, everyone in self.fitting.members(self.asked):
            alone: dict[str, PopulationEstimate | None] = {}
            with suppress(NoRandomLabel):
                alone = _estimated(everyone, aim.measures[: 1 if aim.recall is None else 2])
            found.append(Worth(member.name, member.weight, alone))
        return found

    def against_built_in(self) -> PopulationEstimate | None:
        """How much larger the leading measure is for a model of the user's own than for the method's, fitted alike.

        None if the campaign has no such model, or nothing can be estimated. If a recall is wanted, each model has the
        threshold that reaches it, and precision is compared.
        """
        fitting, aim = self.fitting, self.fitting.settings.aim
        if fitting.own is None:
            return None
        everyone = fitting.everyone(self.asked)
        with suppress(NoRandomLabel, EmptyMeasure):
            everyone.estimate()  # before the work
            margin, costs = fitting.built_in(self.asked)
            margin = margin + everyone.costs.log_odds - costs.log_odds
            return everyone.estimate(aim.measures[0 if aim.recall is None else 1], against=margin)
        return None

    def ahead(self, left: int) -> Ahead | None:
        """What `left` further labels would do to the interval; None if the campaign draws none."""
        drawn = self.fitting.settings.drawn
        return Widths(self.fitting.everyone(self.asked), drawn).ahead(left) if drawn else None

    def left_out(self) -> dict[str, str]:
        """The log's columns that are not learned from, why, and how to keep them."""
        log, settings = self.fitting.log_frame, self.fitting.settings
        special = (settings.label, settings.propensity, settings.id)
        holds = {name: kind for name, kind in kinds(log, settings.given).items() if name not in special}
        return {name: why for name, why in left_out(log, holds, settings.given).items() if name not in settings.kinds}

    def values_of(self, column: str) -> dict[str, Rule]:
        """A rule for each value of a column, the commonest first."""
        named = in_rules(self.fitting.settings.kinds)
        if column not in named:
            raise unknown("column", column, named)
        kind = named[column]
        if kind not in ("category", "boolean"):
            like = {"date": ">= 2024-01-01", "text": "has the word refund"}.get(kind, "< 100")
            raise InputError(
                f"{column!r} holds a {kind}, with too many values. Name a column of categories, or give a rule such "
                f"as '{column} {like}'."
            )
        frames = self.fitting.log_frame, self.fitting.pool_sample
        texts = pl.concat([frame[column].cast(pl.String).fill_null(MISSING) for frame in frames])
        counted = texts.value_counts(name="rows").sort("rows", column, descending=[True, False])
        return {"missing" if value == MISSING else value: _only(column, kind, value) for value in counted[column]}

    def group(self, where: str | Rule) -> Bools:
        """Which rows of log and pool a rule is about; of a large pool in files, which rows of a sample of it."""
        named = in_rules(self.fitting.settings.kinds)
        rule = rule_of(where, named) if isinstance(where, str) else where
        frames = self.fitting.log_frame, self.fitting.held_frame(self.asked)
        found = [rule.mask(frame) for frame in frames]
        rows = int(found[1].sum())
        if not found[0].any() and not rows:
            raise InputError(f"no row of log and pool has {str(where)!r:.80}. {_known(rule, frames[1])}")
        if self.fitting.sampled and rows < LEAST_SAMPLED:
            raise TooFewRows(
                f"{rows} of the {frames[1].height:,} rows that stand for the pool have {str(where)!r:.80}; an estimate "
                f"needs {LEAST_SAMPLED}. Use a wider rule."
            )
        return np.concatenate(found)

    def share(self, where: str | Rule) -> float:
        """The share of all rows of log and pool that a rule is about."""
        design = design_of(self.fitting.method(self.asked.answered), self.asked, whole=not self.fitting.sampled)
        return mean_of(self.group(where), design.all_counts)

    def _log_odds(self, against: Any, costs: Costs | None) -> Floats:
        """Another model's log-odds for all rows: by a column, of an earlier model, or of a classifier.

        An earlier model's are moved so that it decides at its own threshold where the present one does by these costs.
        """
        frames = self.fitting.log_frame, self.fitting.held_frame(self.asked)
        if isinstance(against, int) and not isinstance(against, bool):
            margin, earlier = self._earlier(against)
            return margin + (0.0 if costs is None else costs.log_odds - earlier.log_odds)
        classes = self.fitting.settings.classes
        if isinstance(against, str):
            if len(classes) > 2:
                raise InputError(
                    f"a column holds the probabilities of one class, and there are {len(classes)}; got {against!r}. "
                    "Compare with a number of labels, or in Python with a classifier."
                )
            named = zip(frames, ("log", "pool"), strict=True)
            p = np.concatenate([_probabilities(frame, against, table) for frame, table in named])
            return np.asarray(logit(_inside(p)))
        order = [[str(value) for value in against.classes_].index(name) for name in classes]
        p = np.concatenate([against.predict_proba(frame)[:, order] for frame in frames])
        return scale(len(classes)).of_probabilities(_inside(p))

    def _earlier(self, labels: int) -> tuple[Floats, Costs]:
        """The log-odds of everyone by this campaign's model after its first labels, and the costs it decided by."""
        answered = self.asked.answered
        if not 0 <= labels <= len(answered):
            raise InputError(f"against must be 0 to {len(answered)}, the labels so far; got {labels}. Name fewer.")
        first = {row.id for row in sorted(answered, key=lambda row: row.at or "")[:labels]}
        return self.fitting.judged_by([row for row in answered if row.id in first], self.asked)


def _estimated(everyone: Everyone, measures: Iterable[str]) -> dict[str, PopulationEstimate | None]:
    """Estimates by measure; None for one that has no value."""

    def one(measure: str) -> PopulationEstimate | None:
        try:
            return everyone.estimate(measure)
        except EmptyMeasure:
            return None

    return {measure: one(measure) for measure in measures}


def _only(column: str, kind: str, value: str) -> Rule:
    """The rows with one value of a column of categories, or of true and false."""
    if kind == "category":
        return Rule((Condition(column, kind, values=(value,)),))
    absent = value == MISSING
    low, high = (0.5, None) if value == "true" else (None, None if absent else 0.5)
    return Rule((Condition(column, kind, low, high, known=not absent, missing=absent),))


def _probabilities(frame: pl.DataFrame, column: str, table: str) -> Floats:
    if column not in frame.columns:
        raise unknown(f"column of the {table}", column, frame.columns)
    values = frame[column]
    if not values.dtype.is_numeric() or values.null_count() or not values.is_between(0, 1).all():
        raise InputError(
            f"{column!r} must hold another model's probability of the positive class, in [0, 1], in every row of the "
            f"{table}. Name another column."
        )
    return np.asarray(values.to_numpy())


def _inside(p: Any) -> Floats:
    return np.asarray(np.clip(np.asarray(p, dtype=np.float64), SURE, 1.0 - SURE))


def _known(rule: Rule, frame: pl.DataFrame) -> str:
    """The values of the rule's categories, for somebody who misspelt one."""
    said = [condition for condition in rule.conditions if condition.kind == "category"]
    if not said:
        return "Use a wider rule."
    values = plain_column(frame[said[0].column], "category").unique().sort().to_list()
    return f"Values of {said[0].column!r}: {', '.join('missing' if v == MISSING else v for v in values)}."[:300]

"""How skewed is a log? Everything that `unskew audit` reports, from one table."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unskew.campaigns.audit.blind_spots import BlindSpot, blind_spots
from unskew.campaigns.tables.encoding import encoder, features
from unskew.campaigns.tables.files import check_log, feature_columns, kinds, label_texts, read_table
from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.models.bayes import BayesianLogistic
from unskew.rows import Floats
from unskew.sampling import weights
from unskew.sampling.diagnostics import Diagnostics, diagnose
from unskew.sampling.propensity import estimated_log

MOST_ROWS = 20_000
"""The most rows that models see, drawn at random; counts and blind spots use all rows."""

FEW = 10
"""With fewer labels of a class than this, no error is estimated."""


@dataclass(frozen=True)
class LogAudit:
    """What a log reveals about itself.

    Attributes
    ----------
    rows, labels : int
    classes : dict
        Each class and its number of labels, the negative class first.
    columns : dict
        The columns that models learn from, and what they hold.
    left_out : dict
        The other columns, except label, propensity and id, and why they are left out.
    modelled_rows : int
        The number of rows on which propensities and errors rest.
    diagnostics : Diagnostics
        Overlap, effective sample size, E[z/q0] = 1 and calibration.
    apparent : PopulationEstimate
        The error, on rows like the labelled ones, of the naive model, which is fitted to the labels as they are.
    naive, weighted : PopulationEstimate
        The errors on everyone of the naive model, and of the model fitted with weights 1/q0.
    blind_spots : tuple of BlindSpot
    warnings : tuple of str
    """

    rows: int
    labels: int
    classes: dict[str, int]
    columns: dict[str, str]
    left_out: dict[str, str]
    modelled_rows: int
    diagnostics: Diagnostics
    apparent: PopulationEstimate
    naive: PopulationEstimate
    weighted: PopulationEstimate
    blind_spots: tuple[BlindSpot, ...]
    warnings: tuple[str, ...]

    @property
    def reveal_rate(self) -> float:
        return self.labels / self.rows

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "rows": self.rows,
            "labels": self.labels,
            "reveal_rate": self.reveal_rate,
            "classes": self.classes,
            "columns": self.columns,
            "left_out": self.left_out,
            "modelled_rows": self.modelled_rows,
            "propensities": self.diagnostics.as_dict(),
            "error": {
                "naive_on_labelled_rows": asdict(self.apparent),
                "naive_on_everyone": asdict(self.naive),
                "weighted_on_everyone": asdict(self.weighted),
            },
            "blind_spots": [spot.as_dict() for spot in self.blind_spots],
            "warnings": list(self.warnings),
        }


def audit_log(
    log: str | Path | pl.DataFrame | Any,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    *,
    seed: int = 0,
) -> LogAudit:
    """Examine a log: who has a label, who has none, and what that does to a model.

    The log is a file, or a Polars or pandas frame. Without a propensity column, propensities are estimated from the
    other columns. The audit is then right only if these columns hold everything that decided who was labelled.

    >>> rng = np.random.default_rng(0)
    >>> x, w = rng.normal(size=(2, 2000)); q0 = np.where(x > 0, 0.9, 0.1)
    >>> y = np.where(rng.random(2000) < q0, (x * w > 0).astype(float), np.nan)
    >>> found = audit_log(pl.DataFrame({"x": x, "w": w, "q0": q0, "y": y}).fill_nan(None), "y", "q0")
    >>> [str(spot.rule) for spot in found.blind_spots], bool(found.naive.value > found.apparent.value)
    (['x < 0'], True)
    """
    frame = read_table(log, text=() if id is None else (id,), name="the log")
    pair = check_log(frame, label, propensity, id)
    every = kinds(frame)
    learned = {name: every[name] for name in feature_columns(frame, label, propensity, id)}
    texts = label_texts(frame, label)
    classes = {name: int((texts == name).sum()) for name in pair}
    few = min(classes, key=lambda name: classes[name])
    if classes[few] < FEW:
        raise InputError(
            f"an audit needs {FEW} labels of each class; got {classes[few]} of {few!r}. Label more rows first."
        )
    labelled = texts.is_not_null().to_numpy()
    spots = tuple(blind_spots(frame, learned, labelled, seed=seed))
    sampled = frame if frame.height <= MOST_ROWS else frame.sample(MOST_ROWS, seed=seed)
    X = features(encoder(frame, learned), sampled)
    y = label_texts(sampled, label).to_numpy(allow_copy=True).astype(object)
    if propensity is None:
        data, _ = estimated_log(X, y, classes=np.array(pair, dtype=object), random_state=seed)
    else:
        q0 = sampled[propensity].cast(pl.Float64).to_numpy()
        data = LoggedData(X, y, None, q0, classes=np.array(pair, dtype=object))
    diagnostics = diagnose(data)
    naive = _everyone(data, np.ones(len(data.revealed_y)), seed)
    weighted = _everyone(data, weights.normalise(weights.importance(data.revealed_q0)), seed)
    found = LogAudit(
        rows=frame.height,
        labels=int(labelled.sum()),
        classes=classes,
        columns={name: kind for name, kind in learned.items() if frame[name].n_unique() > 1},
        left_out=_left_out(frame, every, learned, {label, propensity, id}),
        modelled_rows=data.m,
        diagnostics=diagnostics,
        apparent=naive.labelled_alone().estimate(),
        naive=naive.estimate(),
        weighted=weighted.estimate(),
        blind_spots=spots,
        warnings=(),
    )
    return replace(found, warnings=tuple(_warnings(found)))


def _everyone(data: LoggedData, v: Floats, seed: int) -> Everyone:
    """Every row of the log as judged by a model fitted with weights v."""
    model = BayesianLogistic(random_state=seed).prepare(data.X, data.classes)
    model.update(data.revealed_X, data.revealed_y, v, choose=True)
    held_out = model.held_out(data.revealed_X, data.revealed_y, v)
    return Everyone.judged(
        Design(data.z, data.q0),
        model.margin(data.X),
        np.flatnonzero(data.z),
        data.revealed_y,
        held_out,
        q0_estimated=data.q0_estimated,
    )


def _left_out(
    frame: pl.DataFrame, every: dict[str, str], learned: dict[str, str], special: set[str | None]
) -> dict[str, str]:
    why = {name: "text for people" for name in every if name not in learned and name not in special}
    return why | {name: "the same in every row" for name in learned if frame[name].n_unique() < 2}


def _warnings(found: LogAudit) -> list[str]:
    """What a reader should not miss, in sentences."""
    d, said = found.diagnostics, []
    if d.q0_estimated:
        said.append(
            "No propensity column was named, so propensities were estimated. Results that rest on them hold only if "
            "the columns include everything that decided who got a label."
        )
    if not d.one_inside:
        said.append(
            f"The mean of z/q0 should be 1 and is {d.mean_weight:.2f}, which chance does not explain: the propensities "
            "do not fit the log."
        )
    if d.calibration_error > 2.0 * d.calibration_error_by_chance + 0.01:
        said.append(
            f"Propensities and reveal rates differ by {100 * d.calibration_error:.1f} points on average, where "
            f"chance alone would give {100 * d.calibration_error_by_chance:.1f}: weights based on them mislead."
        )
    if d.below_0_01 > 0.0:
        said.append(
            f"{100 * d.below_0_01:.1f} % of the rows had a chance of a label below 1 in 100: conclusions about them "
            "rest on very few labels, or on none."
        )
    if d.effective_labels < 0.3 * d.revealed:
        said.append(
            f"After reweighting, {d.revealed:,} labels carry as much information as about {d.effective_labels:,.0f} "
            "drawn at random."
        )
    said += [
        f"There is no label at all where {spot.rule}. Weighting cannot help there; only new labels can."
        for spot in found.blind_spots
        if not spot.labels
    ]
    if found.apparent.high < found.naive.low:
        said.append(
            f"The naive model looks better than it is: {100 * found.apparent.value:.1f} % wrong where there are "
            f"labels, {100 * found.naive.value:.1f} % on everyone."
        )
    if found.modelled_rows < found.rows:
        said.append(f"Propensities and errors rest on {found.modelled_rows:,} of {found.rows:,} rows, drawn at random.")
    return said

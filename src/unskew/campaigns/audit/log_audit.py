"""How skewed is a log? Everything that `unskew audit` reports, from one table."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unskew.campaigns.audit.blind_spots import BlindSpot, blind_spots, missing_from
from unskew.campaigns.audit.findings import Finding, findings, marked
from unskew.campaigns.tables.column_types import kinds, left_out
from unskew.campaigns.tables.encoding import block_places, encoder, features
from unskew.campaigns.tables.files import check_pool, label_texts, read_table
from unskew.campaigns.tables.log_files import read_log
from unskew.campaigns.tables.pool_files import AsInLog, files_that_stay, sample_of
from unskew.campaigns.tables.several_logs import policies_in
from unskew.data import LoggedData
from unskew.errors import InputError, unknown
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.kept import nearly_all
from unskew.methods.pool import JUDGE
from unskew.models.bayes import BayesianLogistic
from unskew.pools.scanning import Progress
from unskew.rows import Floats, take
from unskew.sampling import weights
from unskew.sampling.density_ratio import against_pool
from unskew.sampling.diagnostics import Diagnostics, diagnose
from unskew.sampling.propensity import estimated_log, of_whole_log
from unskew.sampling.within_policies import estimate_within

MOST_ROWS = 20_000
"""The most rows that models see, drawn at random; counts and blind spots use all rows."""

FEW = 10
"""With fewer labels of a class than this, no error is estimated."""


@dataclass(frozen=True)
class RelativeChances:
    """Chances of a label, relative to those of the rows that were likeliest to have one (`density_ratio`).

    `least`, `below_0_05` and `below_0_01` are over the pool: the least, and the shares of its rows below 0.05 and 0.01.
    `effective_labels` is the number of equally weighted labels that would carry as much information.
    """

    least: float
    below_0_05: float
    below_0_01: float
    effective_labels: float


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
        The other columns, except label, propensity and id, why they are left out and how to keep them.
    kept_rows : int or None
        The number of rows of a long log that were kept (`read_log`), on which all but the counts rests; None if all.
    modelled_rows : int
        The number of rows on which propensities and errors rest.
    only_labelled : bool
        Whether (nearly) every row has a label and no propensity was named: the log shows only those who were picked.
        Then nothing is known about everyone, and `naive` and `weighted` are None.
    pool_rows : int or None
        The number of rows of the pool with which such a log was compared.
    diagnostics : Diagnostics or None
        Overlap, effective sample size, E[z/q0] = 1 and calibration. None for a log of labelled rows only.
    relative : RelativeChances or None
        What a pool says about the propensities of such a log.
    apparent : PopulationEstimate
        The error, on rows like the labelled ones, of the naive model, which is fitted to the labels as they are.
    naive, weighted : PopulationEstimate or None
        The errors on everyone of the naive model, and of the model fitted with weights 1/q0.
    blind_spots : tuple of BlindSpot or None
        None where they cannot be known: rows without a label are missing from the log, and there is no pool.
    findings : tuple of Finding
        What a reader should not miss, each with what to do about it.
    """

    rows: int
    labels: int
    classes: dict[str, int]
    columns: dict[str, str]
    left_out: dict[str, str]
    kept_rows: int | None
    modelled_rows: int
    only_labelled: bool
    pool_rows: int | None
    diagnostics: Diagnostics | None
    relative: RelativeChances | None
    apparent: PopulationEstimate
    naive: PopulationEstimate | None
    weighted: PopulationEstimate | None
    blind_spots: tuple[BlindSpot, ...] | None
    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found, without what to do about it."""
        return tuple(finding.says for finding in self.findings)

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
            "kept_rows": self.kept_rows,
            "modelled_rows": self.modelled_rows,
            "only_labelled": self.only_labelled,
            "pool_rows": self.pool_rows,
            "propensities": self.diagnostics and self.diagnostics.as_dict(),
            "relative_propensities": self.relative and asdict(self.relative),
            "error": {
                "naive_on_labelled_rows": asdict(self.apparent),
                "naive_on_everyone": self.naive and asdict(self.naive),
                "weighted_on_everyone": self.weighted and asdict(self.weighted),
            },
            "blind_spots": None if self.blind_spots is None else [spot.as_dict() for spot in self.blind_spots],
            "warnings": list(self.warnings),
            "findings": [finding._asdict() for finding in self.findings],
        }


def audit_log(
    log: str | Path | pl.DataFrame | Any,
    label: str,
    propensity: str | None = None,
    id: str | None = None,
    *,
    policy: str | None = None,
    pool: str | Path | pl.DataFrame | Any = None,
    seed: int = 0,
    types: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> LogAudit:
    """Examine a log: who has a label, who has none, and what that does to a model.

    The log is a file, a Polars or pandas frame, a folder, glob or URL of Parquet files, or a list of logs. Of more than
    200,000 rows, some are kept, drawn at random from those with a label and from those without one (`read_log`).
    Without a propensity column, propensities are estimated from the other columns, within each value of a column
    `policy` if there is one. The audit is then right only if these columns hold everything that decided who was
    labelled.

    A log in which (nearly) every row has a label shows only those who were picked. It is compared with `pool`, a sample
    of everyone with the same columns. Without one, only the error on rows like the labelled ones is known.

    `types` says what columns hold where they look like something else (`given_types`): ``{"zip": "category"}``.

    >>> rng = np.random.default_rng(0)
    >>> x, w = rng.normal(size=(2, 2000)); q0 = np.where(x > 0, 0.9, 0.1)
    >>> y = np.where(rng.random(2000) < q0, (x * w > 0).astype(float), np.nan)
    >>> found = audit_log(pl.DataFrame({"x": x, "w": w, "q0": q0, "y": y}).fill_nan(None), "y", "q0")
    >>> [str(spot.rule) for spot in found.blind_spots], bool(found.naive.value > found.apparent.value)
    (['x < 0'], True)
    """
    read = read_log(log, label, propensity, id, policy=policy, types=types, progress=progress)
    frame, classes, kept = read.described, read.labels, read.kept
    if id is not None and id not in frame.columns:
        raise unknown("id column", id, frame.columns)
    every = {name: kind for name, kind in kinds(frame, read.types).items() if name not in (label, propensity, id)}
    learned = {name: kind for name, kind in every.items() if kind != "ignore"}
    few = sorted(classes, key=lambda name: classes[name])[-2]  # of more than two classes, two must have enough
    if classes[few] < FEW:
        whose = "each class" if len(classes) == 2 else "two classes"
        raise InputError(
            f"an audit needs {FEW} labels of {whose}; got {classes[few]} of {few!r}. Label more rows first."
        )
    labelled, labels = label_texts(frame, label).is_not_null().to_numpy(), sum(classes.values())
    only_labelled = propensity is None and nearly_all(labels, read.rows)
    everyone, pool_rows = None, None
    if pool is not None:
        everyone, pool_rows = _pool(pool, frame, label, propensity, id, only_labelled, read.types, progress)
    sampled = _some(read.frame, seed)
    columns = encoder(frame, learned)
    X, blocks = features(columns, sampled), block_places(columns)
    y = label_texts(sampled, label).to_numpy(allow_copy=True).astype(object)
    given = pl.Series([None] * len(y), dtype=pl.Float64) if propensity is None else sampled[propensity].cast(pl.Float64)
    q0, estimated = given.fill_null(1.0).to_numpy(), bool(given.null_count())
    pair = np.array(read.classes, dtype=object)
    data = LoggedData(X, y, None, q0, classes=pair, q0_estimated=estimated, kept=kept, blocks=blocks)
    spots: list[BlindSpot] | None = None
    relative = None
    if everyone is not None:
        spots = missing_from(frame.filter(labelled), everyone, learned, log_rows=labels, pool_rows=pool_rows, seed=seed)
        relative = _relative(data, features(columns, _some(everyone, seed)), seed)
    elif estimated and read.policy is not None and not only_labelled:
        data = _within(data, y, given, policies_in(sampled, read.policy), seed)
    elif estimated and not only_labelled:
        data, _ = estimated_log(X, y, classes=data.classes, random_state=seed, kept=kept, blocks=blocks)
    diagnostics = None if only_labelled else diagnose(data)
    if diagnostics is not None and (diagnostics.one_inside or not nearly_all(labels, read.rows)):
        spots = blind_spots(frame, learned, labelled, kept=kept, seed=seed)
    naive = _everyone(data, np.ones(len(data.revealed_y)), seed)
    weighted = None
    if not only_labelled:
        weighted = _everyone(data, weights.normalise(weights.importance(data.revealed_q0)), seed)
    found = LogAudit(
        rows=read.rows,
        labels=labels,
        classes=classes,
        columns={name: kind for name, kind in learned.items() if frame[name].n_unique() > 1},
        left_out=left_out(frame, every, read.types),
        kept_rows=None if kept is None else frame.height,
        modelled_rows=data.m,
        only_labelled=only_labelled,
        pool_rows=pool_rows,
        diagnostics=diagnostics,
        relative=relative,
        apparent=naive.labelled_alone().estimate(),
        naive=None if only_labelled else naive.estimate(),
        weighted=None if weighted is None else weighted.estimate(),
        blind_spots=None if spots is None else tuple(spots),
        findings=(),
    )
    return replace(found, findings=(*marked(read.marks), *findings(found)))


def _within(data: LoggedData, y: Any, given: pl.Series, policy: Any, seed: int) -> LoggedData:
    """The log with propensities estimated within each policy, where none is given."""
    rows, q0 = given.is_null().arg_true().to_numpy(), data.q0.copy()
    found = estimate_within(take(data.X, rows), data.z[rows], policy[rows], random_state=seed)
    q0[rows] = of_whole_log(found, data.z, data.kept)
    return LoggedData(data.X, y, data.z, q0, classes=data.classes, q0_estimated=True, kept=data.kept)


def _some(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The rows that models see."""
    return frame if frame.height <= MOST_ROWS else frame.sample(MOST_ROWS, seed=seed)


def _pool(
    pool: Any,
    log: pl.DataFrame,
    label: str,
    propensity: str | None,
    id: str | None,
    only_labelled: bool,
    types: Mapping[str, str],
    progress: Progress | None,
) -> tuple[pl.DataFrame, int]:
    """The pool with the log's columns, or an even sample of a large one, and its number of rows.

    Only a log of labelled rows alone needs it.
    """
    if not only_labelled:
        has = "has rows without a label" if propensity is None else f"has its propensities in {propensity!r}"
        raise InputError(f"a pool is for a log of labelled rows only, and this log {has}. Leave --pool out.")
    if id is not None:
        log = log.drop(id)
    files = files_that_stay(pool)
    if files is not None:
        return sample_of(files, AsInLog.of(log, label, propensity, None, files, given=types), JUDGE, id, progress)
    text = [name for name, dtype in log.schema.items() if dtype == pl.String]
    read = read_table(pool, text=text, name="the pool", types=types)
    found = check_pool(log, read if id is None else read.drop(id, strict=False), label)
    return found, found.height


def _relative(data: LoggedData, pool: Any, seed: int) -> RelativeChances:
    """How much likelier some rows were to be picked than others."""
    known, Q0 = against_pool(data, pool, random_state=seed)
    q0 = Q0(pool)
    return RelativeChances(
        least=float(q0.min()),
        below_0_05=float((q0 < 0.05).mean()),
        below_0_01=float((q0 < 0.01).mean()),
        effective_labels=weights.effective_sample_size(weights.importance(known.revealed_q0)),
    )


def _everyone(data: LoggedData, v: Floats, seed: int) -> Everyone:
    """Every row of the log as judged by a model fitted with weights v."""
    model = BayesianLogistic(random_state=seed).prepare(data.X, data.classes, blocks=data.blocks)
    model.update(data.revealed_X, data.revealed_y, v, choose=True)
    held_out = model.held_out(data.revealed_X, data.revealed_y, v)
    judged = Design.of(data), model.log_odds(data.X), np.flatnonzero(data.z), data.revealed_y, held_out
    return Everyone.judged(*judged).trusting(data)

"""The report of a campaign: one self-contained HTML page that reads well on a phone and prints well."""

import platform
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy
import sklearn

import unskew
from unskew.campaigns.audit.filling import BlindSpots
from unskew.campaigns.campaign import Campaign
from unskew.campaigns.ledger.work import Work
from unskew.campaigns.report.chart import ChartPoint, error_chart
from unskew.errors import EmptyMeasure, NoRandomLabel
from unskew.estimation.population import PopulationEstimate
from unskew.methods.registry import REGISTRY
from unskew.pages import rendered
from unskew.sampling.diagnostics import diagnose
from unskew.writing import Output, page_of

COMMAND = "unskew report"
MEASURES = {
    "precision": "precision: share of predicted “{positive}” that are right",
    "recall": "recall: share of actual “{positive}” found",
}


def page(path: Path, *, overwrite: bool = False) -> Output:
    """The file, if a report may be written there: a new file or an earlier report; with `overwrite`, any file."""
    return Output(path, COMMAND, page_of(COMMAND), overwrite)


def write_report(campaign: Campaign, path: Path, *, overwrite: bool = False) -> str:
    """Write the page, whole or not at all, and return its headline."""
    output = page(path, overwrite=overwrite)
    facts = gather(campaign)
    output.put_text(render(facts))
    return str(facts["headline"])


def render(facts: dict[str, Any]) -> str:
    """The page with these facts."""
    return rendered("unskew.campaigns.report", "report.html.j2", facts)


def gather(campaign: Campaign) -> dict[str, Any]:
    """All facts on the page. The same ledger gives the same page."""
    state, settings, status = campaign.state, campaign.settings, campaign.status()
    answered = state.answered()
    history, now = dict(campaign.history()), _error(campaign)
    before = history.get(0)
    if now is not None:
        history[state.spent] = now
    points = [_point(labels, found) for labels, found in sorted(history.items())]
    spots = BlindSpots(campaign.log_frame, campaign.pool_frame, settings.kinds, settings.label).filled(answered)
    told = [headline(now, state.spent, state.budget), status.ended]
    return {
        "name": campaign.name,
        "headline": " ".join(filter(None, told)),
        "before": before and _percent(before),
        "now": now and _percent(now),
        "measures": _measures(campaign, now),
        "spent": state.spent,
        "budget": state.budget,
        "skipped": state.skipped,
        "open": status.open,
        "rounds": status.rounds,
        "closed": status.closed,
        "charts": [error_chart(points, state.budget, narrow=narrow) for narrow in (False, True)] if points else [],
        "points": points,
        "reasons": Counter(row.reason for row in answered),
        "spots": spots,
        "most": 100 * max([0.01, *(max(s.population_share, s.share_before, s.share_now) for s in spots)]),
        "workers": [_worker(name, work, settings.classes) for name, work in by_labels(status.annotators)],
        "log": asdict(diagnose(campaign.method().log_)),
        "settings": settings,
        "of_package": settings.method in REGISTRY,
        "model": campaign.digest(),
        "events": state.last,
        "until": _minute(state.last_at),
        "versions": _versions(),
    }


def headline(now: PopulationEstimate | None, spent: int, budget: int) -> str:
    """The result in one sentence.

    >>> found = PopulationEstimate(0.117, 0.061, 0.188, 0.03, 0.95, "error", "dr", "wald", 900, 140.0)
    >>> headline(found, 300, 500)
    'The model is wrong on 12 % of everyone, 95 % interval 6 to 19 %, from 300 labels of 500.'
    """
    if now is None:
        return f"The error of the model cannot be estimated: none of {spent} labels of {budget} was drawn at random."
    value, low, high = (f"{100 * share:.0f}" for share in (now.value, now.low, now.high))
    return (
        f"The model is wrong on {value} % of everyone, {100 * now.level:g} % interval {low} to {high} %, "
        f"from {spent} label{'s' if spent != 1 else ''} of {budget}."
    )


def _error(campaign: Campaign) -> PopulationEstimate | None:
    try:
        return campaign.error()
    except NoRandomLabel:
        return None


def _measures(campaign: Campaign, now: PopulationEstimate | None) -> list[tuple[str, dict[str, str]]]:
    if now is None:
        return []
    positive = campaign.settings.classes[1]
    found = [("error: share of everyone it gets wrong", _percent(now))]
    for measure, words in MEASURES.items():
        with suppress(EmptyMeasure):  # no row is predicted to be of the class, or none is
            found.append((words.format(positive=positive), _percent(campaign.error(measure))))
    return found


def _point(labels: int, found: PopulationEstimate) -> ChartPoint:
    return ChartPoint(labels, 100 * found.value, 100 * found.low, 100 * found.high)


def _percent(found: PopulationEstimate) -> dict[str, str]:
    shares = {"value": found.value, "low": found.low, "high": found.high}
    told = {name: f"{100 * share:.1f}" for name, share in shares.items()}
    return {**told, "level": f"{100 * found.level:g}", "worth": f"{found.effective_sample_size:.0f}"}


def by_labels(annotators: dict[str, Work]) -> list[tuple[str, Work]]:
    """Those who answered or skipped a row, most labels first."""
    some = [(name, work) for name, work in annotators.items() if work.answered + work.skipped]
    return sorted(some, key=lambda one: (-one[1].answered, one[0]))


def _worker(name: str, work: Work, classes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": name,
        "labels": {label: work.labels.get(label, 0) for label in classes},
        "skipped": work.skipped,
        "corrections": work.corrections,
        "first": _minute(work.first or ""),
        "last": _minute(work.last or ""),
    }


def _minute(at: str) -> str:
    return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M}"


def _versions() -> dict[str, str]:
    packages = {module.__name__: module.__version__ for module in (unskew, np, scipy, sklearn, pl)}
    return {**packages, "python": platform.python_version()}

"""The report of a campaign: one HTML page that stands alone, reads on a phone and prints well."""

import platform
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unskew.campaigns.audit.filling import BlindSpots
from unskew.campaigns.campaign import Campaign
from unskew.campaigns.folder import put
from unskew.campaigns.report.chart import Point, error_chart
from unskew.campaigns.report.page import rendered
from unskew.errors import InputError
from unskew.estimation.population import PopulationEstimate
from unskew.sampling.diagnostics import diagnose

MEASURES = {
    "precision": "right where it says “{positive}”",
    "recall": "of all “{positive}”, found",
}


@dataclass(frozen=True)
class Worker:
    """What one person did."""

    name: str
    labels: dict[str, int]
    skipped: int
    corrections: int
    first: str
    last: str


def write_report(campaign: Campaign, path: Path) -> str:
    """Write the page, whole or not at all, and return its headline."""
    facts = gather(campaign)
    page = render(facts)
    put(path, lambda beside: _write(beside, page))
    return str(facts["headline"])


def render(facts: dict[str, Any]) -> str:
    """The page that says these facts."""
    return rendered("report.html.j2", facts)


def gather(campaign: Campaign) -> dict[str, Any]:
    """Everything the page says. The same ledger gives the same page."""
    state, settings = campaign.state, campaign.settings
    answered = state.answered()
    history, now = dict(campaign.history()), _error(campaign)
    before = history.get(0)
    if now is not None:
        history[state.spent] = now
    points = [_point(labels, found) for labels, found in sorted(history.items())]
    spots = BlindSpots(campaign.log_frame, campaign.pool_frame, settings["kinds"], settings["label"]).filled(answered)
    told = [headline(now, state.spent, state.budget), campaign.status().ended]
    return {
        "name": campaign.folder.path.resolve().name,
        "headline": " ".join(filter(None, told)),
        "before": before and _percent(before),
        "now": now and _percent(now),
        "measures": _measures(campaign, now),
        "spent": state.spent,
        "budget": state.budget,
        "skipped": state.skipped,
        "open": len(state.open),
        "rounds": len(state.batches),
        "closed": sum(batch.closed is not None for batch in state.batches),
        "charts": [error_chart(points, state.budget, narrow=narrow) for narrow in (False, True)] if points else [],
        "points": points,
        "rules": Counter(row.rule for row in answered),
        "spots": spots,
        "most": 100 * max([0.01, *(max(s.population_share, s.share_before, s.share_now) for s in spots)]),
        "workers": _workers(campaign),
        "log": asdict(diagnose(campaign.method().log_)),
        "settings": settings,
        "model": campaign.digest(),
        "events": state.last,
        "until": _minute(campaign.ledger.events(campaign.id, state.last - 1)[-1].at),
        "versions": _versions(),
    }


def headline(now: PopulationEstimate | None, spent: int, budget: int) -> str:
    """The result in words.

    >>> found = PopulationEstimate(0.117, 0.061, 0.188, 0.03, 0.95, "error", "dr", "wald", 900, 140.0)
    >>> headline(found, 300, 500)
    'The model is wrong on 12 % of everyone, 95 % interval 6 to 19 %, from 300 labels of 500.'
    """
    if now is None:
        return f"How wrong the model is cannot be said: of {spent} labels of {budget}, none came at random."
    value, low, high = (f"{100 * share:.0f}" for share in (now.value, now.low, now.high))
    return (
        f"The model is wrong on {value} % of everyone, {100 * now.level:g} % interval {low} to {high} %, "
        f"from {spent} label{'s' if spent != 1 else ''} of {budget}."
    )


def _error(campaign: Campaign) -> PopulationEstimate | None:
    try:
        return campaign.error()
    except InputError:  # no label came at random
        return None


def _measures(campaign: Campaign, now: PopulationEstimate | None) -> list[tuple[str, dict[str, str]]]:
    if now is None:
        return []
    positive = campaign.settings["classes"][1]
    found = [("wrong on everyone", _percent(now))]
    for measure, words in MEASURES.items():
        with suppress(InputError):  # nobody is said to be of the class
            found.append((words.format(positive=positive), _percent(campaign.error(measure))))
    return found


def _point(labels: int, found: PopulationEstimate) -> Point:
    return Point(labels, 100 * found.value, 100 * found.low, 100 * found.high)


def _percent(found: PopulationEstimate) -> dict[str, str]:
    shares = {"value": found.value, "low": found.low, "high": found.high}
    told = {name: f"{100 * share:.1f}" for name, share in shares.items()}
    return {**told, "level": f"{100 * found.level:g}", "worth": f"{found.effective_sample_size:.0f}"}


def _workers(campaign: Campaign) -> list[Worker]:
    """Who labelled, most labels first."""
    classes = campaign.settings["classes"]
    events = campaign.ledger.events(campaign.id)
    corrections = Counter(event.actor for event in events if event.kind == "corrected")
    times: dict[str, list[str]] = {}
    labels: dict[str, Counter[str | None]] = {}
    for row in campaign.state.rows.values():
        if row.by is not None and row.at is not None:
            times.setdefault(row.by, []).append(row.at)
            labels.setdefault(row.by, Counter())[row.label] += 1
    workers = [
        Worker(
            name, {label: count[label] for label in classes}, count[None], corrections[name],
            _minute(min(times[name])), _minute(max(times[name])),
        )
        for name, count in labels.items()
    ]  # fmt: skip
    return sorted(workers, key=lambda worker: (-sum(worker.labels.values()), worker.name))


def _minute(at: str) -> str:
    return f"{datetime.fromisoformat(at):%Y-%m-%d %H:%M}"


def _versions() -> dict[str, str]:
    import scipy
    import sklearn

    import unskew

    packages = {module.__name__: module.__version__ for module in (unskew, np, scipy, sklearn, pl)}
    return {**packages, "python": platform.python_version()}


def _write(path: Path, page: str) -> None:
    path.write_text(page, encoding="utf-8")

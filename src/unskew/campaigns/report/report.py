"""The report of a campaign: one self-contained HTML page that reads well on a phone and prints well."""

import platform
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy
import sklearn
from threadpoolctl import threadpool_limits

import unskew
from unskew.campaigns.audit.filling import BlindSpots, Filled, rows_in_words
from unskew.campaigns.campaign import Campaign
from unskew.campaigns.learning.recipes import shown
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.work import Work
from unskew.campaigns.measuring import Measuring, Worth
from unskew.campaigns.report.chart import ChartPoint, chart, threshold_chart
from unskew.campaigns.report.classes import class_facts
from unskew.campaigns.report.drivers import driver_facts
from unskew.campaigns.report.next_steps import next_steps
from unskew.errors import NoRandomLabel
from unskew.estimation.aims import MEANINGS, NAMES, Aim
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.estimation.sentences import MEASURES, against_built_in, amount, interval, uncomputable
from unskew.methods.registry import REGISTRY
from unskew.pages import rendered
from unskew.sampling.diagnostics import diagnose
from unskew.writing import Output, page_of

COMMAND = "unskew report"
SHOWN = ("cost", "error", "precision", "recall", "f1", "balanced_error", "auc")
"""The measures in the table, as far as they were estimated. If there are more than two classes, the log loss is too."""

KINDS = {
    "BayesianLogistic": "Bayesian logistic regression",
    "Trees": "Trees",
}
"""The members of a team in words."""


def page(path: Path, *, overwrite: bool = False) -> Output:
    """The file, if a report may be written there: a new file or an earlier report; with `overwrite`, any file."""
    return Output(path, COMMAND, page_of(COMMAND), overwrite)


def write_report(campaign: Campaign, path: Path, *, overwrite: bool = False) -> dict[str, Any]:
    """Write the page, whole or not at all, and return the facts on it (`gather`)."""
    output = page(path, overwrite=overwrite)
    facts = gather(campaign)
    output.put_text(render(facts))
    return facts


def render(facts: dict[str, Any]) -> str:
    """The page with these facts."""
    return rendered("unskew.campaigns.report", "report.html.j2", facts)


def gather(campaign: Campaign) -> dict[str, Any]:
    """All facts on the page. The same ledger gives the same page."""
    state, settings, status = campaign.state, campaign.settings, campaign.status()
    answered, log = state.answered(), campaign.method().log_
    measuring = campaign.measuring()
    measures, members, many = _measures(measuring), measuring.members(), len(settings.classes) > 2
    alone_by = list(members[0].alone) if members else []
    own, rival = measuring.fitting.own, measuring.against_built_in()
    aim, threshold = settings.aim, campaign.method().costs.threshold
    now = aim.leading(measures)
    leads = aim.measures[0] if now is None else now.measure
    wanted = aim.recall if leads == "recall" else None
    history = {labels: found.get(leads) for labels, found in state.estimates.items()}
    grown = {**state.grown, **({state.spent: len(state.parts)} if now is not None else {})}
    before = history.get(0) if not grown.get(0) else None  # the first model is about the pool as it was at first
    if now is not None:
        history[state.spent] = now
    points = [_point(labels, found, grown[labels]) for labels, found in sorted(history.items()) if found is not None]
    spots = BlindSpots(campaign.log_frame, campaign.pool_sample, settings).filled(answered)
    to_come = measuring.ahead(status.more)
    extended = bool(state.parts)
    told = [headline(aim, measures, settings.classes[1], state.spent, state.budget, extended), status.exhausted]
    return {
        "name": campaign.name,
        "headline": " ".join(filter(None, told)),
        "error": measures.get("error"),
        "lead": now,
        "leads": NAMES[leads],
        "meaning": MEANINGS[leads].format(positive=settings.classes[1]),
        "wanted": wanted,
        "left_out": len(history) - len(points),
        "not_recorded": not grown.get(0) and any(state.estimates.get(0, {}).values()),
        "beside": [*status.noise, *aim.beside(measures, settings.classes)],
        "caution": now is not None and (now.q0_estimated or now.extended or (now.log and now.log_share == 0.0)),
        "pool": status.pool if extended else "",
        "next_steps": next_steps(campaign.name, status, to_come, spots),
        "before": before and _shown(before),
        "now": now and _shown(now),
        "measures": _rows(measures, settings.classes, (*SHOWN, "log_loss") if many else SHOWN),
        "members": members,
        "alone_by": alone_by,
        "alone": [_member(worth) for worth in members],
        "together": [_cell(measures[name], name) for name in alone_by if name in measures],
        **driver_facts(campaign.importance()),
        "spent": state.spent,
        "budget": state.budget,
        "skipped": state.skipped,
        "open": status.open,
        "rounds": status.rounds,
        "closed": status.closed,
        "charts": [chart(points, state.budget, leads, wanted, narrow=narrow) for narrow in (False, True) if points],
        "points": points,
        "first": points and amount(points[0].value, leads),
        "latest": points and amount(points[-1].value, leads),
        "decision": settings.decision(threshold),
        "thresholds": _thresholds(campaign, threshold) if now is not None and not many else [],
        **(class_facts(measuring) if now is not None and many else {"classes": []}),
        "reasons": Counter(row.reason for row in answered),
        "spots": spots,
        "rows_of": [rows_in_words(spot.rows, spot.about) for spot in spots],
        "elsewhere": rows_in_words(_rows_elsewhere(spots, settings), any(spot.about for spot in spots)),
        "most": max([0.01, *(max(s.population_share, s.share_before, s.share_now) for s in spots)]),
        "workers": [_worker(name, work, settings.classes) for name, work in by_labels(status.annotators)],
        "log": asdict(diagnose(log)),
        "learned": len(log.revealed_y),
        "only_labelled": log.only_labelled,
        "settings": settings,
        "not_learned": measuring.left_out(),
        "of_package": settings.method in REGISTRY and own is None,
        "own": own and shown(settings.model),
        "changed": own and own.changed,
        "against_built_in": rival,
        "rival": rival and against_built_in(rival),
        "model": campaign.digest(),
        "events": state.last,
        "until": _minute(state.last_at),
        "versions": {**_versions(), **({} if own is None else own.versions)},
    }


def headline(
    aim: Aim,
    found: dict[str, PopulationEstimate | None],
    positive: str,
    spent: int,
    budget: int,
    extended: bool = False,
) -> str:
    """The result in one sentence.

    >>> found = PopulationEstimate(0.117, 0.061, 0.188, 0.03, 0.95, "error", 900, 140.0)
    >>> headline(Aim(), {"error": found}, "yes", 300, 500)
    'The model is wrong on 11.7 % of everyone, 95 % interval 6.1 to 18.8 %, from 300 labels of 500.'
    """
    if aim.leading(found) is None:
        if extended:
            return (
                "The error of the model cannot be estimated: no label was drawn at random since the pool was extended."
            )
        return f"The error of the model cannot be estimated: none of {spent} labels of {budget} was drawn at random."
    return f"The model {aim.told(found, positive)}, from {spent} label{'s' if spent != 1 else ''} of {budget}."


def _measures(measuring: Measuring) -> dict[str, PopulationEstimate | None]:
    try:
        return measuring.measures()
    except NoRandomLabel:
        return {}


def _rows(
    measures: dict[str, PopulationEstimate | None], classes: tuple[str, ...], shown: tuple[str, ...]
) -> list[tuple[str, str, str]]:
    """For each measure its name in words, its value and its interval; or, where it has none, why."""
    rows = []
    for name in (name for name in shown if name in measures):
        found, words = measures[name], MEASURES[name].format(positive=classes[1], negative=classes[0])
        if found is None:
            rows.append((words, uncomputable(name), ""))
        else:
            low, high = amount(found.low, name).removesuffix(" %"), amount(found.high, name)
            rows.append((words, amount(found.value, name), f"{low} to {high}"))
    return rows


def _rows_elsewhere(spots: list[Filled], settings: Settings) -> int:
    """The number of rows that are in no blind spot."""
    return settings.log_rows + settings.pool_rows - sum(spot.rows for spot in spots)


def _member(worth: Worth) -> tuple[str, str, list[tuple[str, str]]]:
    """A member of the team in words, its weight, and by measure what it would be worth alone."""
    weight = f"{worth.weight:.2f}" if worth.weight else "0"
    return KINDS.get(worth.name, worth.name), weight, [_cell(found, name) for name, found in worth.alone.items()]


def _cell(found: PopulationEstimate | None, measure: str) -> tuple[str, str]:
    """A value and, in brackets, its interval."""
    if found is None:
        return uncomputable(measure), ""
    value, _, rest = interval(found, measure).partition(" (")
    return value.replace(" ", "\N{NO-BREAK SPACE}"), f"({rest}"


def _thresholds(campaign: Campaign, decided: float) -> list[str]:
    """Recall and precision over thresholds, for a wide page and for a phone."""
    with threadpool_limits(1):  # short sums take longer if threads wait for each other
        everyone = campaign.everyone()
        assert isinstance(everyone, Everyone)  # of two classes
        found = everyone.over_thresholds()
    return [threshold_chart(found, decided, narrow=narrow) for narrow in (False, True)]


def _point(labels: int, found: PopulationEstimate, grown: int) -> ChartPoint:
    return ChartPoint(labels, found.value, found.low, found.high, grown)


def _shown(found: PopulationEstimate) -> dict[str, str]:
    value, low, high = (amount(share, found.measure) for share in (found.value, found.low, found.high))
    told = {"value": value, "low": low.removesuffix(" %"), "high": high}
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

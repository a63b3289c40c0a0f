"""A whole campaign on the simulated bank, labelled by two simulated people: the story of `unskew demo`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unskew.campaigns.audit.log_audit import LogAudit, audit_log
from unskew.campaigns.campaign import Campaign
from unskew.campaigns.example import ID, LABEL, LOG, POOL, PROPENSITY, truth
from unskew.estimation.population import PopulationEstimate

BUDGET, ROUND = 300, 30
"""The number of labels, and the number of rows in a round."""

PEOPLE = ("ann", "ben")
SKIPPED = 0.04
"""The share of the rows that nobody can answer, whatever their label."""


@dataclass(frozen=True)
class Step:
    """Where the campaign stands: the number of labels, the error estimated from them, and the true error."""

    labels: int
    skipped: int
    estimate: PopulationEstimate
    truth: float


def look() -> LogAudit:
    """Audit the log."""
    return audit_log(LOG, LABEL, PROPENSITY, ID)


def begin(folder: Path, seed: int = 0) -> Campaign:
    """The campaign, before its first label."""
    return Campaign.create(
        folder, log=LOG, pool=POOL, label=LABEL, propensity=PROPENSITY, id=ID, budget=BUDGET, seed=seed
    )


def steps(campaign: Campaign, seed: int = 0) -> Iterator[Step]:
    """Ask and tell until the budget is spent. There is a step before the first round, and one after each."""
    known = truth()
    rng = np.random.default_rng([seed, 1])
    yield _step(campaign, known)
    for turn in range(10 * BUDGET):
        who = PEOPLE[turn % len(PEOPLE)]
        rows = campaign.ask(ROUND, by=who)
        if not rows:
            return
        skipped = rng.random(len(rows)) < SKIPPED
        answers = {row.id: None if skip else known[row.id] for row, skip in zip(rows, skipped, strict=True)}
        campaign.tell(answers, by=who)
        campaign.close_due()
        yield _step(campaign, known)


def _step(campaign: Campaign, known: dict[str, str]) -> Step:
    pool = campaign.pool_frame
    wrong = campaign.model().predict(pool) != np.array([known[id] for id in pool[ID]])
    state = campaign.state
    return Step(state.spent, state.skipped, campaign.error(), float(wrong.mean()))

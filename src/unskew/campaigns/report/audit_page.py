"""The audit of a log as one self-contained HTML page."""

import shlex
from typing import TYPE_CHECKING

from unskew.campaigns.report.next_steps import Step
from unskew.pages import rendered

if TYPE_CHECKING:
    from unskew.campaigns.audit.log_audit import LogAudit

TILES = 4
"""With more classes, the page does not count the labels of each."""


def html(audit: "LogAudit", name: str, start: str | None = None, campaign: str | None = None) -> str:
    """The page; `name` is the name of the log, and `start` the command that starts a campaign on it, if it is known.

    `campaign` is the folder of the campaign whose log it is, if it is one's.
    """
    spots = audit.blind_spots or ()
    facts = {
        "audit": audit,
        "name": name,
        "next_steps": next_steps(audit, start, campaign),
        "most": max([0.01, *(max(spot.population_share, spot.label_share) for spot in spots)]),
        "each_class": len(audit.classes) <= TILES,
    }
    return rendered("unskew.campaigns.report", "audit.html.j2", facts)


def next_steps(audit: "LogAudit", start: str | None, campaign: str | None = None) -> list[Step]:
    """What to put right first, if anything, and then a campaign, or the one that there is."""
    d, first = audit.diagnostics, []
    if audit.blind_spots is None:
        first.append(
            Step(
                "Give the rows without a label",
                "The file does not show who has no label. With these rows, or with a sample of everyone as the pool, "
                "the audit can say where labels are missing.",
            )
        )
    if d is not None and not d.q0_estimated and (not d.one_inside or (audit.weighted and audit.weighted.q0_refuted)):
        right = "Correct the column, or drop it from the file: then propensities are estimated."
        later = "Look at the audit again after that." if campaign is None else "That needs a new campaign."
        first.append(Step("Put the propensities right", f"They do not fit the log. {right} {later}"))
    if campaign is not None:
        report = Step(
            "Look at the report of this campaign",
            "The campaign on this log asks people for labels: for some because they teach the model the most, above "
            "all in blind spots, and for some drawn at random. Its report says how good the model is on everyone by "
            "now, and how far the blind spots are filled.",
            (f"unskew report {shlex.quote(campaign)}",),
        )
        return [*first, report]
    begin = Step(
        "Start a campaign on this log",
        "It asks people for labels: for some because they teach the model the most, above all in blind spots, and for "
        "some drawn at random, to measure the error on everyone. It needs a pool, a file of rows that can be labelled.",
        (start,) if start else (),
    )
    return [*first, begin]

"""What a reader of an audit should not miss, in sentences, each with what to do about it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from unskew.campaigns.tables.label_columns import said_missing
from unskew.estimation.sentences import MISFIT, percent
from unskew.sampling.diagnostics import Diagnostics

if TYPE_CHECKING:
    from unskew.campaigns.audit.log_audit import LogAudit

NOTHING = "Nothing: the intervals allow for it."


class Finding(NamedTuple):
    """What was found, and what to do about it."""

    says: str
    remedy: str


def marked(marks: Mapping[str, int]) -> list[Finding]:
    """Labels that were read as missing."""
    if not marks:
        return []
    return [
        Finding(f"{said_missing(marks)}.", "If it is the name of a class, give the classes with --classes at `start`.")
    ]


def findings(found: "LogAudit") -> list[Finding]:
    """What the rest of an audit amounts to."""
    d = found.diagnostics
    said = _of_labelled_rows(found) if d is None else _of_propensities(found, d)
    said += _of_blind_spots(found)
    if found.naive is not None and found.apparent.high < found.naive.low:
        said.append(
            Finding(
                f"The naive model looks better than it is: {100 * found.apparent.value:.1f} % wrong where there are "
                f"labels, {100 * found.naive.value:.1f} % on everyone.",
                "Do not judge a model by the log's own labels. Judge it by labels drawn at random, as a campaign does.",
            )
        )
    if found.modelled_rows < found.rows:
        rest = f"Propensities and errors rest on {found.modelled_rows:,} of {found.rows:,} rows, drawn at random."
        said.append(Finding(rest, NOTHING))
    if found.kept_rows is not None:
        said.append(
            Finding(
                f"Blind spots rest on {found.kept_rows:,} rows of the log, drawn at random from those with a label and "
                "from those without one.",
                "Nothing: that many rows are enough to find them.",
            )
        )
    return said


def _of_blind_spots(found: "LogAudit") -> list[Finding]:
    """Regions that the log says little about, or nothing."""
    spots = found.blind_spots or ()
    if not spots:
        return []
    none = "no label at all" if found.kept_rows is None else "hardly any label, or none,"
    everyone, labels = sum(spot.population_share for spot in spots), sum(spot.label_share for spot in spots)
    where = "a blind spot, which has" if len(spots) == 1 else f"{len(spots)} blind spots, which have"
    return [
        Finding(
            f"{percent(everyone)} % of everyone are in {where} only {percent(labels)} % of the labels.",
            "Get labels there, for example with a campaign: it asks for rows of which the model knows little.",
        ),
        *(
            Finding(
                f"There is {none} where {spot.rule}.",
                "Do not use a model of this log there. Weighting cannot help; only new labels can.",
            )
            for spot in spots
            if not spot.labels
        ),
    ]


def _of_labelled_rows(found: "LogAudit") -> list[Finding]:
    """What a log of labelled rows only does not tell."""
    every = "Every row" if found.labels == found.rows else f"Nearly every row ({found.labels:,} of {found.rows:,})"
    picked = f"{every} has a label, so this log shows only those who were picked."
    if found.relative is None:
        return [
            Finding(
                f"{picked} Nothing in it says how a model does on the others.",
                "Give the rows without a label too, or a sample of everyone with --pool. If nobody was left out, name "
                "a propensity column that is 1 in every row.",
            )
        ]
    return [
        Finding(
            f"{picked} It is compared with the pool, taken for a sample of everyone: this shows where labels are "
            "missing, and not how often a model is wrong there.",
            "Get labels of rows of the pool, some of them drawn at random: only they can tell.",
        )
    ]


def _of_propensities(found: "LogAudit", d: Diagnostics) -> list[Finding]:
    """What propensities, given or estimated, make of the results."""
    said = []
    if d.q0_estimated:
        said.append(
            Finding(
                "No propensity column was named, so propensities were estimated. Results that rest on them hold only "
                "if the columns include everything that decided who got a label.",
                "If the chances of a label were recorded, name their column with --propensity. If not, rely on labels "
                "drawn at random, as a campaign does.",
            )
        )
    better = (
        "Correct the column of propensities. Or drop it from the file and leave --propensity out: then they are "
        "estimated."
    )
    if d.q0_estimated:
        better = "Add the columns that decided who got a label, if there are any."
    if not d.one_inside:
        said.append(
            Finding(
                f"The mean of z/q0 should be 1 and is {d.mean_weight:.2f}, which chance does not explain: the "
                "propensities do not fit the log. (z is 1 for a row with a label and 0 for one without; q0 is the "
                "propensity, its chance of a label.)",
                better,
            )
        )
        if found.blind_spots is None:
            said.append(
                Finding(
                    "By these propensities many more rows should have no label. It seems that they are missing from "
                    "the file, and without them, errors on everyone are wrong.",
                    "Give the rows without a label too.",
                )
            )
    elif found.weighted is not None and found.weighted.q0_refuted:
        said.append(Finding(f"{MISFIT}, which chance does not explain: weights based on them mislead.", better))
    if d.calibration_error > 2.0 * d.calibration_error_by_chance + 0.01:
        said.append(
            Finding(
                f"Propensities and the shares of rows with a label differ by {100 * d.calibration_error:.1f} points on "
                f"average, where chance alone would give {100 * d.calibration_error_by_chance:.1f}: weights based on "
                "them mislead.",
                better,
            )
        )
    if d.below_0_01 > 0.0:
        said.append(
            Finding(
                f"{100 * d.below_0_01:.1f} % of the rows had a chance of a label below 1 in 100: conclusions about "
                "them rest on very few labels, or on none.",
                "Do not rely on a model there before there are new labels of such rows.",
            )
        )
    if d.effective_labels < 0.3 * d.revealed:
        said.append(
            Finding(
                f"After reweighting, {d.revealed:,} labels carry as much information as about "
                f"{d.effective_labels:,.0f} drawn at random.",
                "Expect wide intervals from this log alone. New labels drawn at random make them narrower.",
            )
        )
    return said

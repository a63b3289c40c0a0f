"""Estimates in plain sentences: for the commands, the report and the page, so that all of them say the same.

Nothing here computes or loads anything, so a page that only shows sentences need not load NumPy.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unskew.estimation.costs import Costs

if TYPE_CHECKING:
    from unskew.estimation.ahead import Ahead, Needed
    from unskew.estimation.population import PopulationEstimate, Side

CHANCE = 0.01
"""Below this p-value, log and draw disagree by more than chance explains (`population.DISAGREE`)."""

MISFIT = "The propensities that the log gives do not fit which of its rows are labelled"

LATER = "The log may not speak for the rows that came to the pool later"

MEASURES = {
    "error": "error: share of everyone it gets wrong",
    "precision": "precision: share of predicted “{positive}” that are right",
    "recall": "recall: share of actual “{positive}” found",
    "f1": "F1: precision and recall in one number",
    "balanced_error": "balanced error: mean of the errors on both classes",
    "auc": "AUC: chance that a “{positive}” gets a higher score than a “{negative}”",
    "log_loss": "log loss: how far its probabilities are off",
    "cost": "cost: what its errors cost a row, on average",
}
"""The measures in words, in the order in which they are shown."""

DIFFERENCE = "difference in "
"""How the name of a measure begins where two models are compared."""

NUMBERS = ("f1", "auc", "log_loss", "cost")
"""Those that are no share of rows, and so are not given in per cent."""


def percent(share: float) -> str:
    """A share in per cent, with one decimal, or with one digit that is not 0.

    >>> percent(0.0503), percent(0.0003), percent(0.0), percent(1.0)
    ('5.0', '0.03', '0.0', '100.0')
    """
    return f"{100 * share:.1g}" if 0.0 < share < 0.0005 else f"{100 * share:.1f}"


def amount(value: float, measure: str) -> str:
    """A measure's value with its unit: error, precision and recall are shares of rows, the others are numbers.

    >>> amount(0.05, "error"), amount(0.93, "auc"), amount(0.0123, "cost"), amount(1234.5, "cost")
    ('5.0 %', '0.930', '0.0123', '1,234')
    """
    if measure.removeprefix(DIFFERENCE) == "cost":  # in the unit of the costs, whatever that is
        return f"{value:.3g}" if abs(value) < 1000.0 else f"{value:,.0f}"
    return f"{value:.3f}" if measure.removeprefix(DIFFERENCE) in NUMBERS else f"{percent(value)} %"


def interval(found: "PopulationEstimate | Side", measure: str = "error") -> str:
    """A value, with its interval in brackets.

    >>> from unskew.estimation.population import Side
    >>> interval(Side(0.04, 0.01, 0.09)), interval(Side(0.93, 0.9, 0.96), "auc")
    ('4.0 % (1.0 to 9.0)', '0.930 (0.900 to 0.960)')
    """
    low, high = (amount(value, measure).removesuffix(" %") for value in (found.low, found.high))
    return f"{amount(found.value, measure)} ({low} to {high})"


def wrong(found: "PopulationEstimate", whom: str = "everyone") -> str:
    """The error, as the end of a sentence about the model.

    >>> from unskew.estimation.population import PopulationEstimate
    >>> wrong(PopulationEstimate(0.05, 0.031, 0.074, 0.01, 0.95, "error", 200, 150.0))
    'wrong on 5.0 % of everyone, 95 % interval 3.1 to 7.4 %'
    """
    return f"wrong on {amount(found.value, 'error')} of {whom}, {_between(found)}"


def _between(found: "PopulationEstimate") -> str:
    low, high = amount(found.low, found.measure).removesuffix(" %"), amount(found.high, found.measure)
    return f"{100 * found.level:g} % interval {low} to {high}"


def achieved(found: "PopulationEstimate", positive: str) -> str:
    """An error, a cost, a recall or a precision, as the end of a sentence about the model.

    >>> from unskew.estimation.population import PopulationEstimate
    >>> achieved(PopulationEstimate(0.91, 0.85, 0.95, 0.02, 0.95, "recall", 200, 150.0), "yes")
    'finds 91.0 % of all “yes” (recall), 95 % interval 85.0 to 95.0 %'
    """
    value = amount(found.value, found.measure)
    words = {
        "error": f"is {wrong(found)}",
        "cost": f"costs {value} a row on average, {_between(found)}",
        "recall": f"finds {value} of all “{positive}” (recall), {_between(found)}",
        "precision": f"is right on {value} of those it flags (precision), {_between(found)}",
    }
    return words[found.measure]


def short_of(found: "PopulationEstimate", wanted: float) -> str:
    """A warning where the estimated recall is surely less than what is wanted."""
    if found.high >= wanted:
        return ""
    return (
        f"That is less than the {100 * wanted:g} % that are wanted: the whole interval lies below. The threshold "
        "follows the model, so label more rows, or begin again with a higher recall."
    )


def constant(found: "PopulationEstimate", costs: Costs) -> str:
    """What flagging nobody or everybody would cost, whichever is cheaper.

    >>> from unskew.estimation.population import PopulationEstimate
    >>> found = PopulationEstimate(0.2, 0.1, 0.3, 0.05, 0.95, "cost", 200, 150.0, positives=0.05, flagged=0.2)
    >>> constant(found, Costs(false_negative=10.0))
    'Flagging nobody would cost 0.5 a row: the model is cheaper.'
    """
    if found.positives is None:
        return ""
    nobody, everybody = found.positives * costs.false_negative, (1.0 - found.positives) * costs.false_positive
    least = min(nobody, everybody)
    judged = "the model is not clearly cheaper"
    if found.flagged == (everybody < nobody):
        judged = "the model does just that"
    elif found.high < least:
        judged = "the model is cheaper"
    elif found.low > least:
        judged = "the model is dearer"
    whom = "everybody" if everybody < nobody else "nobody"
    return f"Flagging {whom} would cost {amount(least, 'cost')} a row: {judged}."


def beside(found: "PopulationEstimate", classes: Sequence[str], whom: str = "rows") -> str:
    """What always saying the commoner class would do, and how many rows the model flags. Old ledgers do not say it.

    >>> from unskew.estimation.population import PopulationEstimate
    >>> found = PopulationEstimate(0.05, 0.031, 0.074, 0.01, 0.95, "error", 200, 150.0, positives=0.052, flagged=0.003)
    >>> print(beside(found, ["no", "yes"]))
    Always saying “no” would be wrong on 5.2 %: the model is not clearly better. It flags 0.3 % of rows as “yes”.
    """
    if found.commoner is None or found.positives is None:
        return ""
    negative, positive = classes
    named = negative if found.positives < 0.5 else positive
    judged = "the model is not clearly better"
    if found.flagged == (found.positives >= 0.5):
        judged = "the model does just that"
    elif found.high < found.commoner:
        judged = "the model is better"
    elif found.low > found.commoner:
        judged = "the model is worse"
    always = f"Always saying “{named}” would be wrong on {percent(found.commoner)} %"
    if found.threshold != 0.5:  # it does not aim at the fewest errors, so comparing errors would mislead
        return f"{always}. {flags(found, positive, whom)}"
    return f"{always}: {judged}. {flags(found, positive, whom)}"


def flags(found: "PopulationEstimate", positive: str, whom: str = "rows") -> str:
    """How many rows the model predicts to be positive."""
    if not found.flagged:
        return f"It flags none of the {whom} as “{positive}”." if found.flagged is not None else ""
    return f"It flags {percent(found.flagged)} % of {whom} as “{positive}”."


def sources(found: "PopulationEstimate") -> str:
    """What log and draw say by themselves, and which of them the number rests on. Old ledgers do not say it.

    >>> from unskew.estimation.population import PopulationEstimate, Side
    >>> found = PopulationEstimate(0.04, 0.01, 0.09, 0.02, 0.95, "error", 50, 50.0, log_share=0.0, agreement=0.002,
    ...     log=Side(0.21, 0.176, 0.247), draw=Side(0.04, 0.01, 0.09))
    >>> print(sources(found))
    The drawn labels say 4.0 % (1.0 to 9.0), the log says 21.0 % (17.6 to 24.7). They disagree by more than chance
    explains (p = 0.002), so the number rests on the drawn labels alone.
    """
    if found.log is None or found.draw is None:
        return _one_source(found)
    draw, log = (interval(side, found.measure) for side in (found.draw, found.log))
    of = "" if found.measure == "error" else f"a {found.measure} of "
    said = f"The drawn labels say {of}{draw}, the log says {log}."
    apart = found.agreement is not None and found.agreement < CHANCE
    differ = f"disagree by more than chance explains ({_p(found.agreement)})"
    if found.q0_estimated:
        more = f" The two {differ}." if apart else ""
        why = "The log's propensities were estimated, so the number rests on the drawn labels; the log only teaches."
        return f"{said} {why}{more}"
    if found.q0_refuted:
        return f"{said} {MISFIT}, so the number rests on the drawn labels; the log only teaches."
    if found.extended:
        return f"{said} {LATER}, so the number rests on the drawn labels; the log only teaches."
    if found.log_share == 0.0:
        so = "so the number rests on the drawn labels alone."
        return f"{said} They {differ}, {so}" if apart else f"{said} The number rests on the drawn labels."
    return (
        f"{said} They differ by no more than chance explains ({_p(found.agreement)}), so the number uses both; the log "
        f"counts for {100 * (found.log_share or 0.0):.0f} %."
    )


def _one_source(found: "PopulationEstimate") -> str:
    if found.draw is not None:
        return "The number rests on the drawn labels alone."
    if found.log is None:
        return ""
    careful, later = "Be careful: the number rests on the log alone", f" {LATER}." if found.extended else ""
    if found.q0_estimated:
        return (
            f"{careful}, and the log's propensities were estimated. It is right only if the columns hold everything "
            f"that decided which rows of the log were labelled.{later} As soon as drawn rows are labelled, it rests on "
            "them instead."
        )
    if found.q0_refuted or found.extended:
        misfit = f" {MISFIT}." if found.q0_refuted else ""
        return f"{careful}.{misfit}{later} As soon as drawn rows are labelled, it rests on them."
    return "The number rests on the log alone: no drawn row is labelled yet."


def _p(agreement: float | None) -> str:
    assert agreement is not None
    return "p < 0.001" if agreement < 0.001 else f"p = {agreement:.2g}"


def ahead(found: "Ahead | None", what: str = "the interval") -> str:
    """What further labels would do to the interval of the error, or as `what` calls it.

    >>> from unskew.estimation.ahead import Ahead, Needed
    >>> print(ahead(Ahead(90, 0.0312, (Needed(0.02, 140, 56), Needed(0.01, None, None)))))
    The 90 labels that are left would bring the interval to about ±3.1 points. ±2 points needs about 140 more labels, 56
    of them drawn; ±1 point needs more labels than the pool has.
    >>> print(ahead(Ahead(0, 0.04, (Needed(0.02, 140, 56),)), "the interval of the error"))
    For the interval of the error, ±2 points needs about 140 more labels, 56 of them drawn.
    """
    if found is None:
        return ""
    said = []
    if found.left and found.half_width < 1.0:
        labels = f"{found.left:,} label{'s' if found.left != 1 else ''} that {'are' if found.left != 1 else 'is'} left"
        said.append(f"The {labels} would bring {what} to about ±{100 * found.half_width:.1f} points.")
    reached = [plan for plan in found.needed if plan.labels is not None]
    beyond = found.needed[len(reached) : len(reached) + 1]  # narrower ones are beyond the pool all the more
    of_what = "" if said or what == "the interval" else f"For {what}, "
    said.append(of_what + "; ".join(map(_needed, [*reached, *beyond])) + ".")
    return " ".join(said)


def _needed(plan: "Needed") -> str:
    points = f"±{100 * plan.half_width:g} point{'s' if plan.half_width != 0.01 else ''}"
    if plan.labels is None:
        return f"{points} needs more labels than the pool has"
    if plan.labels == 0:
        return f"{points} is reached"
    labels = f"{plan.labels:,} more label{'s' if plan.labels != 1 else ''}"
    return f"{points} needs about {labels}, {plan.drawn:,} of them drawn"


def uncomputable(measure: str) -> str:
    """Why a measure has no value (`unskew.errors.EmptyMeasure`), in a few words.

    >>> uncomputable("precision"), uncomputable("recall")
    ('none flagged', 'no positive row found yet')
    """
    if measure == "precision":
        return "none flagged"
    return "no positive row found yet" if measure in ("recall", "f1") else "rows of one class only"


def compared(found: "PopulationEstimate", other: str) -> str:
    """How this model differs from another one in a measure.

    >>> from unskew.estimation.population import PopulationEstimate
    >>> found = PopulationEstimate(-0.021, -0.04, 0.002, 0.01, 0.95, "difference in error", 200, 150.0)
    >>> print(compared(found, "the model after 20 labels"))
    Its error is 2.1 points lower than that of the model after 20 labels, 95 % interval 4.0 lower to 0.2 higher: chance
    may explain the difference.
    """
    measure = found.measure.removeprefix(DIFFERENCE)
    points = "" if measure in NUMBERS else " points"
    value, low, high = (_directed(share, measure) for share in (found.value, found.low, found.high))
    chance = "does not" if found.low > 0.0 or found.high < 0.0 else "may"
    return (
        f"Its {measure.replace('_', ' ')} is {value.replace(' ', f'{points} ')} than that of {other}, "
        f"{100 * found.level:g} % interval {low} to {high}: chance {chance} explain the difference."
    )


def against_built_in(found: "PopulationEstimate") -> str:
    """How the user's own model differs from Unskew's, and which of them is better, if that is known.

    >>> from unskew.estimation.population import PopulationEstimate
    >>> found = PopulationEstimate(-0.012, -0.021, -0.003, 0.01, 0.95, "difference in error", 200, 150.0)
    >>> print(against_built_in(found))
    Your model's error is 1.2 points lower than that of Unskew's own, 95 % interval 2.1 lower to 0.3 lower: chance does
    not explain the difference. Your model is the better one.
    """
    said = compared(found, "Unskew's own").replace("Its", "Your model's", 1)
    if found.low <= 0.0 <= found.high:
        return f"{said} Neither is known to be better."
    lower_is_better = found.measure.removeprefix(DIFFERENCE) != "precision"
    if (found.high < 0.0) == lower_is_better:
        return f"{said} Your model is the better one."
    return f"{said} Unskew's own is the better one: a campaign without a model of your own learns with it."


def _directed(difference: float, measure: str) -> str:
    size = amount(abs(difference), measure).removesuffix(" %")
    return f"{size} {'lower' if difference < 0.0 else 'higher'}"

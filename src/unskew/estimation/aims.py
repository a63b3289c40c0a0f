"""What a classifier is for: few errors, low costs, or a wanted recall; and the sentences that say how far it gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unskew.errors import InputError, exact
from unskew.estimation.costs import EQUAL, Costs, probability
from unskew.estimation.sentences import achieved, beside, constant, short_of, sources

if TYPE_CHECKING:
    from unskew.estimation.population import PopulationEstimate

UNKNOWN = "not known yet: no label was drawn at random"

NAMES = {"error": "Error on everyone", "cost": "Cost of a row", "recall": "Recall"}
"""What leads, as a heading."""

MEANINGS = {
    "error": "The estimated share of the whole population that the model gets wrong",
    "cost": "What the model's errors are estimated to cost a row of the whole population, on average",
    "recall": "The estimated share of all “{positive}” in the population that the model finds",
}


@dataclass(frozen=True, slots=True)
class Aim:
    """Few errors, unless errors differ in what they cost, or a recall is wanted.

    If a recall is wanted, the threshold follows the model: it is the largest that is expected to reach the recall
    (`unskew.estimation.everyone.Everyone.costs_for`).

    >>> Aim(Costs(false_negative=10.0)).measures, Aim(recall=0.9).measures, Aim().measures
    (('cost', 'recall', 'error'), ('recall', 'precision', 'error'), ('error',))
    >>> Aim(recall=0.9).decision("yes", 0.123)
    "90 % of all 'yes' are to be found: a row is flagged if its probability is at least 0.12."
    """

    costs: Costs = EQUAL
    recall: float | None = None

    def __post_init__(self) -> None:
        recall = self.recall
        if recall is None:
            return
        if isinstance(recall, bool) or not isinstance(recall, (int, float)) or not 0.0 < recall < 1.0:
            raise InputError(f"recall must be in (0, 1); got {recall!r}. To find nine in ten positive rows, pass 0.9.")
        if not self.costs.equal:
            raise InputError(
                f"a recall and costs exclude each other: each decides which rows are flagged; got recall "
                f"{exact(recall)} and costs {exact(self.costs.false_negative)} and "
                f"{exact(self.costs.false_positive)}. Give one of them."
            )

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that are followed over a campaign. The first of them leads."""
        if self.recall is not None:
            return "recall", "precision", "error"
        return ("error",) if self.costs.equal else ("cost", "recall", "error")

    @property
    def interval(self) -> str:
        """How the interval of the error is called, beside what leads."""
        return "the interval" if self.measures[0] == "error" else "the interval of the error"

    def decision(self, positive: str, threshold: float | None = None) -> str | None:
        """Which rows are flagged, in one sentence; None if it is the likelier class that is predicted.

        `threshold` is where the present model decides, if a recall is wanted and the model is at hand.
        """
        if self.recall is None:
            return None if self.costs.equal else self.costs.told(positive)
        found = f"{100 * self.recall:g} % of all {positive!r} are to be found"
        if threshold is None:
            return f"{found}."
        return f"{found}: a row is flagged if its probability is at least {probability(threshold)}."

    def leading(self, found: "Mapping[str, PopulationEstimate | None]") -> "PopulationEstimate | None":
        """The estimate that leads. Where an older version recorded the error alone, it is the error."""
        return found.get(self.measures[0]) or found.get("error")

    def told(self, found: "Mapping[str, PopulationEstimate | None]", positive: str) -> str:
        """How far the model gets, as the end of a sentence about it."""
        lead = self.leading(found)
        if lead is None:
            return UNKNOWN
        wanted = "" if self.recall is None else f", where {100 * self.recall:g} % are wanted"
        return achieved(lead, positive) + (wanted if lead.measure == "recall" else "")

    def beside(self, found: "Mapping[str, PopulationEstimate | None]", classes: Sequence[str]) -> list[str]:
        """What is said below that: what saying the same of every row would do, other measures, log and draw."""
        lead, error = self.leading(found), found.get("error")
        if lead is None:
            return []
        said = []
        if self.recall is not None and lead.measure == "recall":
            said.append(short_of(lead, self.recall))
        if lead.measure == "cost":
            said.append(constant(lead, self.costs))
        others = [one for name in self.measures[1:-1] if (one := found.get(name)) is not None]
        said += [f"It {achieved(one, classes[1])}." for one in others]
        if error is not None:
            told = "" if error is lead else f"It {achieved(error, classes[1])}. "
            said.append(told + beside(error, classes))
        return [one.strip() for one in (*said, sources(lead)) if one]

"""Everyone: the rows of log, stream and pool together, each with a margin that does not know the row's own label.

This is the one place where margins, labels and the design of a campaign come together. Methods, campaigns and the audit
of a log all ask it what a classifier is worth on the population.
"""

from dataclasses import dataclass, replace

import numpy as np

from unskew.estimation.design import Design
from unskew.estimation.population import PopulationEstimate, population
from unskew.rows import Floats, Ints


@dataclass(frozen=True, eq=False)
class Everyone:
    """Every row: the design by which labels came about, the classifier's margin, and the label (0 where unknown)."""

    design: Design
    margin: Floats
    y: Floats
    q0_estimated: bool = False

    @classmethod
    def judged(
        cls,
        design: Design,
        margin: Floats,
        labelled: Ints,
        y: Floats,
        held_out: Floats,
        *,
        q0_estimated: bool = False,
    ) -> "Everyone":
        """Put margins and labels together.

        Parameters
        ----------
        design : Design
            How the labels came about.
        margin : array, one value a row
            The classifier's margins.
        labelled : array of int
            Positions of the rows the classifier learnt from.
        y, held_out : array, one value for each labelled row
            Their labels, +1.0 or -1.0, and the margins they would have had if their own label had not been learnt.
        q0_estimated : bool
            Whether the log's propensities were estimated.
        """
        margin, labels = np.array(margin, dtype=np.float64), np.zeros(len(margin))
        margin[labelled], labels[labelled] = held_out, y
        return cls(design, margin, labels, q0_estimated)

    def estimate(
        self, measure: str = "error", *, estimator: str = "dr", interval: str = "wald", level: float = 0.95
    ) -> PopulationEstimate:
        """A measure of the classifier on the population (`unskew.estimation.population`)."""
        found = population(
            self.design, self.margin, self.y, measure=measure, estimator=estimator, interval=interval, level=level
        )
        return replace(found, q0_estimated=self.q0_estimated)

"""Everyone: all rows of log, stream and pool, each with a margin that was computed without the row's own label.

This is the one place where margins, labels and the sampling design come together. Methods, campaigns and `unskew audit`
all use it to estimate how good a classifier is on the population.
"""

from dataclasses import dataclass, replace

import numpy as np

from unskew.estimation.design import Design
from unskew.estimation.population import PopulationEstimate, population
from unskew.rows import Floats, Ints


@dataclass(frozen=True, eq=False)
class Everyone:
    """Every row with the classifier's margin and the label (0 where unknown), and the sampling design of the labels."""

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
        """Combine margins and labels.

        Parameters
        ----------
        design : Design
            How the labels came about.
        margin : array, one value per row
            The classifier's margins.
        labelled : array of int
            Positions of the rows that the classifier was trained on.
        y, held_out : array, one value for each labelled row
            Their labels, +1.0 or -1.0, and the margins they would have if their own label were left out of training.
        q0_estimated : bool
            Whether the log's propensities were estimated.
        """
        margin, labels = np.array(margin, dtype=np.float64), np.zeros(len(margin))
        margin[labelled], labels[labelled] = held_out, y
        return cls(design, margin, labels, q0_estimated)

    def labelled_alone(self) -> "Everyone":
        """The labelled rows alone, each counting once: how good the classifier looks if the others are forgotten."""
        known = self.design.labelled
        alone = Design(np.ones(int(known.sum()), dtype=bool), np.ones(int(known.sum())))
        return Everyone(alone, self.margin[known], self.y[known])

    def estimate(
        self, measure: str = "error", *, estimator: str = "dr", interval: str = "wald", level: float = 0.95
    ) -> PopulationEstimate:
        """Estimate a measure of the classifier on the population (`unskew.estimation.population`)."""
        found = population(
            self.design, self.margin, self.y, measure=measure, estimator=estimator, interval=interval, level=level
        )
        return replace(found, q0_estimated=self.q0_estimated)

"""The rows of log and pool as estimates see them: what the labels add to a measure, and how uncertain that is."""

from functools import cache
from typing import NamedTuple

import numpy as np

from unskew.estimation.counts import mean_of, variance_of, variance_of_total
from unskew.estimation.design import Design, Expected, Moments
from unskew.estimation.measures import Masses, Slopes
from unskew.rows import Floats, Ints


class Spread(NamedTuple):
    """How uncertain an estimate is that rests on the log alone, on the draw alone; and the variance due to the rows."""

    log: Moments
    draw: Moments
    rows: float

    def variance(self, c: tuple[float, float]) -> float:
        """Where log and draw count c."""
        return c[0] ** 2 * self.log.variance + c[1] ** 2 * self.draw.variance + self.rows

    def skew(self, c: tuple[float, float]) -> float:
        """The third cumulant, divided by the variance."""
        third = c[0] ** 3 * self.log.third + c[1] ** 3 * self.draw.third
        return third / self.variance(c) if third else 0.0


class Sample:
    """The rows of log and pool with the model's probabilities p and the labels, ready for any measure.

    Parameters
    ----------
    design : Design
        How the labels came about.
    p : array, one value for each row of log and pool that is held
        The probability of label +1 at every row, without the row's own label.
    y : array, one value for each of these rows
        +1.0 or -1.0 where labelled.
    """

    def __init__(self, design: Design, p: Floats, y: Floats) -> None:
        self.design, self.p = design, p
        self.residual = np.where(design.labelled, (y > 0.0) - p, 0.0)
        self.doubt, self.tilt = p * (1.0 - p), 1.0 - 2.0 * p
        self._weigh()

    def _weigh(self) -> None:
        """How much labels count, once `doubt` is known."""
        design, m = self.design, self.design.m
        self.even = max(mean_of(self.doubt[m:], design.counts), 1e-12) if design.n else 0.25
        self.importance = design.z / design.q0
        self.masses = cache(self._masses)
        self.pool_weights = design.pool_weights(self.even) if design.measures_pool else np.zeros(design.held)

    def _masses(self, c: tuple[float, float]) -> Masses:
        """The mass of each label at every row where log and draw count c_0 and c_1."""
        m, held, counts = self.design.m, self.design.held, self.design.all_counts
        rows = np.repeat([float(c[0] > 0.0), float(c[1] > 0.0)], [m, held]) if sum(c) else np.ones(m + held)
        rows = rows if counts is None else rows * counts
        each = rows / rows.sum()
        of_log = c[0] / max(self.design.log.n, 1) * self.importance
        correction = np.concatenate([of_log, c[1] * self.pool_weights]) * self.residual
        return Masses(each * self.p + correction, each * (1.0 - self.p) - correction)

    def anticipated(self, slopes: Slopes) -> tuple[float, float]:
        """The variances that the model expects of log and draw, known before the labels; infinite for no labels."""
        design, m = self.design, self.design.m
        expected = self.doubt * (slopes.plus - slopes.minus) ** 2
        return design.log.anticipated(expected[:m]), design.anticipated(expected[m:], self.even)

    def spread(self, slopes: Slopes, c: tuple[float, float]) -> Spread:
        """For each source that counts, the larger of the variance that its labels show and that the model expects.

        Where few labels are wrong, they show next to no variance.
        """
        design, m = self.design, self.design.m
        delta = slopes.plus - slopes.minus
        x, square = delta * self.residual, self.doubt * delta**2
        expected = [Expected(square[part], (square * delta * self.tilt)[part]) for part in np.s_[:m, m:]]
        log = draw = Moments(0.0)
        if c[0] and design.z.any():
            log = design.log.moments(x[:m], expected[0])
        if c[1] and design.measures_pool and not design.complete:
            draw = design.moments(x[m:], expected[1], self.even)
            if not delta[m:].all():  # a group: perhaps none of the drawn rows belongs to it
                draw = max(draw, Moments(self.anticipated(slopes)[1], draw.third))
        rows = self.p * slopes.plus + (1.0 - self.p) * slopes.minus
        used, counts = np.s_[0 if c[0] else m : None if c[1] else m], design.all_counts
        many = max((design.log.n if c[0] else 0) + (design.n if c[1] else 0), 1)
        between = variance_of(rows[used], None if counts is None else counts[used]) / many
        if c[0]:
            between += variance_of_total(rows[:m], design.log_counts) / many**2
        if c[1]:
            between += variance_of_total(rows[m:], design.counts) / many**2
        return Spread(log, draw, between + c[1] ** 2 * self.of_rows(slopes))

    def of_rows(self, slopes: Slopes) -> float:
        """The variance that is left of the draw if every label of the pool is known."""
        part = np.s_[self.design.m :]
        return self.design.of_rows(self.doubt[part] * (slopes.plus - slopes.minus)[part] ** 2)

    def means(self, slopes: Slopes) -> tuple[float, float]:
        """What the labels of log and draw add to the value by themselves."""
        m, delta = self.design.m, slopes.plus - slopes.minus
        x = delta * self.residual
        return float(self.importance @ x[:m]) / max(self.design.log.n, 1), float(self.pool_weights @ x[m:])


class Valued(Sample):
    """The same for any value of a row that depends on its label, such as a loss; for labels of several classes.

    The value takes the place of "1 if the label is +1, else 0", and what the model expects of it takes the place of p.

    Parameters
    ----------
    design : Design
        How the labels came about.
    values : array, a row for each row of log and pool that is held, a column for each class
        The value that the row has if its label is that class.
    p : array of the same shape
        The probability of each class, without the row's own label.
    at : array of int
        The position of the row's class where it is labelled.
    """

    def __init__(self, design: Design, values: Floats, p: Floats, at: Ints) -> None:
        self.design, self.p = design, np.einsum("ik,ik->i", p, values)
        known = values[np.arange(len(at)), at]
        self.residual = np.where(design.labelled, known - self.p, 0.0)
        apart = values - self.p[:, None]
        self.doubt = np.einsum("ik,ik->i", p, apart**2)
        self.tilt = np.einsum("ik,ik->i", p, apart**3) / np.maximum(self.doubt, 1e-300)
        self._weigh()

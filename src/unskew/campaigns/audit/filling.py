"""How a campaign's labels fill the blind spots of its log."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from unskew.campaigns.audit.blind_spots import blind_spots, missing_from
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row
from unskew.campaigns.tables.encoding import from_plain
from unskew.kept import counts_of, nearly_all


@dataclass(frozen=True)
class Filled:
    """A blind spot of the log, counted in log and pool together, and the labels it has now.

    `population_share` is its share of everyone, `all_log_labels` and `all_labels` are all labels before and now. Labels
    that the pool had before the campaign count with those of the log.
    """

    rule: str
    where: str
    """The same rule as commands take it."""
    rows: int
    log_labels: int
    chosen: int
    drawn: int
    population_share: float
    all_log_labels: int
    all_labels: int
    about: bool = False
    """Whether the number of its rows is an estimate from a sample of log or pool."""

    @property
    def labels(self) -> int:
        """The number of its labels now."""
        return self.log_labels + self.chosen + self.drawn

    @property
    def share_before(self) -> float:
        """Its share of the log's labels."""
        return self.log_labels / max(self.all_log_labels, 1)

    @property
    def share_now(self) -> float:
        """Its share of all labels."""
        return self.labels / max(self.all_labels, 1)

    @property
    def rate_before(self) -> float:
        """The share of its rows with a label in the log."""
        return self.log_labels / max(self.rows, 1)

    @property
    def rate_now(self) -> float:
        """The share of its rows with a label now."""
        return self.labels / max(self.rows, 1)


class BlindSpots:
    """The blind spots of a campaign's log, found once: they stay the same whatever is answered.

    A log of labelled rows only is compared with the pool, which then stands for everyone. Otherwise log and pool do.
    `pool` may be an even sample of the campaign's pool.
    """

    def __init__(self, log: pl.DataFrame, pool: pl.DataFrame, settings: Settings, *, most: int = 8) -> None:
        self._types = settings.types
        self._rows, self._sample = settings.pool_rows, pool.height
        self._known = log[settings.label].is_not_null().to_numpy()
        self._counts = np.ones(log.height) if settings.kept is None else counts_of(self._known, settings.kept)
        self._about = pool.height < settings.pool_rows or settings.kept is not None
        self._labels = round(float(self._counts[self._known].sum()))
        self._only_labelled = settings.propensity is None and nearly_all(self._labels, settings.log_rows)
        if self._only_labelled:
            found = missing_from(log.filter(self._known), pool, settings.kinds, max_rules=most)
        else:
            found = blind_spots(log, settings.kinds, self._known, kept=settings.kept, max_rules=most)
        self._inside = [(s.rule, s.rule.mask(log), int(s.rule.mask(pool).sum())) for s in found]
        known = pool.filter(pool[settings.label].is_not_null()) if settings.pool_labelled else pool.clear()
        self._had = [int(s.rule.mask(known).sum()) for s in found]
        self._labels += known.height

    def filled(self, answered: Iterable[Row]) -> list[Filled]:
        """The spots, the largest gap in the log first, with the labels of these answers."""
        rows = list(answered)
        frame = from_plain([row.values for row in rows], self._types)
        chosen = np.array([row.reason == "chosen" for row in rows], dtype=bool)
        spots = []
        for (rule, log, pool), had in zip(self._inside, self._had, strict=True):
            inside, of_pool = rule.mask(frame), pool * self._rows / self._sample
            of_log = float(self._counts[log].sum())
            with_log = (of_log + of_pool) / (float(self._counts.sum()) + self._rows)
            spots.append(
                Filled(
                    rule=str(rule).replace("_", " "),
                    where=str(rule),
                    rows=round(of_log) + round(of_pool),
                    log_labels=round(float(self._counts[log & self._known].sum())) + had,
                    chosen=int((inside & chosen).sum()),
                    drawn=int((inside & ~chosen).sum()),
                    population_share=of_pool / self._rows if self._only_labelled else with_log,
                    all_log_labels=self._labels,
                    all_labels=self._labels + len(rows),
                    about=self._about,
                )
            )
        return spots


def rows_in_words(rows: int, about: bool) -> str:
    """A number of rows; an estimate is rounded, and said to be one.

    >>> rows_in_words(1234567, about=True), rows_in_words(1234567, about=False)
    ('about 1,200,000', '1234567')
    """
    if not about:
        return str(rows)
    return f"about {round(rows, 2 - len(str(rows))):,}"

"""How a campaign's labels fill the blind spots of its log."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from unskew.campaigns.audit.blind_spots import blind_spots, missing_from
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row
from unskew.data import nearly_all


@dataclass(frozen=True)
class Filled:
    """A blind spot of the log, counted in log and pool together, and the labels it has now.

    `population_share` is its share of everyone, `all_log_labels` and `all_labels` are all labels before and now.
    """

    rule: str
    rows: int
    log_labels: int
    chosen: int
    drawn: int
    population_share: float
    all_log_labels: int
    all_labels: int

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
    """

    def __init__(self, log: pl.DataFrame, pool: pl.DataFrame, settings: Settings, *, most: int = 8) -> None:
        self._known = log[settings.label].is_not_null().to_numpy()
        self._only_labelled = settings.propensity is None and nearly_all(self._known)
        if self._only_labelled:
            found = missing_from(log.filter(self._known), pool, settings.kinds, max_rules=most)
        else:
            found = blind_spots(log, settings.kinds, self._known, max_rules=most)
        self._inside = [(str(s.rule).replace("_", " "), s.rule.mask(log), s.rule.mask(pool)) for s in found]

    def filled(self, answered: Iterable[Row]) -> list[Filled]:
        """The spots, the largest gap in the log first, with the labels of these answers."""
        places: dict[str, list[int]] = {"chosen": [], "drawn": []}
        for row in answered:
            places[row.reason].append(row.place)
        chosen, drawn = (np.array(found, dtype=np.intp) for found in places.values())
        before = int(self._known.sum())
        return [
            Filled(
                rule=rule,
                rows=int(log.sum() + pool.sum()),
                log_labels=int(log[self._known].sum()),
                chosen=int(pool[chosen].sum()),
                drawn=int(pool[drawn].sum()),
                population_share=float((pool if self._only_labelled else np.concatenate((log, pool))).mean()),
                all_log_labels=before,
                all_labels=before + len(chosen) + len(drawn),
            )
            for rule, log, pool in self._inside
        ]

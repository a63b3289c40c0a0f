"""Estimates on a group of rows: what stands beside them is of the group too."""

import numpy as np
import pytest

from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone


def labelled(n: int = 400) -> tuple[Everyone, np.ndarray, np.ndarray]:
    """A pool of which every row has a label, so that shares can be counted; and a group."""
    rng = np.random.default_rng(0)
    margin = rng.normal(size=n)
    y = np.where(margin + rng.normal(size=n) > 0.5, 1.0, -1.0)
    rows = rng.permutation(n)
    picked = Picked(rows[:300], rows[300:], np.ones(n - 300))
    return Everyone(Design(np.zeros(0), np.zeros(0), n, (picked,)), margin, y), y, margin > 0.8


def test_positives_and_flagged_rows_are_those_of_the_group() -> None:
    everyone, y, group = labelled()
    found = everyone.estimate(where=group)
    assert found.value == pytest.approx(np.mean(y[group] < 0))
    assert found.flagged == 1.0
    assert found.positives == pytest.approx(np.mean(y[group] > 0))
    assert found.commoner == pytest.approx(min(np.mean(y[group] > 0), np.mean(y[group] < 0)))
    whole = everyone.estimate()
    assert whole.flagged == pytest.approx(np.mean(everyone.margin >= 0))
    assert whole.positives == pytest.approx(np.mean(y > 0))


@pytest.mark.parametrize("source", ["log", "draw"])
def test_a_source_without_a_row_of_the_group_says_nothing(source: str) -> None:
    """The group is in one of them alone, such as a region that the log never saw."""
    rng = np.random.default_rng(1)
    m, n = 200, 300
    margin = rng.normal(size=m + n)
    y = np.where(margin + rng.normal(size=m + n) > 0, 1.0, -1.0)
    z = rng.random(m) < 0.5
    drawn = rng.permutation(n)[:40]
    design = Design(z, np.full(m, 0.5), n, (Picked(drawn[:0], drawn, np.full(40, n / 40), spread=float(n**2) / 4),))
    group = ((np.arange(m + n) < m) == (source == "log")) & (margin > -0.5)
    for measure in ("error", "precision", "auc"):
        found = Everyone(design, margin, y).estimate(measure, where=group)
        assert (found.log is None, found.draw is None) == (source == "draw", source == "log")
        assert found.log_share == (source == "log") and 0.0 < found.low < found.value < found.high

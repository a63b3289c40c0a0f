"""Methods and a log of labelled rows only, such as granted loans."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from unskew import StreamedUnskew, Unskew
from unskew.errors import InputError, NoRandomLabel


def granted(unlabelled: int = 0):
    """Loans granted mostly at high income, a pool of applicants, and their outcomes."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"income": rng.normal(size=1500), "debt": rng.normal(size=1500)})
    chance = np.where(frame["income"].to_numpy() > 0, 0.6, 0.03)
    paid = (frame["income"].to_numpy() * frame["debt"].to_numpy() > 0).astype(int)
    log = frame.with_columns(paid=pl.Series(paid))[:900].filter(pl.Series(rng.random(900) < chance[:900]))
    log = log.with_columns(paid=pl.when(pl.int_range(pl.len()) < unlabelled).then(None).otherwise("paid"))
    return log, frame[900:], paid[900:], chance[900:]


@pytest.mark.parametrize("unlabelled", [0, 3])
def test_propensities_come_from_the_pool_and_no_error_from_the_log(unlabelled: int) -> None:
    log, pool, paid, chance = granted(unlabelled)
    method = Unskew(drawn=0.5, random_state=0).start(log, pool, label="paid")
    assert method.log_.only_labelled
    rows = np.arange(pool.height)
    assert spearmanr(method.q0_at(rows, method.pool_.X), chance).statistic > 0.7
    assert method.log_.q0.min() < 0.2
    with pytest.raises(NoRandomLabel, match="shows only those who were picked"):
        method.error()
    asked = method.ask(20)
    assert method.tell(paid[asked.positions]).error().labels > 0


def test_given_propensities_are_believed() -> None:
    log, pool, _, _ = granted()
    method = Unskew(random_state=0).start(log, pool, label="paid", propensity=1.0)
    assert not method.log_.only_labelled and method.error().value < 0.5


def test_a_stream_refuses_it() -> None:
    log, _, _, _ = granted()
    with pytest.raises(InputError, match="shows only those who were picked"):
        StreamedUnskew(random_state=0).start(log, label="paid")
    assert StreamedUnskew(random_state=0).start(log, label="paid", propensity=1.0).log_.m == log.height

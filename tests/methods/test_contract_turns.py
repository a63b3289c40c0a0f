"""What streams promise, and what pools promise, for every entry of the registry; and the registry itself."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from method_cases import STREAMS, ask, begin, go, make
from scenes import scene
from unskew.errors import InputError
from unskew.experiments.simulation import curve
from unskew.methods import run
from unskew.methods.registry import (
    EXPERIMENT_METHODS,
    PAPER_METHODS,
    POOL_METHODS,
    REGISTRY,
    is_registered,
    method_named,
)


@pytest.mark.parametrize("case", STREAMS)
class TestStreams:
    def test_run_is_the_loop(self, case):
        s = scene()
        m = run(make(case), s.log, (s.X, s.q0), s.y)
        assert m.n_ == s.n and sum(len(batch.y) for batch in m.rounds_) == s.n
        assert list(map(len, (batch.y for batch in m.rounds_))) == list(m.batch_sizes())

    def test_a_pool_is_refused(self, case):
        s = scene()
        with pytest.raises(InputError, match="works on a stream"):
            make(case).start(s.log, s.X)

    def test_skips_are_refused(self, case):
        s = scene()
        m = begin(case, s)
        asked = ask(m, s, 0)
        if len(asked):
            with pytest.raises(InputError, match="needs a label for every row asked for; got none for number 0"):
                m.tell([None, *s.y[asked[1:]]])

    def test_every_row_has_its_probability(self, case):
        s = scene()
        m = go(begin(case, s), s)
        for batch in m.rounds_:
            assert batch.p.shape == batch.y.shape == batch.kept.shape
            assert (batch.p[batch.queried] > 0.0).all()


@pytest.mark.parametrize("case", POOL_METHODS)
class TestPools:
    def test_rows_with_probability_and_reason(self, case):
        s = scene()
        m = begin(case, s)
        asked = m.ask(20)
        assert len(asked) == 20 and np.array_equal(np.asarray(asked), asked.positions)
        assert [row.position for row in asked] == asked.positions.tolist()
        for row in asked:
            assert np.array_equal(row.values, s.X[row.position])
            assert row.probability == 1.0 if row.reason == "chosen" else 0.0 < row.probability < 1.0
        assert {row.reason for row in asked} <= {"chosen", "drawn"}
        assert np.array_equal(s.X[asked], s.X[asked.positions]) and "position" in asked._repr_html_()

    def test_no_row_is_asked_for_twice_until_none_is_left(self, case):
        s = scene(rows=120)
        m = begin(case, s)
        seen = []
        while m.left:
            asked = np.asarray(m.ask(min(11, m.left)))
            seen += asked.tolist()
            m.tell(s.y[asked])
        assert sorted(seen) == list(range(s.n)) and m.labels_ == s.n
        with pytest.raises(InputError, match="between 1 and the 0 rows left in the pool; got 1"):
            m.ask(1)
        assert m.error().value == pytest.approx(m.error().value)

    @pytest.mark.parametrize("none", [None, np.nan, pd.NA])
    def test_skipped_rows_are_lost_not_learnt(self, case, none):
        s = scene()
        m = begin(case, s)
        asked = np.asarray(m.ask(10))
        m.tell([none if i % 3 == 0 else y for i, y in enumerate(s.y[asked])])
        assert m.labels_ == 6 and m.left == s.n - 10
        assert np.count_nonzero(m.rounds_[0].known) == 6
        again = np.asarray(m.ask(10))
        assert not set(again.tolist()) & set(asked.tolist())
        m.tell(dict(zip(again.tolist(), s.y[again].tolist(), strict=True)))
        assert m.labels_ == 16
        (first, _) = m.observed().design.rounds
        assert first.chosen_lost + first.drawn_lost == 4

    def test_a_round_that_is_skipped_altogether(self, case):
        s = scene()
        m = begin(case, s)
        before = m.predict(s.test_X)
        m.ask(5)
        m.tell([None] * 5)
        assert m.labels_ == 0 and np.array_equal(m.predict(s.test_X), before)

    def test_k_is_a_whole_number_of_rows(self, case):
        s = scene()
        for k in (2.5, True, "3", float("nan"), None):
            with pytest.raises(InputError, match=f"k must be a whole number of rows; got {k!r}"):
                begin(case, s).ask(k)
        with pytest.raises(InputError, match=f"between 1 and the {s.n} rows left in the pool; got {s.n + 1}"):
            begin(case, s).ask(s.n + 1)

    def test_a_stream_is_refused(self, case):
        s = scene()
        with pytest.raises(InputError, match=f"{case} picks from a pool; got the number 300"):
            make(case).start(s.log, 300)
        with pytest.raises(InputError, match=f"{case} works on a pool"):
            run(make(case), s.log, (s.X, s.q0), s.y)
        with pytest.raises(InputError, match="the pool must have at least one row"):
            make(case).start(s.log, s.X[:0])

    def test_spends_exactly_the_budget(self, case):
        s = scene(rows=700)
        points = curve(make(case, 3), s, 60)
        assert points[0][:2] == (0, 0) and points[-1][:2] == (60, 60)
        assert points == curve(make(case, 3), s, 60)
        assert points[-1][2] < 0.3

    def test_propensities_of_the_pool_are_read_off_the_log(self, case):
        s = scene()
        given, read = begin(case, s), make(case).start(s.log, s.X)
        for m in (given, read):
            m.tell(s.y[np.asarray(m.ask(10))])
        assert np.isin(given.rounds_[0].q0, np.unique(s.q0)).all()
        assert ((read.rounds_[0].q0 > 0.0) & (read.rounds_[0].q0 <= 1.0)).all()


def test_the_registry_names_what_it_holds():
    for name, entry in REGISTRY.items():
        kind = method_named(name, tuple(REGISTRY))
        assert kind.__name__ == name and kind.works_on == entry.works_on and is_registered(kind)
    assert PAPER_METHODS == ("Passive", "DBALw", "DBALwm", "IDBAL")
    assert "ExactIDBAL" not in EXPERIMENT_METHODS
    with pytest.raises(InputError, match="unknown method 'idbal': did you mean 'IDBAL'"):
        method_named("idbal")
    with pytest.raises(InputError, match="cannot be imported.*PYTHONPATH"):
        method_named("nowhere:Nothing")
    with pytest.raises(InputError, match="must be a subclass of StreamMethod or PoolMethod"):
        method_named("math:pi")
    assert not is_registered(type("IDBAL", (), {}))


def test_a_log_that_is_no_log():
    s = scene()
    with pytest.raises(InputError, match="LoggedData or a frame; got ndarray"):
        make("Unskew").start(s.log.X, s.X)
    with pytest.raises(InputError, match="Pass label="):
        make("Unskew").start(pl.DataFrame({"a": [1.0]}), s.X)
    with pytest.raises(InputError, match="name columns of a frame; got LoggedData. Leave them out"):
        make("Unskew").start(s.log, s.X, label="paid")

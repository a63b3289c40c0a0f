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

    def test_more_rows_than_announced(self, case):
        """Refused where the method must know how long the stream is; the others take them."""
        s = scene()
        m = make(case).start(s.log, 5)
        if m.anytime:
            m.ask(s.X[:10], s.q0[:10])
            return
        with pytest.raises(InputError, match="started for a stream of 5 rows; got 10"):
            m.ask(s.X[:10], s.q0[:10])
        m.tell(s.y[m.ask(s.X[:5], s.q0[:5])])
        with pytest.raises(InputError, match="started for a stream of 5 rows; got 6"):
            m.ask(s.X[5:6], s.q0[5:6])

    def test_rows_and_propensities_are_needed(self, case):
        s = scene()
        m = begin(case, s)
        for wrong in ((20,), (s.X[:3],), (20, 0.5)):
            with pytest.raises(InputError, match=r"works on a stream: ask\(X, q0\) needs the next rows"):
                m.ask(*wrong)

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
        with pytest.raises(InputError, match=f"no row is left in the pool of {s.n}; got k = 1"):
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

    def test_equal_rows_are_picked_once_each(self, case):
        """Sixty rows, six different ones: positions differ although rows do not."""
        s = scene()
        X = np.repeat(s.X[:6], 10, axis=0)
        m = make(case).start(s.log, X)
        for _ in range(3):
            asked = np.asarray(m.ask(15))
            assert len(set(asked.tolist())) == 15
            m.tell(np.where(X[asked, 0] > 0, 1.0, -1.0))
        assert m.error().labels == s.log.z.sum() + 45 if m.rounds_[0].drawn.any() else m.labels_ == 45

    @pytest.mark.parametrize(
        "rows", [lambda X, k: [0] * k, lambda X, k: range(k - 1), lambda X, k: range(-1, k - 1), lambda X, k: [0.5] * k]
    )
    def test_what_wanted_returns_is_checked(self, case, rows, monkeypatch):
        s = scene()
        m = begin(case, s)
        if m.draws_due(20) == 20:
            pytest.skip("it chooses no row")
        monkeypatch.setattr(type(m), "wanted", lambda self, X, k: np.array(list(rows(X, k))))
        with pytest.raises(InputError, match=rf"{case}.wanted must return \d+ different positions from 0 to {s.n - 1}"):
            m.ask(20)
        assert m.pending is None

    def test_parts_of_what_is_asked(self, case):
        s = scene()
        asked = begin(case, s).ask(6)
        assert [row.position for row in asked[2:4]] == asked.positions[2:4].tolist()
        assert asked[-1].position == asked.positions[-1] and len(asked[:0]) == 0

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


def test_classes_of_one_s_own_are_checked_before_anything_runs(tmp_path, monkeypatch):
    (tmp_path / "odd_rules.py").write_text(
        "from unskew import Unskew\n"
        "from unskew.methods import PoolMethod\n"
        "class Half(PoolMethod):\n    pass\n"
        "class Closed(Unskew):\n    def __init__(self):\n        super().__init__()\n"
    )
    (tmp_path / "broken_rules.py").write_text("class Rule(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, says in {
        "odd_rules:Half": "'odd_rules:Half' must have learn, model_, wanted, warm_start; it does not",
        "odd_rules:Closed": "'odd_rules:Closed' must take random_state=; it takes nothing. Add it",
        "odd_rules:Hlaf": "unknown method in the module odd_rules 'Hlaf': did you mean 'Half'",
        "broken_rules:Rule": "cannot be imported: SyntaxError: .*Correct the module",
    }.items():
        with pytest.raises(InputError, match=says):
            method_named(name)


def test_a_log_that_is_no_log():
    s = scene()
    with pytest.raises(InputError, match="LoggedData or a frame; got ndarray"):
        make("Unskew").start(s.log.X, s.X)
    with pytest.raises(InputError, match="Pass label="):
        make("Unskew").start(pl.DataFrame({"a": [1.0]}), s.X)
    with pytest.raises(InputError, match=r"got LazyFrame. Call .collect\(\) on it"):
        make("Unskew").start(pl.DataFrame({"a": [1.0]}).lazy(), s.X)
    one_class = pl.DataFrame({"a": [1.0, 2.0], "paid": [1, None], "q0": [0.5, 0.5]})
    assert make("Unskew").start(one_class, np.ones((3, 1)), label="paid", propensity="q0", classes=(0, 1)).left == 3
    with pytest.raises(InputError, match="classes= describe a frame; got LoggedData. Leave them out"):
        make("Unskew").start(s.log, s.X, label="paid")

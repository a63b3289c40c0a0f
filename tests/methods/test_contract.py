"""What every method promises, tested for every entry of the registry: a new method is tested by being registered."""

from copy import copy, deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from method_cases import EVERY, ask, begin, go, make, says, words_of
from scenes import scene
from unskew import LoggedData
from unskew.errors import InputError
from unskew.methods.registry import POOL_METHODS
from unskew.sampling.propensity import estimated_log


@pytest.mark.parametrize("case", EVERY)
class TestEveryMethod:
    def test_round_trip(self, case):
        s = scene()
        m = begin(case, s)
        bought = 0
        for turn in range(2):
            asked = ask(m, s, turn)
            assert len(set(asked.tolist())) == len(asked) and (asked < s.n).all()
            m.tell(s.y[asked])
            bought += len(asked)
            assert m.labels_ == bought and len(m.rounds_) == turn + 1 and m.pending is None
        assert is_classifier(m.model_) and m.works_on in m._repr_html_()
        assert np.array_equal(m.model_.predict(s.test_X), m.infer(s.test_X))
        assert np.array_equal(m.predict(s.test_X), m.infer(s.test_X))
        assert f"{bought} labels bought in 2 rounds" in m.report()

    def test_same_seed_same_run_and_restart(self, case):
        s = scene()
        one, other = go(begin(case, s, 5), s), go(begin(case, s, 5), s)
        assert says(one, s) == says(other, s)
        again = go(one.start(s.log, s.X, s.q0) if one.works_on == "pool" else one.start(s.log, s.n), s)
        assert says(again, s) == says(other, s)

    def test_a_round_that_cannot_be_learnt_leaves_everything_as_before(self, case):
        """The round stays open, and telling it again ends where an undisturbed twin ends, to the last draw."""
        s = scene()
        twin, m = go(begin(case, s), s, 1), go(begin(case, s), s, 1)
        asked = ask(m, s, 1)
        before, learn = says(m, s), m.learn

        def fails(batch):
            learn(batch)
            raise MemoryError

        for _ in range(2):
            m.learn = fails
            with pytest.raises(MemoryError):
                m.tell(s.y[asked])
            del m.learn
            assert says(m, s) == before and m.pending is not None
        go(twin, s, 1, first=1)
        m.tell(s.y[asked])
        assert says(m, s) == says(twin, s)
        assert says(go(m, s, 2, first=2), s) == says(go(twin, s, 2, first=2), s)

    def test_a_start_that_fails_leaves_everything_as_before(self, case):
        s = scene()
        m = go(begin(case, s), s, 1)
        before = says(m, s)

        def fails():
            raise MemoryError

        m.warm_start = fails
        with pytest.raises(MemoryError):
            m.start(s.log, s.X[:50]) if m.works_on == "pool" else m.start(s.log, 50)
        del m.warm_start
        assert says(m, s) == before
        assert says(go(m, s, 1, first=1), s) == says(go(go(begin(case, s), s, 1), s, 1, first=1), s)

    def test_a_generator_of_the_users_is_where_it_was_after_a_failure(self, case):
        s, rng = scene(), np.random.default_rng(7)
        m = make(case, rng)
        m.warm_start = lambda: 1 / int(rng.random())  # draws, then fails
        with pytest.raises(ZeroDivisionError):
            m.start(s.log, s.X) if m.works_on == "pool" else m.start(s.log, s.n)
        assert rng.random() == np.random.default_rng(7).random()

    def test_labels_in_a_series_are_taken_in_their_order(self, case):
        """Whatever its index says: a pandas Series is no mapping."""
        s = scene()
        plain, series = begin(case, s), begin(case, s)
        asked = ask(plain, s, 0)
        assert np.array_equal(ask(series, s, 0), asked)
        plain.tell(s.y[asked])
        series.tell(pd.Series(s.y[asked], index=np.arange(len(asked))[::-1]))
        assert says(series, s) == says(plain, s)

    @pytest.mark.parametrize("copied", [copy, deepcopy])
    def test_copies_go_their_own_way(self, case, copied):
        """Three that begin alike: the original and its copy learn opposite labels, and neither disturbs the other."""
        s = scene()
        alone, m = go(begin(case, s), s, 2), go(begin(case, s), s, 2)
        other = copied(m)
        wrong = go(go(begin(case, s), s, 2), s, 2, y=-s.y, first=2)
        for turn in (2, 3):  # in turn, so that each would see the other's rows and draws
            asked, theirs = ask(m, s, turn), ask(other, s, turn)
            m.tell(s.y[asked])
            other.tell(-s.y[theirs])
        assert says(m, s) == says(go(alone, s, 2, first=2), s)
        assert says(other, s) == says(wrong, s)

    def test_csr_is_dense(self, case):
        s = scene()
        label = np.where(s.log.z, s.log.y, np.nan)
        csr = LoggedData(sparse.csr_array(s.log.X), label, s.log.z, s.log.q0, classes=(-1, 1))
        rows = sparse.csr_array(s.X)
        dense = begin(case, s)
        others = [begin(case, s, log=csr, X=rows), begin(case, s, X=rows), begin(case, s, log=csr)]
        for turn in range(2):
            asked = ask(dense, s, turn)
            for other, X in zip(others, (rows, rows, s.X), strict=True):
                assert np.array_equal(ask(other, s, turn, X), asked)
                other.tell(s.y[asked])
            dense.tell(s.y[asked])
        for other in others:
            assert np.array_equal(other.predict(s.test_X), dense.predict(s.test_X))

    @pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
    def test_frames_are_arrays(self, case, frame):
        s = scene()
        names = ["a", "b", "c", "d"]
        log = frame(
            dict(zip(names, s.log.X.T, strict=True)) | {"paid": np.where(s.log.z, s.log.y, np.nan), "q0": s.log.q0}
        )
        if frame is pl.DataFrame:
            log = log.with_columns(pl.col("paid").fill_nan(None))
        rows = frame(dict(zip(names, s.X.T, strict=True)) | {"q0": s.q0, "other": 1})[
            ["other", "d", "q0", "c", "b", "a"]
        ]
        m, plain = make(case), begin(case, s)
        start = rows if m.works_on == "pool" else s.n
        m.start(log, start, label="paid", propensity="q0")
        for turn in range(2):
            asked = ask(plain, s, turn)
            if m.works_on == "pool":
                theirs = np.asarray(m.ask(10))
            else:
                at = slice(15 * turn, 15 * turn + 15)
                theirs = 15 * turn + m.ask(rows[at], s.q0[at])
            assert np.array_equal(theirs, asked)
            plain.tell(s.y[asked])
            m.tell(dict(zip((theirs - 15 * turn * (m.works_on == "stream")).tolist(), s.y[theirs], strict=True)))
        test = frame(dict(zip(names, s.test_X.T, strict=True)))[names[::-1]]
        assert np.array_equal(m.predict(test), plain.predict(s.test_X))

    def test_class_values_do_not_matter(self, case):
        s = scene()
        log, y = words_of(s)
        named, signed = begin(case, s, log=log), begin(case, s)
        for turn in range(3):
            asked = ask(signed, s, turn)
            assert np.array_equal(ask(named, s, turn), asked)
            signed.tell(s.y[asked])
            named.tell(y[asked])
        assert set(named.predict(s.test_X)) <= {"no", "yes"}
        assert np.array_equal(named.predict(s.test_X) == "yes", signed.predict(s.test_X) > 0)

    def test_estimated_propensities_are_taken_and_named(self, case):
        s = scene()
        label = np.where(s.log.z, s.log.y, np.nan)
        log, _ = estimated_log(s.log.X, label, model=LogisticRegression(), random_state=0)
        m = go(begin(case, s, log=log), s, 1)
        assert "q0 estimated from the log" in m.report() and f"{m.labels_} labels" in m.report()
        assert "q0 given" in begin(case, s).report()

    def test_turns_are_kept(self, case):
        s = scene()
        m = make(case)
        with pytest.raises(InputError, match="ask was called before start"):
            ask(m, s, 0)
        with pytest.raises(InputError, match="tell was called without an open round"):
            m.tell([])
        for early in (m.error, m.report, lambda: m.predict(s.test_X), lambda: m.adopt(None)):
            with pytest.raises(InputError, match="before start"):
                early()
        assert "not started" in m._repr_html_()
        m = begin(case, s)
        asked = ask(m, s, 0)
        with pytest.raises(InputError, match="twice without tell"):
            ask(m, s, 1)
        with pytest.raises(InputError, match=f"each of the {len(asked)} rows"):
            m.tell(np.ones(len(asked) + 1))
        with pytest.raises(InputError, match="was not asked for"):
            m.tell({10**6: 1.0})
        if len(asked):
            with pytest.raises(InputError, match=r"labels must be -1\.0 or 1\.0; got 7"):
                m.tell(np.full(len(asked), 7))
            with pytest.raises(InputError, match="was asked for and has no label"):
                m.tell({})
        m.tell(s.y[asked])
        assert m.labels_ == len(asked)

    def test_adopted_rounds_are_learnt(self, case):
        s = scene()
        m = go(begin(case, s), s, 1)
        twin = begin(case, s).adopt(m.rounds_[0])
        assert twin.labels_ == m.labels_
        if not hasattr(m, "descent_"):  # a pass of descent draws its order, which the twin has not drawn yet
            assert np.array_equal(twin.predict(s.test_X), m.predict(s.test_X))

    def test_a_log_without_labels_is_a_start_too(self, case):
        s = scene()
        blank = LoggedData(s.log.X, np.full(s.log.m, np.nan), None, s.log.q0, classes=(-1, 1))
        m = go(begin(case, s, log=blank), s, 3)
        assert set(m.predict(s.test_X)) <= {-1, 1}
        if case in POOL_METHODS:
            assert m.rounds_[0].drawn.all()  # nothing to choose by yet

    def test_wrong_rows_are_refused_by_name(self, case):
        s = scene()
        m = begin(case, s)
        broken = s.X[:5].copy()
        broken[2, 1] = np.nan
        give = (lambda X, q0: make(case).start(s.log, X, q0)) if m.works_on == "pool" else m.ask
        with pytest.raises(InputError, match="the log's 4 features; got 3"):
            give(s.X[:5, :3], s.q0[:5])
        with pytest.raises(InputError, match="got nan at row 2, column 1"):
            give(broken, s.q0[:5])
        with pytest.raises(InputError, match=r"q0 must be in \(0, 1\]; got 0.0 at row 1"):
            give(s.X[:2], [0.5, 0.0])
        go(m, s, 1)
        assert m.labels_ == len(m.rounds_[0].bought.y)

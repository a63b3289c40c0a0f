"""What every method promises, tested for every entry of the registry: a new method is tested by being registered."""

from copy import copy, deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from scenes import scene
from unskew import LoggedData
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
from unskew.sampling.propensity import estimated_log


def lines(X):
    """A finite class: thresholds on two of the features, either way round."""
    return [
        (lambda rows, j=j, t=t, s=s: s * (np.asarray(rows.toarray() if sparse.issparse(rows) else rows)[:, j] - t) > 0)
        for j in (0, 1)
        for t in (-0.5, 0.0, 0.5)
        for s in (1, -1)
    ]


def make(case, random_state=1):
    """A method of the registry, by name, or by name and variant."""
    name, _, variant = case.partition(" ")
    kind = method_named(name, tuple(REGISTRY))
    if name == "ExactIDBAL":
        return kind(lines(None), gamma_0=0.05, random_state=random_state)
    return kind(**({"variant": variant} if variant else {}), random_state=random_state)


STREAMS = [
    case
    for name, entry in REGISTRY.items()
    if entry.works_on == "stream"
    for case in ([f"{name} released", f"{name} paper"] if name in PAPER_METHODS else [name])
]
EVERY = [*STREAMS, *POOL_METHODS]


def begin(case, s, random_state=1, log=None, X=None):
    method = make(case, random_state)
    log = s.log if log is None else log
    if method.works_on == "pool":
        return method.start(log, s.X if X is None else X, s.q0)
    return method.start(log, s.n)


def ask(method, s, turn, X=None):
    """The next rows of the scene that the method wants labels for, as positions in it."""
    if method.works_on == "pool":
        return np.asarray(method.ask(10))
    at = slice(15 * turn, 15 * turn + 15)
    return 15 * turn + method.ask((s.X if X is None else X)[at], s.q0[at])


def go(method, s, turns=3, y=None, first=0):
    """A few rounds; the method."""
    for turn in range(first, first + turns):
        asked = ask(method, s, turn)
        method.tell((s.y if y is None else y)[asked])
    return method


def says(method, s):
    """All that can be seen of a method."""
    return {
        "labels": method.labels_,
        "rounds": [batch.y.tolist() for batch in method.rounds_],
        "predictions": method.predict(s.test_X).tolist(),
        "pending": method.pending is None,
    }


def words_of(s):
    """The same scene with class values in words."""
    words = np.array(["no", "yes"], dtype=object)
    label = np.where(s.log.z, words[(s.log.y > 0).astype(int)], None)
    return LoggedData(s.log.X, label, s.log.z, s.log.q0), words[(s.y > 0).astype(int)]


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
        with pytest.raises(InputError, match="ask came before start"):
            ask(m, s, 0)
        with pytest.raises(InputError, match="without an open ask"):
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
            with pytest.raises(InputError, match="needs a label for every row asked; number 0 has none"):
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
    with pytest.raises(InputError, match="the log is LoggedData. Leave them out"):
        make("Unskew").start(s.log, s.X, label="paid")

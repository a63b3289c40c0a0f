"""Unskew: the same loop, a pool or a stream, every query with its probability; and the model under it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from unskew import LoggedData, Unskew
from unskew.errors import InputError
from unskew.experiments.simulation import curve, simulate
from unskew.methods import (
    MarginSampling,
    Passive,
    RandomLabels,
    StreamedUnskew,
    WeightedMarginSampling,
    population_error,
    run,
)
from unskew.models.bayes import BayesianLogistic
from unskew.models.belief import at_stake, pick, settled
from unskew.models.features import WIDE, Features
from unskew.models.laplace import posterior

POOLED = [Unskew, RandomLabels, MarginSampling, WeightedMarginSampling]


def scene(seed=0, rows=700, curved=False, policy="uniform"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 4))
    score = X[:, 0] * X[:, 1] if curved else X @ np.array([1.0, -0.5, 0.3, 0.0])
    y = np.where(score > 0, 1.0, -1.0)
    y[rng.random(rows) < 0.05] *= -1.0
    return simulate(X, y, policy, 0.5, rng)


@pytest.mark.parametrize("method", POOLED)
class TestPool:
    def test_spends_exactly_the_budget_and_repeats_itself(self, method):
        s = scene()
        points = curve(method(random_state=3), s, 60)
        assert points[0][:2] == (0, 0) and points[-1][:2] == (60, 60)
        assert points == curve(method(random_state=3), s, 60)
        assert points[-1][2] < 0.2

    def test_asks_for_k_different_rows(self, method):
        s = scene()
        m = method(random_state=1).start(s.log, s.n)
        asked = m.ask(s.X, s.q0, 25)
        assert len(set(asked.tolist())) == 25 and m.tell(s.y[asked]).labels_ == 25
        assert is_classifier(m.model_)
        assert m.ask(s.X[:3], s.q0[:3], 3).size == 3  # all that is left
        with pytest.raises(InputError, match="between 1 and the pool's 3 rows; got 4"):
            method().start(s.log).ask(s.X[:3], s.q0[:3], 4)

    def test_csr_is_dense(self, method):
        s = scene()
        label = np.where(s.log.z, s.log.y, np.nan)
        log = LoggedData(sparse.csr_array(s.log.X), label, s.log.z, s.log.q0, classes=(-1, 1))
        dense = method(random_state=1).start(s.log).ask(s.X, s.q0, 10)
        csr = method(random_state=1).start(log).ask(sparse.csr_array(s.X), s.q0, 10)
        assert np.array_equal(dense, csr)

    @pytest.mark.parametrize("k", [2.5, True, "3", float("nan")])
    def test_k_is_a_whole_number(self, method, k):
        s = scene()
        with pytest.raises(InputError, match=f"k must be a whole number of rows; got {k!r}"):
            method().start(s.log).ask(s.X, s.q0, k)


@pytest.mark.parametrize("method", [RandomLabels, MarginSampling, WeightedMarginSampling])
def test_yardsticks_refuse_a_stream(method):
    s = scene()
    with pytest.raises(InputError, match=rf"{method.__name__} picks from a pool.*ask\(X, q0, k\)"):
        method().start(s.log).ask(s.X, s.q0)


def test_random_labels_are_all_audit():
    s = scene()
    method, plain = (kind(random_state=4).start(s.log) for kind in (RandomLabels, OnlyDrawn))
    left = np.arange(s.n)
    for k in (10, 30):
        asked = left[method.ask(s.X[left], s.q0[left], k)]
        assert np.array_equal(asked, left[plain.ask(s.X[left], s.q0[left], k)])  # the draw is what it was
        for m in (method, plain):
            m.tell(s.y[asked])
        assert method.rounds_[-1].audit.all() and method.rounds_[-1].rest == len(left)
        assert np.array_equal(method.rounds_[-1].p, np.full(k, k / len(left)))
        left = np.setdiff1d(left, asked)
    found = population_error(method, s.X)
    assert found.labels == s.log.z.sum() + 40
    assert found.low < s.error(method) < found.high


class OnlyDrawn(RandomLabels):
    pick = Unskew.pick


def test_a_round_that_cannot_be_learnt_stays_open():
    s = scene()
    method = Unskew(random_state=0).start(s.log)
    asked = method.ask(s.X, s.q0, 10)
    labels, learn = method._y, method.learn

    def fails(batch):
        learn(batch)
        raise MemoryError

    method.learn = fails
    with pytest.raises(MemoryError):
        method.tell(s.y[asked])
    del method.learn
    assert (method.labels_, method.rounds_) == (0, []) and method._y is labels
    assert method.tell(s.y[asked]).labels_ == 10
    assert len(method._y) == len(labels) + 10 and len(method.rounds_) == 1
    answered = method.rounds_[0]
    method.learn = fails
    with pytest.raises(MemoryError):
        method.adopt(answered)
    assert method.pending is None and method.labels_ == 10


def test_a_stream_method_refuses_a_pool():
    s = scene()
    with pytest.raises(InputError, match="Passive works on a stream"):
        Passive().start(s.log).ask(s.X, s.q0, 5)


def test_every_query_has_its_probability():
    s = scene()
    m = Unskew(audit=0.2, random_state=0).start(s.log)
    asked = m.ask(s.X, s.q0, 50)
    m.tell(s.y[asked])
    batch = m.rounds_[0]
    assert batch.audit.sum() == 10 and batch.rest == s.n - 40
    assert np.array_equal(batch.p, np.where(batch.audit, 10 / (s.n - 40), 1.0))
    assert np.array_equal(batch.positions, asked)
    with pytest.raises(InputError, match=r"audit must be in \[0, 1\); got 1"):
        Unskew(audit=1)


def test_the_audit_is_a_fair_draw():
    """Over many seeds each row that is not chosen is drawn as often as any other."""
    s = scene(rows=120)
    drawn = np.zeros(s.n)
    for seed in range(300):
        m = Unskew(audit=0.5, random_state=np.random.default_rng(seed)).start(s.log)
        asked = m.ask(s.X, s.q0, 10)
        drawn[asked[5:]] += 1
    rest = drawn[drawn > 0]
    assert rest.max() < 100 and drawn.sum() == 1500


def test_stream_asks_in_the_region_and_audits_elsewhere():
    s = scene(rows=3000)
    m = StreamedUnskew(random_state=0).start(s.log)
    asked = m.ask(s.X, s.q0)
    p = m._pending.p
    assert set(np.unique(p)) == {0.1, 1.0}
    assert np.all(np.isin(np.flatnonzero(p == 1.0), asked))
    outside = np.flatnonzero(p == 0.1)
    assert np.mean(np.isin(outside, asked)) == pytest.approx(0.1, abs=0.04)
    m.tell(s.y[asked])
    done = run(StreamedUnskew(random_state=0), s.log, (s.X, s.q0), s.y)
    assert done.labels_ < s.n / 2 and s.error(done) < 0.12


def test_labels_go_where_the_log_is_blind():
    """Half of the population was hardly ever labelled: most labels are asked for there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0, X[:, 1] < 0)  # what holds on the right is wrong on the left
    q0 = np.where(X[:, 0] > 0, 0.5, 0.005)
    log = LoggedData(X[:1000], y[:1000], rng.random(1000) < q0[:1000], q0[:1000])
    m = Unskew(audit=0.0, random_state=0).start(log)
    asked = m.ask(X[1000:], q0[1000:], 30)
    assert np.mean(X[1000:][asked, 0] < 0.3) > 0.7


@pytest.mark.parametrize("method", [Unskew, StreamedUnskew])
@pytest.mark.parametrize(
    "log",
    [
        "no label",
        "one class",
        "constant q0",
        "separable",
        "more features than labels",
        "duplicates",
        "constant feature",
    ],
)
def test_degenerate_logs(method, log):
    rng = np.random.default_rng(0)
    d = 60 if log == "more features than labels" else 3
    X = rng.normal(size=(400, d))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    z = rng.random(200) < 0.15
    if log == "no label":
        z[:] = False
    if log == "one class":
        z &= y[:200] > 0
    if log == "duplicates":
        X[:] = X[rng.integers(8, size=400)]
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if log == "constant feature":
        X[:, 1] = 7.0
    if log == "separable":
        X[:, 0] += 3.0 * y
    q0 = 1.0 if log == "constant q0" else 0.15
    logged = LoggedData(X[:200], np.where(z, y[:200], np.nan), z, q0, classes=(-1, 1))
    m = method(random_state=0).start(logged)
    for _ in range(3):
        asked = m.ask(X[200:], q0, 15) if m.pools else m.ask(X[200:], q0)
        m.tell(y[200:][asked])
    assert np.isfinite(m.model_.predict_proba(X)).all()
    assert m.model_.score(X, y) > (0.6 if log == "more features than labels" else 0.85)


def test_posterior_is_the_ridge_solution():
    rng = np.random.default_rng(0)
    F, v = rng.normal(size=(80, 3)), rng.uniform(0.5, 2.0, 80)
    y = np.where(F[:, 0] + rng.normal(size=80) > 0, 1.0, -1.0)
    ours = posterior(F, y, v, np.full(3, 0.5))
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(F, y, sample_weight=v)
    np.testing.assert_allclose(ours.mode, theirs.coef_[0], rtol=1e-4)
    p = 1 / (1 + np.exp(-F @ ours.mode))
    H = (F.T * (v * p * (1 - p))) @ F + 0.5 * np.eye(3)
    np.testing.assert_allclose(ours.deviation(F) ** 2, np.einsum("ij,jk,ik->i", F, np.linalg.inv(H), F), rtol=1e-4)


def test_evidence_of_no_label_is_zero():
    assert posterior(np.zeros((0, 4)), np.zeros(0), np.zeros(0), np.full(4, 3.0)).evidence == pytest.approx(0.0)


def test_evidence_switches_the_curve_on_and_off():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (400, 5))
    linear = BayesianLogistic(random_state=0).fit(X, X[:, 0] + 0.3 * rng.normal(size=400) > 0)
    curved = BayesianLogistic(random_state=0).fit(X, (X[:, :2] ** 2).sum(axis=1) > 0.6)
    assert linear.prior_.fourier < curved.prior_.fourier
    assert curved.score(X, (X[:, :2] ** 2).sum(axis=1) > 0.6) > 0.9


def test_probabilities_are_calibrated_on_a_noisy_line():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    truth = 1 / (1 + np.exp(-2.0 * X[:, 0]))
    y = rng.random(3000) < truth
    p = BayesianLogistic(random_state=0).fit(X[:600], y[:600]).predict_proba(X[600:])[:, 1]
    assert np.abs(p - truth[600:]).mean() < 0.06


def test_wide_rows_are_projected():
    X = sparse.random_array((60, 3000), density=0.01, random_state=0, format="csr")
    features = Features(X, rng=np.random.default_rng(0))
    assert features.sizes[0] == WIDE and features(X).shape == (60, WIDE + 1)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: m.fit(np.eye(3), [0, 1, 2]), "y must have two classes; got 3"),
        (lambda m: m.fit(np.eye(3), [0, 1]), r"y must have one label for each of 3 rows; got shape \(2,\)"),
        (
            lambda m: m.fit(np.eye(2), [0, 1], [1.0, -1.0]),
            "sample_weight must be 0 or more and finite; got -1.0 at row 1",
        ),
        (lambda m: m.fit(np.eye(2), [0, 1], [1.0, np.nan]), "got nan at row 1"),
        (lambda m: m.fit(np.eye(2), [0, 1], [0.0, 0.0]), "above 0 for some row"),
        (lambda m: m.fit(np.eye(2), [0, 1]).predict(np.eye(3)), "X must have the 2 features of fit; got 3"),
    ],
)
def test_bad_input_of_the_model(call, says):
    with pytest.raises(InputError, match=says):
        call(BayesianLogistic())


def test_an_unfitted_model_says_so():
    for ask in (BayesianLogistic().predict, BayesianLogistic().predict_proba, BayesianLogistic().decision_function):
        with pytest.raises(NotFittedError):
            ask(np.eye(2))


class TestSettling:
    """The rule by which rows are picked, beside the sums as they stand in the docstring of `unskew.models.belief`."""

    @pytest.fixture
    def margins(self):
        rng = np.random.default_rng(1)
        return rng.normal(size=40), rng.normal(size=(40, 6)) * rng.uniform(0.2, 3.0, (40, 1))

    @staticmethod
    def plain(mu, C, aims_C=None):
        """Row by row: sum_t e_t c_i C_it^2 / ((1 + c_i s_i^2) s_t^2), e_t and s_t before any label of the batch."""
        first = C if aims_C is None else aims_C
        s = np.sqrt(np.diag(first))
        e, c = norm.cdf(-np.abs(mu) / s), expit(mu) * expit(-mu)
        return np.array(
            [sum(e[t] * c[i] * C[i, t] ** 2 / ((1 + c[i] * C[i, i]) * s[t] ** 2) for t in range(len(mu)))
             for i in range(len(mu))]
        ) / len(mu)  # fmt: skip

    def test_what_a_label_settles_is_the_sum_over_rows(self, margins):
        mu, U = margins
        assert settled(mu, U, at_stake(mu, U)) == pytest.approx(self.plain(mu, U @ U.T))

    def test_a_batch_is_picked_as_if_labelled_one_by_one(self, margins):
        mu, U = margins
        C = first = U @ U.T
        c, one_by_one = expit(mu) * expit(-mu), []
        for _ in range(8):
            worth = self.plain(mu, C, first)
            worth[one_by_one] = -1.0
            i = int(np.argmax(worth))
            one_by_one.append(i)
            C = C - c[i] / (1.0 + c[i] * C[i, i]) * np.outer(C[:, i], C[i])
        assert pick(mu, U, at_stake(mu, U), 8).tolist() == one_by_one

    def test_a_glance_agrees_with_a_close_look(self):
        X = np.random.default_rng(0).normal(size=(5000, 5)) + 100.0
        model = BayesianLogistic(random_state=0).fit(X[:300], (X[:300, 0] > 100) ^ (X[:300, 1] > 101))
        mu, U = model.glance(X)
        belief = model.belief(X)
        assert model.prior_.fourier > 0.0 and mu.dtype == U.dtype == np.float32
        assert mu == pytest.approx(belief.mu, abs=1e-3)
        assert np.linalg.norm(U, axis=1) == pytest.approx(belief.deviation(), rel=1e-3)

    def test_labels_go_where_many_rows_are_in_doubt(self):
        """Two unknown groups, equally unknown; one holds nine rows of ten."""
        U = np.repeat([[3.0, 0.0], [0.0, 3.0]], [90, 10], axis=0) + 0.0
        assert pick(np.zeros(100), U, at_stake(np.zeros(100), U), 1)[0] < 90


def test_a_log_that_misleads_is_overruled_sooner():
    """Most labels come from one half, where the second feature means the opposite of what it means for the others.

    Margin sampling believes the log; `Unskew` asks where rows are in doubt, and lets labels count that are rare.
    """

    def error(kind, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 12))
        seen = X[:, 0] > 0
        y = np.where(X[:, 1] * np.where(seen, 1.0, -2.0) + rng.normal(size=3000) > 0, 1.0, -1.0)
        q0 = np.where(seen, 0.8, 0.01)
        method = kind(random_state=0).start(LoggedData(X[:1000], y[:1000], rng.random(1000) < q0[:1000], q0[:1000]))
        left = np.arange(2000)
        for _ in range(8):
            asked = left[method.ask(X[1000:][left], q0[1000:][left], k=20)]
            method.tell(y[1000:][asked])
            left = np.setdiff1d(left, asked)
        return np.mean(method.model_.predict(X[1000:]) != y[1000:])

    unweighted = type("Unweighted", (Unskew,), {"weights": lambda self: np.ones(len(self._y))})
    ours, once, margin = (np.mean([error(kind, s) for s in range(5)]) for kind in (Unskew, unweighted, MarginSampling))
    assert ours < once < margin

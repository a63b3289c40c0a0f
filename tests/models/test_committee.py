"""Unskew with any scikit-learn classifier: one contract over several, degenerate logs, refusals, real data."""

from copy import copy

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

from unskew import LoggedData, Unskew
from unskew.errors import InputError
from unskew.experiments.datasets import load
from unskew.experiments.simulation import curve, simulate, simulations
from unskew.methods import MarginSampling, RandomLabels, StreamedUnskew
from unskew.models.bayes import BayesianLogistic
from unskew.models.classifiers import watched
from unskew.models.committee import FOLDS, MEMBERS, BootstrapCommittee
from unskew.models.cross_fitting import cross_fitted_margins

MODELS = {
    "boosting": HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5),
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(n_estimators=5),
    "sgd": make_pipeline(MaxAbsScaler(), SGDClassifier(loss="log_loss")),  # descent wants features of one size
    "svm": LinearSVC(),
    "pipeline": make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
}
each_model = pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))


def scene(seed=0, rows=700, policy="uniform"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (rows, 4))
    y = np.where(X @ np.array([1.0, -0.5, 0.3, 0.0]) > 0, 1.0, -1.0)
    y[rng.random(rows) < 0.05] *= -1.0
    return simulate(X, y, policy, 0.5, rng)


@each_model
class TestContract:
    def test_spends_the_budget_learns_and_repeats_itself(self, model):
        s, before = scene(), repr(model.get_params())
        points = curve(Unskew(model=model, random_state=3), s, 40)
        assert points == curve(Unskew(model=model, random_state=3), s, 40)
        assert points[-1][1] == 40 and points[-1][2] < 0.25
        assert repr(model.get_params()) == before and not hasattr(model, "classes_")

    def test_the_user_gets_her_own_classifier(self, model):
        s = scene()
        m = Unskew(model=model, random_state=1).start(s.log, s.X, s.q0)
        asked = np.asarray(m.ask(25))
        first = m.model_
        said = first.predict(s.test_X)
        m.tell(s.y[asked])
        assert type(m.model_) is type(model) and is_classifier(m.model_)
        assert np.array_equal(m.model_.predict(s.test_X), m.infer(s.test_X))
        assert np.array_equal(first.predict(s.test_X), said)  # later rounds do not change it
        assert m.rounds_[0].p is not None and len(set(asked.tolist())) == 25

    def test_class_values_and_their_order_do_not_matter(self, model):
        s = scene()
        for words in (np.array(["a", "b"]), np.array(["b", "a"])):  # the second pair has the positive class first
            label = np.where(s.log.z, words[(s.log.y > 0).astype(int)], None)
            log = LoggedData(s.log.X, label, s.log.z, s.log.q0, classes=words)
            named, signed = (Unskew(model=model, random_state=2).start(one, s.X, s.q0) for one in (log, s.log))
            assert set(named.model_.predict(s.test_X)) <= {"a", "b"}
            agree = (named.model_.predict(s.test_X) == words[1]) == (signed.model_.predict(s.test_X) > 0)
            assert agree.all()
            assert named.error().value == pytest.approx(signed.error().value, rel=1e-6)
            assert np.array_equal(np.asarray(named.ask(20)), np.asarray(signed.ask(20)))

    def test_margins_are_of_the_second_class_named(self, model):
        s = scene()
        X, y, v = s.log.revealed_X, s.log.revealed_y, np.ones(len(s.log.revealed_y))
        found = []
        for words in (np.array([0, 1]), np.array(["b", "a"])):
            committee = BootstrapCommittee(model, random_state=0).prepare(s.log.X, words)
            committee.update(X, y, v, choose=True)
            found.append((committee.belief(s.X).mu, committee.belief(s.X).deviation(), committee.margin(s.X)))
            assert np.mean((committee.margin(s.X) > 0.0) == (s.y > 0.0)) > 0.6
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)

    def test_population_error(self, model):
        inside = 0
        for seed in range(5):
            s = scene(seed, rows=1500)
            m = Unskew(model=model, drawn=0.5, random_state=seed).start(s.log, s.X, s.q0)
            m.tell(s.y[np.asarray(m.ask(40))])
            found = m.error()
            assert found == m.error()
            inside += found.low < s.error(m) < found.high
        assert inside >= 4  # of 95 % intervals; five or four are inside 98 times in 100

    def test_stream(self, model):
        s = scene()
        m = StreamedUnskew(model=model, random_state=0).start(s.log)
        m.tell(s.y[m.ask(s.X[:50], s.q0[:50])])
        assert 0 < m.labels_ <= 50

    def test_degenerate_logs(self, model):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 3))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        for z in (np.zeros(200, dtype=bool), y[:200] > 1.0, (y[:200] > 0) & (rng.random(200) < 0.1)):
            log = LoggedData(X[:200], np.where(z, y[:200], np.nan), z, 0.15, classes=(-1, 1))
            m = Unskew(model=model, drawn=0.3, random_state=0).start(log, X[200:], 0.15)
            assert m.model_.predict(X).shape == (400,) and isinstance(m.model_, BayesianLogistic)
            for k in (3, 30, 30):
                asked = np.asarray(m.ask(k))
                m.tell(y[200:][asked])
                assert 0.0 <= m.error().value <= 1.0
            assert m.model_.score(X, y) > 0.8


@pytest.mark.parametrize("model", [MODELS["logistic"], MODELS["forest"], MODELS["sgd"], MODELS["pipeline"]])
def test_sparse_rows(model):
    s = scene()
    label = np.where(s.log.z, s.log.y, np.nan)
    log = LoggedData(sparse.csr_array(s.log.X), label, s.log.z, s.log.q0, classes=(-1, 1))
    m = Unskew(model=model, drawn=0.3, random_state=1).start(log, sparse.csr_array(s.X), s.q0)
    m.tell(s.y[np.asarray(m.ask(20))])
    assert 0.0 < m.error().value < 0.5


def test_sparse_rows_for_a_dense_model():
    s = scene()
    log = LoggedData(sparse.csr_array(s.log.X), np.where(s.log.z, s.log.y, np.nan), s.log.z, s.log.q0)
    with pytest.raises(InputError, match=r"GaussianNB must fit \d+ sparse rows.* Pass dense rows"):
        Unskew(model=GaussianNB()).start(log, s.X)


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (KNeighborsClassifier(), "must take sample_weight in fit; KNeighborsClassifier does not"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "must take sample_weight in fit; Pipeline does not"),
        (StandardScaler(), r"must be a scikit-learn classifier; got StandardScaler\(\)"),
        (LogisticRegression, "Pass an instance"),
        ("forest", "must be a scikit-learn classifier; got 'forest'"),
    ],
)
def test_refusals(model, rule):
    with pytest.raises(InputError, match=rule):
        Unskew(model=model)


def test_no_margin():
    class Silent(LogisticRegression):
        predict_proba = decision_function = property()

    with pytest.raises(InputError, match="predict_proba or decision_function; Silent has neither"):
        Unskew(model=Silent())


def test_the_root_is_the_covariance_of_the_members():
    s = scene()
    committee = BootstrapCommittee(LogisticRegression(), random_state=0).prepare(s.log.X, s.log.classes)
    committee.update(s.log.revealed_X, s.log.revealed_y, np.ones(len(s.log.revealed_y)), choose=True)
    belief = committee.belief(s.X)
    bound = np.log(len(s.log.revealed_y) + 1.0)
    members = np.clip([m.decision_function(s.X) for m in committee._members], -bound, bound)
    U = belief.root(np.arange(6))
    assert len(U) == MEMBERS
    np.testing.assert_allclose(U.T @ U, np.cov(members[:, :6].T), rtol=1e-6)
    np.testing.assert_allclose(belief.deviation(), members.std(axis=0, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(belief.mu, np.clip(committee.model.decision_function(s.X), -bound, bound), atol=1e-4)


def test_the_bootstrap_spreads_as_the_posterior_does():
    """Where both hold, on many labels of a well specified line, the two say about the same of s."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(rng.random(600) < 1 / (1 + np.exp(-2 * X[:, 0])), 1.0, -1.0)
    grid = rng.normal(size=(200, 2))
    known = LogisticRegression(C=1e4).fit(X, y)
    p = known.predict_proba(X)[:, 1]
    F, G = (np.column_stack([np.ones(len(R)), R]) for R in (X, grid))
    exact = np.sqrt(np.einsum("ij,jk,ik->i", G, np.linalg.inv((F.T * (p * (1 - p))) @ F), G))
    committee = BootstrapCommittee(LogisticRegression(C=1e4), random_state=0).prepare(X, np.array([-1, 1]))
    committee.update(X, y, np.ones(600), choose=True)
    assert np.median(committee.belief(grid).deviation() / exact) == pytest.approx(1.0, abs=0.3)


class TestAgreement:
    """Where the whole committee says the same of every row, each row is as likely to be picked as any other."""

    @staticmethod
    def picks(rows, k, runs):
        """How often each row was picked, over committees with different seeds."""
        X, y = np.arange(rows)[:, None] / rows, np.where(np.arange(12) % 3, 1.0, -1.0)
        times = np.zeros(rows)
        for seed in range(runs):
            committee = BootstrapCommittee(DummyClassifier(), random_state=seed).prepare(X, np.array([0, 1]))
            committee.update(X[:12], y, np.ones(12), choose=True)
            assert np.ptp(committee.belief(X).deviation()) < 1e-9, "the members say the same of every row"
            picked = committee.wanted(X, k, np.random.default_rng(seed))
            assert len(set(picked.tolist())) == k
            times[picked] += 1
        return times

    @pytest.mark.parametrize(("rows", "k"), [(40, 10), (600, 60)])  # all are candidates; only some are
    def test_every_row_is_picked_equally_often(self, rows, k):
        runs = 100
        times = self.picks(rows, k, runs)
        expected, variance = runs * k / rows, runs * k / rows * (1.0 - k / rows)
        statistic = ((times - expected) ** 2).sum() / variance  # about chi-squared
        assert 1e-4 < chi2.cdf(statistic, rows - 1) < 1.0 - 1e-4

    def test_a_real_committee(self):
        """Fewer labels than a leaf must hold: boosting says the same of every row."""
        s, firsts, shares = scene(policy="identical"), set(), []
        for seed in range(4):
            m = Unskew(model=HistGradientBoostingClassifier(), drawn=0.0, random_state=seed).start(s.log, s.X, s.q0)
            m.tell(s.y[np.asarray(m.ask(12))])
            asked = np.asarray(m.ask(30))
            firsts.add(int(asked[0]))
            shares.append(np.histogram(asked, bins=4, range=(0, s.n))[0])
        assert len(firsts) == 4, "another seed, other rows"
        assert np.min(shares) >= 1 and np.sum(shares, axis=0).min() >= 15, "30 are due to each quarter of the pool"


def test_a_failed_update_leaves_the_committee_as_it_was():
    s = scene()
    X, y, v = s.log.revealed_X, s.log.revealed_y, np.ones(len(s.log.revealed_y))
    committee = BootstrapCommittee(FailsOnMany(), random_state=0).prepare(s.log.X, s.log.classes)
    one_class = np.flatnonzero(y > 0.0)[:8]
    for few in (one_class, np.arange(20)):  # the stand-in's turn, then the classifier's
        committee.update(X[few], y[few], v[few], choose=True)
        before, said = dict(vars(committee)), committee.belief(s.X)
        with pytest.raises(MemoryError):
            committee.update(X, y, v, choose=True)
        assert vars(committee).keys() == before.keys()
        assert all(vars(committee)[name] is value for name, value in before.items())
        np.testing.assert_array_equal(committee.belief(s.X).mu, said.mu)
        np.testing.assert_array_equal(committee.belief(s.X).deviation(), said.deviation())


class FailsOnMany(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        if len(y) > 20:
            raise MemoryError
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("labels", [0, 5, 50])
def test_a_copy_does_not_learn_with_the_committee(labels):
    """Before the labels show both classes the stand-in learns; it belongs to one committee alone."""
    s = scene()
    rows = np.argsort(-s.log.revealed_y, kind="stable")  # one class first
    X, y = s.log.revealed_X[rows], s.log.revealed_y[rows]
    committee = BootstrapCommittee(LogisticRegression(), random_state=0).prepare(s.log.X, s.log.classes)
    committee.update(X[:3], y[:3], np.ones(3), choose=True)
    twin, said = copy(committee), committee.belief(s.X).mu
    for learns, rests in ((committee, twin), (twin, committee)):
        learns.update(X[:labels], y[:labels], np.ones(labels), choose=True)
        assert not np.allclose(learns.belief(s.X).mu, said, atol=1e-3)
        if rests is twin:
            np.testing.assert_array_equal(rests.belief(s.X).mu, said)
    np.testing.assert_array_equal(committee.belief(s.X).mu, twin.belief(s.X).mu)


def test_members_are_fitted_in_parallel_alike():
    s = scene()
    alone = Unskew(model=LogisticRegression(), random_state=0).start(s.log, s.X, s.q0).ask(20)
    with joblib.parallel_config("threading", n_jobs=2):
        together = Unskew(model=LogisticRegression(), random_state=0).start(s.log, s.X, s.q0).ask(20)
    assert np.array_equal(alone, together)


def test_cross_fitting_with_one_label_of_a_class():
    X, y = np.arange(10.0).reshape(-1, 1), np.array([-1.0] * 9 + [1.0])
    margin = cross_fitted_margins(LogisticRegression(), X, y, np.ones(10))
    assert margin[9] == pytest.approx(-np.log(9.0)) and np.isfinite(margin).all()


def test_rivals_take_the_model_too():
    s = scene()
    for rival in (MarginSampling, RandomLabels):
        m = rival(model=LogisticRegression(), random_state=0).start(s.log, s.X, s.q0)
        assert len(m.ask(10)) == 10 and isinstance(m.model_, LogisticRegression)


@pytest.mark.parametrize(  # sgd varies too much from fit to fit
    "model", ["logistic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("boosting", "forest", "pipeline"))]
)
def test_real_data(model, data_dir):
    """Forty labels, chosen, are worth at least about as much as forty at random; the warm start has bought none yet."""
    bought, drawn = [], []
    for s, seed in simulations(load("magic", data_dir), "uniform", 0.1, 5, range(3)):
        for kind, errors in ((Unskew, bought), (RandomLabels, drawn)):
            errors.append([point[2] for point in curve(kind(model=MODELS[model], random_state=seed), s, 40)[1:]])
    assert np.mean(bought, axis=0)[-1] < 0.3 and np.mean(bought) < np.mean(drawn) + 0.02


def test_each_label_is_judged_without_itself_only_once():
    """Whatever asks for it, five folds are fitted once for a set of labels, and again once there are more."""
    s, fits = scene(), []
    token = watched.set(lambda: fits.append(1))
    try:
        m = Unskew(model=GaussianNB(), random_state=0).start(s.log, s.X, s.q0)
        first = m.error()
        assert len(fits) == 1 + MEMBERS + FOLDS and m.error() == first
        asked = m.ask(20)
        assert len(fits) == 1 + MEMBERS + FOLDS
        m.tell(s.log.classes[(s.y[np.asarray(asked)] > 0).astype(int)])
        assert m.error() != first and len(fits) == 2 * (1 + MEMBERS + FOLDS)
    finally:
        watched.reset(token)


def test_whatever_a_fit_raises_is_told_in_one_line():
    class Broken(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("first\nsecond")

    s = scene()
    with pytest.raises(InputError, match="Broken must fit .* it says: first Try"):
        Unskew(model=Broken(), random_state=0).start(s.log, s.X, s.q0)

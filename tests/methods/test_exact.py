"""Algorithm 1 on finite classes: against a literal twin, its invariants, and what it refuses."""

import math

import numpy as np
import pytest
from sklearn.base import is_classifier

from finite_domains import draw, random_domain
from unskew import ExactIDBAL, LoggedData, run, theory
from unskew.errors import InputError
from unskew.theory import Domain


def algorithm_1(sample, n, delta, gamma_0):
    """The pseudocode, one classifier and one row at a time, with xi over the whole domain."""
    X, m = sample.domain, sample.m
    size, Q0, points = len(X.H), X.Q0, range(len(X.p))
    V, D, xi, cut = list(range(size)), list(points), Q0.min(), 1.0
    start, end, seen, asked, steps = 0, m // 3, 0, [], []
    stream = []  # rows of T~_k as (x, y, z)
    while True:
        k, m_k, n_k = len(steps), end - start, len(stream)
        rows = [(sample.x[t], sample.y[t], sample.z[t]) for t in range(start, end)] + stream

        def l(h, rows=rows, m_k=m_k, n_k=n_k, cut=cut):  # noqa: E743
            return math.fsum(z * (X.H[h][x] != y) / (m_k * Q0[x] + n_k * (Q0[x] <= cut)) for x, y, z in rows if z)

        losses = {h: l(h) for h in V}
        h_hat = next(h for h in V if losses[h] <= min(losses.values()) + 1e-12)
        sigma = math.log(size / (delta / ((k + 1) * (k + 2)) / 2)) / (m_k * xi + n_k)
        rho = {h: np.mean([X.H[h][x] != X.H[h_hat][x] for x, _, _ in rows]) for h in V}
        Delta = {h: gamma_0 * (sigma + math.sqrt(sigma * rho[h])) for h in V}
        steps.append((V, D, xi, h_hat, losses, Delta))
        if seen == n:
            return steps, asked
        V = [h for h in V if losses[h] <= losses[h_hat] + Delta[h]]
        D = [x for x in points if len({bool(X.H[h][x]) for h in V}) == 2]
        xi = min((Q0[x] for x in D), default=1.0)
        n_k = min(2**k, n - seen)
        start, end = end, m if seen + n_k == n else m // 3 + 2 * m * (seen + n_k) // (3 * n)
        cut = xi + max(3 * n / (2 * m), n_k / (end - start))  # 1/alpha; where m_k < alpha n_k, what Lemma 5 needs
        stream = []
        for t in range(m + seen, m + seen + n_k):
            x, kept = sample.x[t], Q0[sample.x[t]] <= cut
            if kept and x in D:
                asked.append(t - m)
            stream.append((x, sample.y[t] if x in D else X.H[h_hat][x], kept))
        seen += n_k


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_the_pseudocode(seed):
    n, gamma_0 = (31, 20)[seed % 2], (0.1, 0.3, 1.0)[seed % 3]
    sample = draw(random_domain(seed), 200, n, seed)
    steps, asked = algorithm_1(sample, n, 0.05, gamma_0)
    method = sample.learn(gamma_0=gamma_0)
    assert len(method.history_) == len(steps) == 6
    for ours, (V, D, xi, h_hat, losses, Delta) in zip(method.history_, steps, strict=True):
        assert ours.V.tolist() == V
        assert np.flatnonzero(ours.D).tolist() == D
        assert (ours.xi, ours.h_hat) == (xi, h_hat)
        assert ours.loss == pytest.approx([losses[h] for h in V], abs=1e-12)
        assert ours.Delta == pytest.approx([Delta[h] for h in V])
    assert method.labels_ == len(asked)
    assert method.model_.predict(np.arange(6)[:, None]).tolist() == sample.domain.H[steps[-1][3]].tolist()


def test_twins_are_not_compared_on_idle_runs():
    """The comparison above means something: sets shrink, some labels are bought, some are not."""
    shrunk, bought = [], []
    for seed in range(12):
        method = draw(random_domain(seed), 200, 31, seed).learn(gamma_0=0.1)
        shrunk.append(len(method.history_[-1].V) < len(method.history_[0].V))
        bought.append(method.labels_)
    assert all(shrunk)
    assert 0 < np.mean(bought) < 31


@pytest.mark.parametrize("seed", range(4))
def test_classifiers_and_matrix_give_the_same_run(seed):
    sample = draw(random_domain(seed), 120, 31, seed)
    table = sample.domain.H

    class Member:
        def __init__(self, row):
            self.row = row

        def predict(self, X):
            return self.row[X[:, 0].astype(int)]  # the log's class values

    functions = [lambda X, row=row: row[X[:, 0].astype(int)] for row in table]
    runs = [
        sample.learn(ExactIDBAL(H, gamma_0=0.1))
        for H in (table, 2 * table.astype(np.int8) - 1, table.tolist(), functions, [Member(row) for row in table])
    ]
    for other in runs[1:]:
        assert other.labels_ == runs[0].labels_
        for a, b in zip(runs[0].history_, other.history_, strict=True):
            assert (a.V.tolist(), a.D.tolist(), a.xi, a.h_hat) == (b.V.tolist(), b.D.tolist(), b.xi, b.h_hat)
        X = np.arange(6)[:, None]
        assert other.model_.predict(X).tolist() == runs[0].model_.predict(X).tolist()


def test_blocks_do_not_change_the_run(monkeypatch):
    sample = draw(random_domain(1), 120, 31, 1)
    whole = sample.learn(gamma_0=0.1)
    monkeypatch.setattr("unskew.methods.streams.exact.BLOCK", 7)
    pieces = sample.learn(gamma_0=0.1)
    for a, b in zip(whole.history_, pieces.history_, strict=True):
        assert (a.V.tolist(), a.D.tolist(), a.h_hat) == (b.V.tolist(), b.D.tolist(), b.h_hat)


@pytest.mark.parametrize("seed", range(10))
def test_invariants_of_a_run(seed):
    n = 63
    sample = draw(random_domain(seed, points=8, size=20), 400, n, seed)
    X, q0 = sample.domain, sample.q0[400:]
    method = ExactIDBAL(X.H, gamma_0=0.1, domain=(np.arange(8)[:, None], X.Q0)).start(sample.log, n)
    seen, log_seen = 0, 400 // 3
    for size in method.batch_sizes():
        x, y = sample.x[400 + seen : 400 + seen + size], sample.y[400 + seen : 400 + seen + size]
        asked = method.ask(x[:, None], q0[seen : seen + size])
        before = method.history_[-1]
        inferred = X.H[before.h_hat][x]
        method.tell(y[asked])
        now = method.history_[-1]
        assert set(now.V) <= set(before.V), "V_k nested"
        assert not (now.D & ~before.D).any(), "D_k nested"
        assert now.h_hat in now.V
        assert now.D.tolist() == X.dis(now.V).tolist()
        kept = X.Q0[x] <= now.cut
        assert asked.tolist() == np.flatnonzero(now.D[x] & kept).tolist(), "asks in D_k where Q_k = 1, only there"
        # Lemma 5: no weight inside D_k above the one that sigma allows for
        weight = 1 / (now.m_k * X.Q0 + now.n_k * (X.Q0 <= now.cut))
        assert (weight[now.D] <= 1 / (now.m_k * now.xi + now.n_k) + 1e-12).all()
        # Lemma 6: true and inferred labels give equal differences inside V_k
        rows = slice(log_seen, log_seen + now.m_k)
        xs = np.concatenate((sample.x[rows], x))
        v = weight[xs] * np.concatenate((sample.z[rows], kept))
        tilde_y = np.where(now.D[x], y, inferred)
        l_S, l_tilde = (
            ((X.H[now.V][:, xs] != np.concatenate((sample.y[rows], labels))) * v).sum(axis=1) for labels in (y, tilde_y)
        )
        assert now.loss == pytest.approx(l_tilde, abs=1e-12)
        assert l_S - l_S[0] == pytest.approx(l_tilde - l_tilde[0], abs=1e-12)
        seen, log_seen = seen + size, log_seen + now.m_k
    assert (seen, log_seen) == (n, 400), "segments partition stream and log"


def test_the_threshold_is_the_texts_where_lemma_5_allows_it():
    """Q_k(x) = 1{Q0(x) <= xi_k + 1/alpha}, and n_k/m_k in place of 1/alpha only where m_k < alpha n_k."""
    longer = shorter = 0
    for m in (200, 201, 400, 403):
        for n in (7, 20, 31, 63):
            alpha = 2 * m / (3 * n)
            for step in draw(random_domain(m), m, n, n).learn(gamma_0=0.3).history_[1:]:
                added = step.cut - step.xi
                if step.m_k < alpha * step.n_k - 1e-9:
                    assert added == pytest.approx(step.n_k / step.m_k) and added > 1 / alpha
                    shorter += 1
                else:
                    assert added == pytest.approx(1 / alpha)
                    longer += 1
    assert longer > 10 and shorter > 10


def test_lemma_5_needs_a_larger_threshold_on_a_short_slice():
    """m_k = 3 where alpha n_k = 3.5: a point just above xi + 1/alpha would have a weight that sigma does not allow."""
    alpha, m_k, n_k, xi = 3.5, 3, 1, 0.1
    allowed = 1 / (m_k * xi + n_k)
    Q0 = xi + 1 / alpha + 1e-3  # not kept by the text's threshold, so that only the log can show it
    assert 1 / (m_k * Q0) > allowed
    assert xi + n_k / m_k > Q0, "kept by the threshold of the lemma"
    assert 1 / (m_k * (xi + n_k / m_k)) <= allowed + 1e-12, "above which no weight is too large"


def test_full_logging_is_plain_disagreement_based_learning():
    """Q0 = 1: nothing to debias, every weight the same; the classical algorithm on log slices and batches."""

    def classical(sample, n, delta, gamma_0):
        H, V, bought = sample.domain.H, np.arange(len(sample.domain.H)), 0
        x, y, end, seen, k = sample.x[: sample.m // 3], sample.y[: sample.m // 3], sample.m // 3, 0, 0
        while True:
            errors = (H[V][:, x] != y).mean(axis=1)
            best = V[np.argmax(errors <= errors.min() + 1e-12)]
            if seen == n:
                return bought, best
            sigma = math.log(2 * len(H) * (k + 1) * (k + 2) / delta) / len(x)
            apart = (H[V][:, x] != H[best][x]).mean(axis=1)
            V = V[errors <= errors[V == best] + gamma_0 * (sigma + np.sqrt(sigma * apart))]
            start, end = end, end + 2 * sample.m * (2**k) // (3 * n)
            new = slice(sample.m + seen, sample.m + seen + 2**k)
            fresh = sample.x[new]
            divided = (H[V][:, fresh] != H[V[0]][fresh]).any(axis=0)
            bought += divided.sum()
            x = np.concatenate((sample.x[start:end], fresh))
            y = np.concatenate((sample.y[start:end], np.where(divided, sample.y[new], H[best][fresh])))
            seen, k = seen + 2**k, k + 1

    for seed in range(10):
        domain = random_domain(seed)
        sample = draw(Domain(domain.p, domain.eta, 1.0, domain.H), 3 * 31 * 2, 31, seed)  # alpha = 4
        method = sample.learn(gamma_0=0.3)
        assert (method.labels_, method.history_[-1].h_hat) == classical(sample, 31, 0.05, 0.3)


def test_debiasing_leaves_out_what_the_log_covers():
    """The same stream under full querying of D_k: IDBAL buys fewer labels, all where Q0 is small."""
    X = Domain(np.full(4, 0.25), 0.5, [0.05, 0.05, 1.0, 1.0], [[0, 0, 0, 0], [1, 1, 1, 1]])
    sample = draw(X, 3000, 63, 0)
    method = sample.learn()
    assert all(step.D.all() for step in method.history_)
    assert method.labels_ == (X.Q0[sample.x[3000:]] < 1).sum()


def test_xi_without_a_domain_comes_from_the_log_and_the_batch():
    H = [[0, 0, 0], [1, 1, 1]]
    log = LoggedData([[1.0]] * 6, [0, 1] * 3, q0=0.5)
    method = ExactIDBAL(H).start(log, n=3)
    method.ask([[0]], 0.2)  # a point that the log never showed
    assert method.tell([1]).history_[-1].xi == 0.2
    method.ask([[2], [2]], 0.9)
    assert method.tell([1, 1]).history_[-1].xi == 0.5


def test_empty_region_asks_for_nothing():
    log = LoggedData([[0.0], [1.0], [1.0]], [0, 1, 1], q0=0.5)
    method = run(ExactIDBAL([[0, 1]]), log, ([[0], [1], [1]], 0.5), [0, 1, 1])
    assert (method.labels_, method.history_[-1].xi) == (0, 1.0)


def test_a_log_too_short_for_a_first_slice():
    log = LoggedData([[0.0], [1.0]], [0, 1], q0=[0.5, 1.0])
    method = run(ExactIDBAL([[0, 1], [1, 0]], gamma_0=0.1), log, ([[0], [1], [1], [0], [1]], 0.5), [0, 1, 1, 0, 1])
    assert [step.m_k for step in method.history_] == [0, 0, 0, 2]
    assert method.history_[0].Delta.tolist() == [np.inf, np.inf]
    assert method.model_.predict([[0], [1]]).tolist() == [0, 1]


def test_model_is_a_classifier_with_the_logs_classes():
    log = LoggedData([[0.0], [1.0], [1.0]], ["bad", "good", "good"], q0=0.5)
    model = ExactIDBAL([lambda X: X[:, 0] > 0.5, lambda X: X[:, 0] < 0.5]).start(log).model_
    assert is_classifier(model)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.score([[0.0], [1.0]], ["bad", "good"]) == 1.0


def test_a_large_class():
    rng = np.random.default_rng(0)
    F, W = rng.normal(size=(2000, 4)), rng.normal(size=(20_000, 4))
    domain = Domain(np.full(2000, 1 / 2000), W[0] @ F.T > 0, np.where(F[:, 0] > 0, 0.5, 0.1), W @ F.T > 0)
    method = draw(domain, 3000, 255, 0).learn(gamma_0=0.3)
    assert domain.l[method.history_[-1].h_hat] < 0.02
    assert len(method.history_[-1].V) < 200
    assert method.labels_ < 100


LOG = LoggedData([[0.0], [1.0], [1.0]], [0, 1, 1], q0=0.5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ExactIDBAL([[0, 1]], delta=0.0), "delta must be in (0, 1); got 0.0"),
        (lambda: ExactIDBAL([[0, 1]], gamma_0=-1.0), "gamma_0 must be positive; got -1.0"),
        (lambda: ExactIDBAL([[0, 3]]).start(LOG), "got 3 at row 0, column 1"),
        (lambda: ExactIDBAL([[0, 1], [-1, 1]]).start(LOG), "got 0 at row 0, column 0"),
        (lambda: ExactIDBAL([]).start(LOG), "got shape (0,)"),
        (lambda: ExactIDBAL(["a"]).start(LOG), "got shape (1,)"),
        (lambda: ExactIDBAL([[0]]).start(LOG), "0 to 0; got 1.0 at row 1"),
        (lambda: ExactIDBAL([[0, 1]]).start(LOG).ask([[0.5]], 0.5), "0 to 1; got 0.5 at row 0"),
        (lambda: ExactIDBAL([[0, 1]]).start(LoggedData([[0, 1], [1, 1]], [0, 1], q0=1.0)), "got shape (2, 2)"),
        (lambda: ExactIDBAL([lambda X: X]).start(LOG), "H[0] gave shape (1, 1) for 1 rows"),
        (lambda: ExactIDBAL([lambda X: X[:, 0] + 5]).start(LOG), "labels must be 0 or 1; got 5.0"),
        (lambda: ExactIDBAL([[0, 1]], domain=([[0], [1]], [0.5, 0.0])).start(LOG), "domain q0 must be in (0, 1]"),
    ],
)
def test_bad_input_is_named_in_one_line(call, says):
    with pytest.raises(InputError) as error:
        call()
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_refused_ask_changes_nothing():
    method = ExactIDBAL([[0, 1], [1, 1]]).start(LOG, n=3)
    with pytest.raises(InputError):
        method.ask([[7]], 0.5)
    method.ask([[0]], 0.5)
    assert method.tell([0]).history_[-1].n_k == 1


def test_gamma_0_defaults_to_the_derived_constant():
    sample = draw(random_domain(0), 60, 7, 0)
    steps = sample.learn().history_, sample.learn(gamma_0=theory.GAMMA_0).history_
    assert all((a.Delta == b.Delta).all() for a, b in zip(*steps, strict=True))

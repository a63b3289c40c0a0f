import math
from itertools import combinations

import numpy as np
import pytest

from unskew import theory
from unskew.errors import InputError
from unskew.theory import C_0, C_1, GAMMA_0, GAMMA_1, GAMMA_2, Analysis, Domain


def random_domain(seed, points=6, size=6):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(points))
    H = np.unique(rng.integers(2, size=(size, points)), axis=0)
    return Domain(p, rng.choice([0.0, 0.1, 0.9, 1.0], points), rng.choice([0.05, 0.1, 0.4, 0.9, 1.0], points), H)


def subsets(items):
    return (chosen for size in range(1, len(items) + 1) for chosen in combinations(items, size))


@pytest.mark.parametrize("seed", range(5))
def test_errors_and_distances_by_summation(seed):
    X = random_domain(seed)
    for h, row in enumerate(X.H):
        wrong = sum(p * (1 - eta if says else eta) for p, eta, says in zip(X.p, X.eta, row, strict=True))
        assert X.l[h] == pytest.approx(wrong)
        for other, row_2 in enumerate(X.H):
            assert X.rho(h)[other] == pytest.approx(X.p[row != row_2].sum())
    assert X.nu == pytest.approx(X.l.min())
    assert X.ball(X.h_star, 0.0)[X.h_star]


@pytest.mark.parametrize("seed", range(20))
def test_printed_union_over_all_subsets_is_the_whole_region(seed):
    """Definition 2, literally: every single point is a subset, so S(A, alpha) = A."""
    X = random_domain(seed)
    A, alpha = X.dis(np.arange(3)), 1.0 + seed
    union = np.zeros_like(A)
    for chosen in subsets(np.flatnonzero(A)):
        part = np.zeros_like(A)
        part[list(chosen)] = True
        union |= theory.query_region(part, X.Q0, alpha)
    assert union.tolist() == A.tolist() == theory.S(A, X.Q0, alpha).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_adjusted_coefficient_by_enumeration_of_candidate_sets(seed):
    """The union over every V that may occur is the union over single classifiers, and the supremum is at a step."""
    X, alpha = random_domain(seed), 2.0 + seed
    others = [h for h in range(len(X.H)) if h != X.h_star]
    rho = X.rho(X.h_star)
    r0 = 2 * X.nu
    best = plain = 0.0
    for r in [r for r in {r0, *rho.tolist()} if r >= r0 and r > 0]:
        ball = [h for h in others if rho[h] <= r + 1e-12]
        region = np.zeros(len(X.p), dtype=bool)
        for V in subsets(ball):
            region |= theory.query_region(X.dis(np.array([X.h_star, *V])), X.Q0, alpha)
        best = max(best, X.p[region].sum() / r)
        plain = max(plain, X.p[X.dis(X.ball(X.h_star, r))].sum() / r)
    assert X.theta_tilde(r0, alpha) == pytest.approx(best)
    assert X.theta(r0) == pytest.approx(plain)
    assert X.theta_tilde(r0, alpha) <= X.theta(r0) + 1e-12
    assert X.theta_tilde(r0, 1.0) == pytest.approx(X.theta(r0)), "the text's theta(r) = theta~(r, 1)"


def test_adjusted_coefficient_can_be_smaller():
    X = Domain([0.5, 0.5], [0.0, 0.0], [0.1, 0.9], [[0, 0], [1, 1]])
    assert (X.theta(0.2), X.theta_tilde(0.2, alpha=5.0)) == (1.0, 0.5)


def test_naive_query_region_is_not_monotone():
    """Why the definition needs a union at all: a smaller region lets in a point that the larger one leaves out."""
    q0 = np.array([0.1, 0.9])
    assert theory.query_region(np.array([True, True]), q0, 5.0).tolist() == [True, False]
    assert theory.query_region(np.array([False, True]), q0, 5.0).tolist() == [False, True]
    assert not theory.query_region(np.zeros(2, dtype=bool), q0, 5.0).any()


def test_deltas_sum_to_delta():
    assert sum(theory.delta_k(0.1, k) for k in range(100_000)) == pytest.approx(0.1, rel=1e-4)


def test_Delta_is_infinite_on_an_empty_segment():
    assert theory.sigma(10, 0.05, 0, 0, 0.5) == math.inf
    assert theory.Delta(math.inf, np.zeros(2)).tolist() == [np.inf, np.inf]


def test_logarithms_that_the_constants_absorb():
    """Steps (a), (b) and (c) of docs/theory.md, over a grid of |H| >= 2 and delta <= 1."""
    for size in (2, 3, 10, 10**3, 10**9):
        for delta in (1.0, 0.5, 0.1, 1e-6):
            for K in range(1, 40):
                event = theory.delta_k(delta, K - 1) / 2  # E_k is taken at delta_k / 2
                twice = 2 * math.log(size / event)
                assert math.log(2 * size**2 / event) <= twice + 1e-9  # (a) all pairs, two-sided, half the confidence
                assert math.log(8 * size / event) <= twice + 1e-9  # (a) the logarithm as printed
                L, final = math.log(K * size / delta), math.log(2 * size / theory.delta_k(delta, K))
                assert final <= math.log2(24) * L + 1e-9  # (b)
                assert K == 1 or final <= math.log(48) / math.log(4) * L + 1e-9  # (c)


def test_constants():
    assert pytest.approx(2 * (4 / 3 + math.sqrt(20 / 3))) == GAMMA_0
    assert 2 * math.sqrt(2) <= GAMMA_0  # the coefficient of sqrt(A lambda rho_S)
    assert 4 * math.sqrt(2) <= GAMMA_1
    assert 2 * GAMMA_1 + 4 * GAMMA_0 * math.sqrt(8 + GAMMA_1) <= GAMMA_2
    assert [round(c, 2) for c in (GAMMA_0, GAMMA_1)] == [7.83, 9.33]
    assert [round(c) for c in (GAMMA_2, C_0, C_1)] == [720, 128, 8037]


def test_when_the_derived_gamma_0_can_remove_a_classifier():
    """Delta_k is below 1 at rho = 1, the largest difference there is, once m_k xi_k + n_k is above 76 log(H / d)."""
    for size in (2, 30, 10**6):
        for d in (0.05 / 4, 1e-4):
            for factor, below in ((76.0, False), (76.3, True)):
                sigma = theory.sigma(size, d, factor * math.log(size / d), 0, 1.0)
                assert (theory.Delta(sigma, np.ones(1))[0] < 1.0) == below
    assert 76.14 * math.log(30 / (theory.delta_k(0.05, 0) / 2)) == pytest.approx(600, rel=0.02)


@pytest.mark.parametrize("seed", range(20))
def test_variance_of_multiple_importance_sampling(seed):
    """Mistake 4 of docs/theory.md, by exact variances: below eq. (1), but not below a fully labelled stream alone."""
    X, (m, n) = random_domain(seed), (7 + seed, 5)
    for h, row in enumerate(X.H):
        wrong = X.p * np.where(row, 1 - X.eta, X.eta)
        e = wrong.sum()
        g = wrong / (m * X.Q0 + n)
        mis = g.sum() - m * (g @ X.Q0) ** 2 - n * g.sum() ** 2
        standard = ((wrong / X.Q0).sum() * m + e * n) / (m + n) ** 2 - e**2 / (m + n)
        stream = (e - e**2) / n
        assert e == pytest.approx(X.l[h])
        assert mis <= standard + 1e-12
        assert mis <= stream + e**2 * (1 / n - 1 / (m + n)) + 1e-12
    always = Domain([0.5, 0.5], 1.0, [0.1, 0.9], [[0, 0], [1, 1]])  # the first classifier is always wrong
    v = 1 / (m * always.Q0 + n)
    assert (
        0.5 * v.sum() - m * (0.5 * always.Q0 @ v) ** 2 - n * (0.5 * v.sum()) ** 2
        > 1e-4
        > always.l[0] - always.l[0] ** 2
    )


@pytest.mark.parametrize("seed", range(3))
def test_corollary_15_holds_on_samples(seed):
    """The deviation bound that Delta_k is made of, with derived gamma_0, for all pairs at once."""
    X, rng = random_domain(seed), np.random.default_rng(seed)
    m, n, delta, failures, tightest = 60, 20, 0.25, 0, 0.0
    Q1 = (X.Q0 <= 0.4).astype(float)
    v = 1.0 / (m * X.Q0 + n * Q1)
    for _ in range(300):
        x = rng.choice(len(X.p), m + n, p=X.p)
        y = rng.random(m + n) < X.eta[x]
        z = rng.random(m + n) < np.concatenate((X.Q0[x[:m]], Q1[x[m:]]))
        l_S = ((X.H[:, x] != y) * z * v[x]).sum(axis=1)
        for h, g in combinations(range(len(X.H)), 2):
            apart = X.H[h] != X.H[g]
            A = v[apart].max() * math.log(len(X.H) / delta)
            allowed = GAMMA_0 * (A + math.sqrt(A * apart[x].mean()))
            off = abs(l_S[h] - l_S[g] - X.l[h] + X.l[g])
            tightest = max(tightest, off / allowed)
            failures += off > allowed
    assert failures == 0
    assert tightest > 0.02, "the bound is loose, but the two sides are of a kind"


def test_epsilon_as_printed_is_not_monotone_but_the_nested_one_is():
    X = Domain([0.5, 0.5], [0.1, 0.9], 0.5, [[0, 0], [0, 1], [1, 1]])
    run = Analysis(X, m=30_000, n=1023, delta=0.05)
    assert run.epsilon[2] > run.epsilon[1]
    assert list(run.nested_epsilon) == sorted(run.nested_epsilon, reverse=True)
    assert run.nested_epsilon[1] == run.epsilon[1]
    assert run.DIS(0).all()


def test_bounds_by_hand():
    X = Domain([0.5, 0.5], [0.1, 0.9], [0.2, 0.5], [[0, 0], [0, 1], [1, 1]])
    run = Analysis(X, m=21, n=7, delta=0.06)
    assert (run.K, run.alpha, run.m_k(0), run.m_k(3), run.n_k(0), run.n_k(3)) == (3, 2.0, 7.0, 8.0, 0, 4)
    L = math.log(3 * 3 / 0.06)
    s = L / (21 * 0.2 + 7)
    assert run.consistency() == pytest.approx(C_0 * (s + math.sqrt(s * 0.1)))
    assert run.zeta == pytest.approx(1 / 1.4)
    theta = X.theta_tilde(0.2 + run.nested_epsilon[-1], 2.0)
    main = C_1 * theta * (0.7 + run.zeta * 3 * L + 3 * math.sqrt(0.7 * run.zeta * L))
    rest = 2 + 2 * sum(math.log(4 * (k + 1) * (k + 2) / 0.06) for k in range(3))
    assert run.labels() == pytest.approx(main + rest)


@pytest.mark.parametrize("seed", range(20))
def test_remarks_order_of_the_alternatives(seed):
    X = random_domain(seed)
    for m in (10, 1000):
        for epsilon in (0.3, 0.05, 0.01):
            need = theory.requirements(X, m, epsilon, 0.05)
            assert need.ours <= min(need[1:]) + 1e-9
            assert need.dbal_mis <= need.passive_mis + 1e-9 <= need.passive_is + 2e-9


def test_full_logging_makes_the_adjustment_vanish():
    X = random_domain(3)
    full = Domain(X.p, X.eta, 1.0, X.H)
    need = theory.requirements(full, 10, 0.05, 0.05)
    assert need.ours == need.dbal_mis
    assert need[1:3] == pytest.approx((need.past_policy,) * 2)


GOOD = {"p": [0.5, 0.5], "eta": [0.0, 1.0], "Q0": 0.5, "H": [[0, 1], [1, 1]]}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Domain(**{**GOOD, "p": [0.5, 0.4]}), "p must sum to 1; got 0.9"),
        (lambda: Domain(**{**GOOD, "eta": [0.0, 1.5]}), "eta must be in [0, 1]; got 0.0 to 1.5"),
        (lambda: Domain(**{**GOOD, "H": [[0, 2]]}), "matrix of 0 and 1; got shape (1, 2)"),
        (lambda: Domain(**{**GOOD, "Q0": [0.1, 0.2, 0.3]}), "Q0 must have one value per point: 2 points"),
        (lambda: Analysis(Domain(**GOOD), 10, 8, 0.05), "n must be 2^K - 1, as the bounds assume; got 8. Take n = 7."),
        (lambda: Analysis(Domain(**GOOD), 10, 0, 0.05), "got 0. Take n = 1."),
        (lambda: Analysis(Domain(**GOOD), 0, 7, 0.05), "got m = 0, delta = 0.05"),
        (lambda: theory.requirements(Domain(**GOOD), 10, 0.0, 0.05), "got 0.0, 0.05, 10"),
        (lambda: theory.requirements(Domain(**{**GOOD, "Q0": 0.0}), 10, 0.1, 0.05), "Q0 must be positive"),
    ],
)
def test_bad_input_is_named_in_one_line(call, says):
    with pytest.raises(InputError) as error:
        call()
    assert says in str(error.value)
    assert "\n" not in str(error.value)

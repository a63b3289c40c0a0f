"""The paper's lemmas and theorems, on runs of Algorithm 1 on finite domains."""

import math

import numpy as np
import pytest

from finite_domains import EASY, draw
from unskew import theory
from unskew.theory import Analysis, Domain


def kept_rate(gamma_0, delta, m, runs):
    """How often h* is in V_K, and the mean share of H that left."""
    kept, left = [], []
    for seed in range(runs):
        V = draw(EASY, m, 15, seed).learn(gamma_0=gamma_0, delta=delta).history_[-1].V
        kept.append(EASY.h_star in V)
        left.append(1 - len(V) / len(EASY.H))
    return np.mean(kept), np.mean(left)


def test_h_star_is_kept_at_the_promised_rate():
    kept, left = kept_rate(None, delta=0.1, m=6000, runs=1000)
    assert kept >= 0.9
    assert left > 0.05, "sets shrink, so that h* could have been lost"


def test_h_star_is_lost_where_gamma_0_is_far_too_small():
    """What the test above would see if Delta_k were wrong."""
    kept, left = kept_rate(0.01, delta=0.1, m=24, runs=200)
    assert kept < 0.9
    assert left > 0.5


def tails(noise, Q0):
    """Ten points, each half as likely as the one before; classifiers say 1 on a tail of them, the best one nowhere."""
    p = 2.0 ** -np.array([*range(1, 10), 9])
    return Domain(p, noise, Q0, np.arange(10) >= np.arange(11)[:, None])


def test_both_theorems_hold_on_runs():
    """With the constants as derived, on a log so large that neither bound is vacuous."""
    X, n, delta = tails(0.0, 0.5), 255, 0.1
    m = 3 * n * 4000
    bounds = Analysis(X, m, n, delta)
    assert bounds.labels() < n, "Theorem 3 promises fewer labels than there are rows"
    assert bounds.consistency() < np.unique(X.l)[1], "Theorem 1 promises the best classifier itself"
    assert bounds.DIS(bounds.K).sum() < 6, "and Lemma 18 a small region"
    method = draw(X, m, n, 0).learn(delta=delta)
    assert X.l[method.history_[-1].h_hat] - X.nu <= bounds.consistency()
    assert method.labels_ <= bounds.labels()
    for step in method.history_:
        assert not (step.D & ~bounds.DIS(step.k)).any(), "Lemma 18"


class TestSmallConstants:
    """Lemmas 17 and 18 and Theorem 3 where they bite: with the constants that a sample needs in place of the proof's.

    The proofs use chance only to bound deviations (Corollary 15, Theorem 14). With the population known, these
    deviations can be measured on a run. From the smallest constants c_1 and c_2 with which, for all h in V_k, ::

        l(h) - nu      <= 2 (l(h, S_k) - l(h*, S_k)) + c_1 (s + sqrt(s nu)),    s = sigma(k, delta_k / 2)
        rho_S(h, h*)   <= 2 rho(h, h*) + c_2 s

    the rest of the proof (docs/theory.md, gamma_2) is arithmetic. What it concludes must then hold on every run on
    which h* stays in V_k, with a gamma_2 of about 1 to 5 in place of 720.
    """

    DELTA = 0.1

    @classmethod
    def rounds(cls, sample, method):
        """For each round: k, gamma_2 as measured, s, and l(h) - nu of all h in V_{k+1}."""
        X, g, log_seen, seen = sample.domain, method.gamma_0, 0, sample.m
        for step in method.history_:
            x = np.concatenate((sample.x[log_seen : log_seen + step.m_k], sample.x[seen : seen + step.n_k]))
            log_seen, seen, V = log_seen + step.m_k, seen + step.n_k, step.V
            assert X.h_star in V
            s = theory.sigma(len(X.H), theory.delta_k(cls.DELTA, step.k) / 2, step.m_k, step.n_k, step.xi)
            more = step.loss - step.loss[V == X.h_star]
            rho_S = (X.H[V][:, x] != X.H[X.h_star][x]).mean(axis=1)
            c_1 = max(0.0, ((X.l[V] - X.nu - 2 * more) / (s + math.sqrt(s * X.nu))).max())
            c_2 = max(0.0, ((rho_S - 2 * X.rho(X.h_star)[V]) / s).max())
            of_s = 4 * g + 2 * c_1 + 4 * g * math.sqrt(3 * c_1 + 2 * c_2) + 8 * g**2
            of_root = 2 * c_1 + 4 * g * math.sqrt(8 + c_1)
            yield step.k, max(of_s, of_root), s, X.l[step.next_V] - X.nu

    @pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
    @pytest.mark.parametrize("Q0", [0.5, np.tile([0.9, 0.3], 5)], ids=["one-Q0", "two-Q0"])
    @pytest.mark.parametrize("gamma_0", [0.1, 0.3])
    def test_lemmas_17_and_18(self, noise, Q0, gamma_0, monkeypatch):
        X, n = tails(noise, Q0), 255
        m = 3 * n * 2  # alpha = 4
        for seed in range(4):
            sample = draw(X, m, n, seed)
            method = sample.learn(gamma_0=gamma_0, delta=self.DELTA)
            found = list(self.rounds(sample, method))
            for _, gamma_2, s, excess in found:
                assert (excess <= gamma_2 * (s + math.sqrt(s * X.nu)) + 1e-12).all(), "Lemma 17"
            monkeypatch.setattr("unskew.theory.analysis.GAMMA_2", max(gamma_2 for _, gamma_2, _, _ in found))
            bounds = Analysis(X, m, n, self.DELTA)
            for step in method.history_:
                assert not (step.D & ~bounds.DIS(step.k)).any(), "Lemma 18"
            assert not bounds.DIS(1).all() and not bounds.DIS(bounds.K).all(), "DIS_k is not the whole space"

    def test_theorem_3(self, monkeypatch):
        n, bought = 1023, []
        m = 3 * n * 2
        X = tails(0.0, 0.5)
        for seed in range(8):
            sample = draw(X, m, n, seed)
            method = sample.learn(gamma_0=0.1, delta=self.DELTA)
            gamma_2 = max(gamma_2 for _, gamma_2, _, _ in self.rounds(sample, method))
            monkeypatch.setattr("unskew.theory.analysis.GAMMA_2", gamma_2)
            monkeypatch.setattr("unskew.theory.analysis.C_1", theory.C_1 / theory.GAMMA_2 * gamma_2)
            bound = Analysis(X, m, n, self.DELTA).labels()
            assert method.labels_ <= bound < n
            bought.append(method.labels_)
        assert max(bought) > 0, "some labels are bought"

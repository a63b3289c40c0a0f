"""Weighted logistic regression with a Gaussian prior: mode, approximate posterior, evidence."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsyrk
from scipy.special import expit

from unskew.rows import Floats


@dataclass(frozen=True)
class Posterior:
    """The coefficients given the labels: w ~ N(mode, H^-1) with H = F' R F + diag(precision) = L L'.

    `evidence` is Laplace's approximation of the log-probability of the labels under the prior (MacKay 1992).
    Priors are compared by it.
    """

    mode: Floats
    L: Floats
    evidence: float

    def mean(self, F: Floats) -> Floats:
        """The expected margin of every row."""
        mean: Floats = F @ self.mode
        return mean

    def root(self, F: Floats) -> Floats:
        """U with U'U = F H^-1 F', one column per row of F: inner products of columns are covariances of margins."""
        return np.asarray(solve_triangular(self.L, F.T, lower=True, check_finite=False))

    def inverse_root(self) -> Floats:
        """L^-1, to compute U = L^-1 F' for many rows."""
        return np.asarray(solve_triangular(self.L, np.eye(len(self.mode)), lower=True, check_finite=False))

    def deviation(self, F: Floats) -> Floats:
        """The standard deviation of the margin of every row."""
        U = self.root(F)
        s: Floats = np.sqrt(np.einsum("ij,ij->j", U, U))
        return s


def posterior(F: Floats, y: Floats, v: Floats, precision: Floats, start: Floats | None = None) -> Posterior:
    """Newton's method for  sum_i v_i log(1 + exp(-y_i w.f_i)) + 1/2 sum_j precision_j w_j^2.

    The objective is convex, so there is one minimum. Steps are halved until the objective falls.

    >>> F = np.array([[1.0, 2.0], [1.0, -2.0]])
    >>> (posterior(F, np.array([1.0, -1.0]), np.ones(2), np.ones(2)).mode.round(3) + 0.0).tolist()
    [0.0, 0.741]
    """
    w = np.zeros(F.shape[1]) if start is None else start.copy()
    target, G = y > 0.0, np.empty_like(F)

    def objective(w: Floats) -> float:
        return float(v @ np.logaddexp(0.0, -y * (F @ w)) + 0.5 * (precision @ (w * w)))

    value = objective(w)
    for _ in range(50):
        p = expit(F @ w)
        gradient = F.T @ (v * (p - target)) + precision * w
        np.multiply(F, np.sqrt(np.maximum(v * p * (1.0 - p), 1e-12))[:, None], out=G)
        H = dsyrk(1.0, G.T, lower=True)  # G'G, the lower half, which is all that the factor needs
        H.flat[:: len(w) + 1] += precision
        L = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
        step = cho_solve((L, True), gradient, check_finite=False)
        fall, size = float(gradient @ step), 1.0
        while (reached := objective(w - size * step)) > value - 1e-4 * size * fall and size > 1e-4:
            size *= 0.5
        w, gained, value = w - size * step, value - reached, reached
        if gained < 1e-7 * (1.0 + abs(value)):
            break
    evidence = -value + 0.5 * float(np.log(precision).sum()) - float(np.log(np.diag(L)).sum())
    return Posterior(w, L, evidence)


def leave_one_out(F: Floats, y: Floats, v: Floats, found: Posterior) -> tuple[Floats, Floats]:
    """Mean and variance of the margin of every row if the fit had not seen its label (Rad and Maleki 2020).

    ::

        mu_-i = mu_i + h_i v_i (p_i - t_i) / k_i,    h_i = f_i' H^-1 f_i,  t_i = [y_i = +1]
        h_-i = h_i / k_i,                            k_i = 1 - h_i v_i p_i (1 - p_i)

    This is one Newton step from the mode with row i left out, and the variance without it. `found` is the posterior of
    these F, y, v.

    >>> F, y, v = np.array([[1.0], [1.0], [1.0]]), np.array([1.0, 1.0, -1.0]), np.ones(3)
    >>> leave_one_out(F, y, v, posterior(F, y, v, np.ones(1)))[0].round(2)[2].item()     # a refit gives 0.68
    0.67
    """
    mu = found.mean(F)
    p = expit(mu)
    h = found.deviation(F) ** 2
    kept = np.maximum(1.0 - h * v * p * (1.0 - p), 1e-6)
    without: Floats = mu + h * v * (p - (y > 0.0)) / kept
    return without, h / kept

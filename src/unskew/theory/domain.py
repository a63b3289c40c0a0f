"""A population on finitely many points, which the learner never sees, and where the classifiers of H disagree."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from unskew.errors import InputError
from unskew.rows import Bools, Floats, Ints
from unskew.theory.disagreement import finite


def query_region(A: Bools, q0: Floats, alpha: float) -> Bools:
    """The part of a disagreement region A that Algorithm 1 queries: A and Q0(x) <= inf_A Q0 + 1/alpha.

    It is not monotone in A: a smaller region may have a larger infimum, and so contain points that A leaves out.

    >>> query_region(np.array([True, True, True, False]), np.array([0.1, 0.2, 0.9, 0.1]), alpha=2).tolist()
    [True, True, False, False]
    """
    if not A.any():
        return A.copy()
    region: Bools = A & (q0 <= q0[A].min() + 1.0 / alpha)
    return region


def S(A: Bools, q0: Floats, alpha: float) -> Bools:
    """Definition 2 as printed: the union over *all* A' in A of A' and Q0(x) <= inf_A' Q0 + 1/alpha.

    Every single point {x} is such an A' and passes its own test. So S(A, alpha) = A for every alpha and Q0, and
    the adjusted coefficient equals the plain one. `Domain.theta_tilde` instead takes the union over the regions
    that the algorithm can meet.

    >>> S(np.array([True, True, False]), np.array([0.1, 0.9, 0.5]), alpha=10).tolist()
    [True, True, False]
    """
    return A.copy()


@dataclass(frozen=True, eq=False)
class Domain:
    """A population on finitely many points, a logging policy, and a class of classifiers.

    Parameters
    ----------
    p : array of length |X|
        Probabilities of the points; they sum to 1.
    eta : array of length |X|
        Pr(y = 1 | x).
    Q0 : float or array of length |X|
        The logging policy.
    H : array, |H| x |X|
        Predictions, 0 or 1. A copy in double precision should fit in memory.

    Examples
    --------
    Three points, thresholds as the class; h_1 is best:

    >>> X = Domain(p=[0.5, 0.3, 0.2], eta=[0.1, 0.9, 0.9], Q0=[0.1, 0.5, 0.9], H=[[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    >>> X.h_star, round(X.nu, 3), X.rho(X.h_star).tolist(), X.dis(X.ball(X.h_star, 0.3)).tolist()
    (1, 0.1, [0.5, 0.0, 0.3], [False, True, False])
    """

    p: Floats
    eta: Floats
    Q0: Floats
    H: Bools

    def __init__(self, p: ArrayLike, eta: ArrayLike, Q0: ArrayLike, H: ArrayLike) -> None:
        matrix = np.asarray(H)
        if matrix.ndim != 2 or 0 in matrix.shape or not ((matrix == 0) | (matrix == 1)).all():
            raise InputError(f"H must be a |H| x |X| matrix of 0 and 1; got shape {matrix.shape}. Recode predictions.")
        points = (matrix.shape[1],)
        object.__setattr__(self, "H", matrix.astype(bool))
        for name, value in (("p", p), ("eta", eta), ("Q0", Q0)):
            column = np.asarray(value, dtype=np.float64)
            if column.shape not in ((), points):
                raise InputError(
                    f"{name} must have one value per point: {points[0]} points, but shape {column.shape}. Align them."
                )
            column = np.broadcast_to(column, points)
            if not ((column >= 0.0) & (column <= 1.0)).all():
                raise InputError(f"{name} must be in [0, 1]; got {column.min()} to {column.max()}. Pass probabilities.")
            object.__setattr__(self, name, column)
        if not math.isclose(self.p.sum(), 1.0, abs_tol=1e-9):
            raise InputError(f"p must sum to 1; got {self.p.sum()}. Divide by the sum.")

    @cached_property
    def l(self) -> Floats:  # noqa: E743 - the paper's name
        """Error rates Pr(h(X) != Y), one per classifier."""
        errors: Floats = self.p @ self.eta + self.H @ (self.p * (1.0 - 2.0 * self.eta))
        return errors

    @cached_property
    def h_star(self) -> int:
        """The position of the best classifier (the first one, if there are several)."""
        return int(np.argmin(self.l))

    @property
    def nu(self) -> float:
        """The error of the best classifier, nu = l(h*); never below 0 by rounding."""
        return max(float(self.l[self.h_star]), 0.0)

    def rho(self, h: int) -> Floats:
        """Disagreement masses Pr(h(X) != h'(X)), one for each h' in H."""
        masses: Floats = self._apart(h) @ self.p
        return masses

    def ball(self, h: int, r: float) -> Bools:
        """B(h, r): which h' have rho(h, h') <= r (up to rounding)."""
        inside: Bools = self.rho(h) <= r + 1e-12
        return inside

    def dis(self, V: Bools | Ints) -> Bools:
        """DIS(V): the points on which V is not unanimous."""
        return finite(self.H[V])

    def theta(self, r0: float) -> float:
        """The disagreement coefficient, sup_{r > r0} Pr(DIS(B(h*, r))) / r."""
        return self._coefficient(r0, self._apart(self.h_star))

    def theta_tilde(self, r0: float, alpha: float) -> float:
        """The adjusted coefficient, sup_{r > r0} Pr(S_r) / r, where S_r is all that can be queried at radius r.

        ::

            S_r = union over V with h* in V, V in B(h*, r), of query_region(DIS(V), alpha)
                = union over h in B(h*, r) of query_region({h != h*}, alpha)

        (Every x in DIS(V) lies in some {h != h*} with h in V. That set is a subset of DIS(V), so its infimum is no
        smaller.) S_r grows with r, lies within DIS(B(h*, r)), and on the good event contains every query at radius
        r. The proof of Theorem 3 needs no more than that. The printed definition, with the union over all subsets,
        gives `theta`.
        """
        apart, q0 = self._apart(self.h_star), self.Q0
        infimum = np.where(apart, q0, np.inf).min(axis=1)
        return self._coefficient(r0, apart & (q0 <= infimum[:, None] + 1.0 / alpha))

    def _apart(self, h: int) -> Bools:
        """Row h': the points on which h' and h differ."""
        differ: Bools = self.H ^ self.H[h]
        return differ

    def _coefficient(self, r0: float, regions: Bools) -> float:
        """sup_{r > r0} 1/r Pr(union of the regions of the h in B(h*, r)).

        The union is a step function of r: point x joins it at radius(x). The supremum is at a step or at r0.
        """
        radius = np.where(regions, self.rho(self.h_star)[:, None], np.inf).min(axis=0)
        order = np.argsort(radius)
        mass = np.cumsum(self.p[order])
        steps = np.maximum(radius[order], r0)
        counts = np.isfinite(steps) & (steps > 1e-12)  # points at radius 0 have no mass
        return float((mass[counts] / steps[counts]).max(initial=0.0))

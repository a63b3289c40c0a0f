"""Is x in DIS(V)? The linear test of the paper's appendix, and the exact answer for finite classes."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.descent import Descent
from unskew.rows import Bools, Floats, Rows


@dataclass(slots=True)
class LinearTest:
    """x is in DIS(V_{k+1}) when flipping w's answer on x costs less than the deviation allows.

    Flipping the sign of w.x takes an importance weight of about |2 w.x| / (a x.x), so this many
    rows of disagreement; as a share of the sample it must not exceed the bound of Algorithm 1,
    line 8 (appendix, item 4)::

        |2 w.x| / (a(t) x.x) / cnt  <=  sqrt(C V loss) / cnt + C V log(cnt) / cnt

    with `cnt` = m_k + n_k rows behind the model, `loss` the sum of importance weights of the rows
    it gets wrong (cnt times l(h_k, S_k)), and V the largest possible weight. With
    V = (m_k + n_k) / (m_k xi_k + n_k) the right side is the text's
    sqrt(C l / (m_k xi_k + n_k)) + C log(m_k + n_k) / (m_k xi_k + n_k).

    Erratum: the text prints the left side without the division by cnt. Its two sides then have
    different units (a number of rows against a share of them), and the region is smaller than the
    bound calls for by the factor cnt. `printed=True` gives that literal form; the methods, both
    variants, use the corrected one.
    """

    C: float
    V: float
    loss: float
    cnt: float
    printed: bool = False

    def slope(self, a: float) -> float:
        """The s with which x is in the region when |w.x| <= s x.x; `a` is the step size a(t).

        Every row is while cnt <= 3 (protocol.md). After that a row of zeros never is: no linear
        classifier without intercept disagrees with another there.
        """
        if self.cnt <= 3:
            return math.inf
        bound = math.sqrt(self.C * self.V * self.loss) + self.C * self.V * math.log(self.cnt)
        return 0.5 * a * (bound / self.cnt if self.printed else bound)

    def __call__(self, descent: Descent, X: Rows, a: float | None = None) -> tuple[Floats, Bools]:
        """The label w gives each row, and whether it lies in the region; a(t) is the descent's own unless given."""
        return descent.judge(X, self.slope(descent.a if a is None else a))


def finite(predictions: NDArray[np.integer] | Bools) -> Bools:
    """DIS(V) exactly: the columns (points) on which the rows (classifiers) of V are not unanimous.

    >>> finite(np.array([[0, 1, 1], [0, 1, 0]])).tolist()
    [False, False, True]
    """
    P = np.asarray(predictions)
    if P.shape[0] == 0:
        return np.zeros(P.shape[1], dtype=bool)
    unanimous: Bools = (P == P[0]).all(axis=0)
    return ~unanimous

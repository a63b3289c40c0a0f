"""Whether x is in DIS(V): the linear test of the paper's appendix, and the exact answer for finite classes."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew.descent import Descent
from unskew.rows import Bools, Floats, Rows


@dataclass(slots=True)
class LinearTest:
    """x is in DIS(V_{k+1}) if changing the prediction of w on x costs less than the deviation allows.

    The cost is measured by the importance weight v with which a row (x, y) of the other label would flip the sign of
    w.x. As a share of the sample, it must not exceed the bound of Algorithm 1, line 8 (appendix, item 4)::

        |2 w.x| / (a(t) x.x) / cnt  <=  sqrt(C V loss) / cnt + C V log(cnt) / cnt

    One update with step size a takes w.x to y + (w.x - y) exp(-2 v a x.x), as long as |w.x| <= 1. For y of the other
    sign this is 0 at ::

        v = log(1 + |w.x|) / (2 a x.x),    about |w.x| / (2 a x.x) for small |w.x|

    So the left side is four times the weight that flips the sign of a small w.x. It is the appendix's expression,
    and C is tuned with it.

    Here `cnt` = m_k + n_k is the number of rows behind the model, `loss` is the sum of the importance weights of the
    rows that it gets wrong (cnt times l(h_k, S_k)), and V is the largest possible weight. With
    V = (m_k + n_k) / (m_k xi_k + n_k), the right side is the text's
    sqrt(C l / (m_k xi_k + n_k)) + C log(m_k + n_k) / (m_k xi_k + n_k).

    Erratum: the text prints the left side without the division by cnt. The two sides then have different units (a
    number of rows and a share of rows), and the region is too small by a factor of cnt. `printed=True` gives this
    literal form. Both variants of the methods use the corrected one.

    As long as cnt <= `all_up_to`, every row is in the region. The released program has 3 here (protocol.md). The text
    has no such rule, so `variant="paper"` has 0: only before a model has seen any rows is everything in the region.
    """

    C: float
    V: float
    loss: float
    cnt: float
    printed: bool = False
    all_up_to: float = 3.0

    def slope(self, a: float) -> float:
        """The number s such that x is in the region if |w.x| <= s x.x; `a` is the step size a(t).

        It is infinite while cnt <= all_up_to. After that, a row of zeros is never in the region, because linear
        classifiers without an intercept all agree there.
        """
        if self.cnt <= self.all_up_to:
            return math.inf
        bound = math.sqrt(self.C * self.V * self.loss) + self.C * self.V * math.log(self.cnt)
        return 0.5 * a * (bound / self.cnt if self.printed else bound)

    def __call__(self, descent: Descent, X: Rows, a: float | None = None) -> tuple[Floats, Bools]:
        """The label that w gives each row, and whether the row lies in the region. `a` defaults to the descent's."""
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

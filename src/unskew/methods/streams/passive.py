"""Passive: ask for every label, and weight by standard importance sampling."""

from typing import ClassVar

import numpy as np

from unskew.methods.stream import StreamMethod
from unskew.methods.streams.everything import Everything
from unskew.methods.streams.linear_method import LinearMethod, Regime
from unskew.methods.streams.segments import Segments
from unskew.rows import Bools, Floats
from unskew.sampling.weights import importance


class Passive(LinearMethod):
    """Query every online row; combine log and online rows by importance sampling (eq. 1).

    >>> import numpy as np
    >>> from unskew import LoggedData, Passive
    >>> log = LoggedData([[1.0], [-1.0]], y=[1, 0], q0=0.5)
    >>> method = Passive(random_state=0).start(log, n=3)
    >>> method.ask(np.array([[0.5], [0.2], [-0.3]]), q0=0.5).tolist()
    [0, 1, 2]
    >>> method.tell([1, 1, 0]).model_.predict([[0.9]]).tolist()
    [1]
    """

    queries_all = True
    tuned: ClassVar[tuple[str, ...]] = ("eta",)  # C has no effect if every label is asked for

    def regime(self) -> Regime:
        return Segments() if self.variant == "paper" else Everything()

    def at_zero_labels(self) -> StreamMethod:
        """At 0 labels, the curve of every method of the paper shows the model of the whole log, with weights 1/Q0."""
        return WholeLog(eta=self.eta, variant=self.variant, xi0=self.xi0, random_state=self.random_state)

    def weigh(self, q0: Floats, Q: Floats | Bools | float, from_log: int, m: float, n: float) -> Floats:
        v = np.ones(len(q0))  # eq. 1: 1/Q_k online, where Q_k = 1,
        v[:from_log] = importance(q0[:from_log])  # and 1/Q0 in the log
        return v

    def largest_weight(self, m: float, n: float, xi: float) -> float:
        return 1.0 / xi


class WholeLog(Passive):
    """The model of the whole log with weights 1/Q0, whichever the variant; the clock is that of the variant."""

    def regime(self) -> Regime:
        return Everything()

"""The common part of the paper's four methods: a linear model, its descent, and one of two regimes."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from unskew.descent import Descent
from unskew.errors import InputError, unknown
from unskew.methods.rounds import StreamRound
from unskew.methods.stream import StreamMethod
from unskew.models.linear import LinearClassifier
from unskew.rows import Bools, Floats, Ints, Rows, take

VARIANTS = ("released", "paper")

FOLDS = 20
"""Each labelled row is judged by a model that was trained without the twentieth of the rows to which it belongs."""


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """A weight vector with its clock, the passes that led to it, and the rows X, y, v of the last one."""

    descent: Descent
    passes: tuple[tuple[Ints, Floats, Ints], ...] = ()
    trained_on: tuple[Rows, Floats, Floats] | None = None

    def loss(self) -> float:
        """Sum of v over the rows of the last pass that the model gets wrong."""
        assert self.trained_on is not None
        return self.descent.errors(*self.trained_on)


@dataclass(frozen=True, eq=False)
class LinearState:
    """What a linear method has learned. Regimes add the values that they keep between rounds."""

    fit: Fit
    all_inside: bool | None
    """Whether every row tested so far lay in the disagreement region; None before the first test."""


class Tested(NamedTuple):
    """What the present model says of the rows of a batch."""

    y: Floats
    """The label it infers for each."""
    inside: Bools
    """Whether each lies in the disagreement region D_{k+1}."""
    kept: Bools
    """Q_{k+1}: whether the round uses the row at all."""
    plan: Any
    """What `learn` has to remember of the test."""


class Regime(Protocol):
    """Which rows a fit uses, and what is kept between rounds. A regime has no state; it uses the method's `state_`."""

    anytime: bool
    first_batch: int

    def warm_start(self, method: "LinearMethod") -> LinearState: ...
    def test(self, method: "LinearMethod", X: Rows, q0: Floats) -> Tested: ...
    def learn(self, method: "LinearMethod", batch: StreamRound) -> LinearState: ...


class LinearMethod(StreamMethod):
    """A method of the paper: how rows are weighted, which rows are queried, and a regime that trains.

    `variant="paper"` is Algorithm 1 with the approximations of the appendix: segments of 1, 2, 4, ... rows, each used
    once, with a clock t that counts rows. docs/howto/choose-variant.md lists where it leaves the text.
    `variant="released"` is what the authors' program does (protocol.md).

    Parameters
    ----------
    C : float
        Model capacity: how wide the disagreement region is. At least 0.
    eta : float
        Learning rate: the step size is sqrt(eta / (eta + t)). Above 0.
    variant : "released" or "paper"
    xi0 : float, optional
        The least propensity anywhere, xi_0 = inf Q0(x). If left out, the least propensity in the log.
    random_state : int, Generator or None
        Seeds the order in which a training pass visits its rows.
    """

    parameters = ("C", "eta", "variant", "xi0")
    tuned: ClassVar[tuple[str, ...]] = ("C", "eta")

    queries_all: ClassVar[bool] = False
    """Whether every label is asked for, wherever the row lies."""
    debiases: ClassVar[bool] = False
    """Whether stream rows that the log covers well are left out: Q_k(x) = 1{Q0(x) <= xi_k + 1/alpha}."""

    state_: LinearState

    def __init__(
        self,
        C: float = 0.64,
        eta: float = 0.0256,
        *,
        variant: str = "released",
        xi0: float | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(random_state=random_state)
        if not C >= 0.0:
            raise InputError(f"C must be at least 0; got {C}. The released grid is 0.01 * 4^k, k = 0..8.")
        if not eta > 0.0:
            raise InputError(f"eta must be above 0; got {eta}. The released grid is 0.0001 * 4^k, k = 0..8.")
        if xi0 is not None and not 0.0 < xi0 <= 1.0:
            raise InputError(f"xi0 must be in (0, 1]; got {xi0}. Leave it out to take it from the log.")
        if variant not in VARIANTS:
            raise unknown("variant", variant, VARIANTS)
        self.C, self.eta, self.variant, self.xi0 = C, eta, variant, xi0
        self._regime = self.regime()
        self.anytime = self._regime.anytime
        self.first_batch = self._regime.first_batch

    @abstractmethod
    def weigh(self, q0: Floats, Q: Floats | Bools | float, from_log: int, m: float, n: float) -> Floats:
        """Importance weights of rows: the first `from_log` belong to the log's m rows, the rest to n online rows."""

    @abstractmethod
    def largest_weight(self, m: float, n: float, xi: float) -> float:
        """V, the largest weight that `weigh` can give where Q0(x) >= xi."""

    @abstractmethod
    def regime(self) -> Regime:
        """The regime of the variant."""

    def warm_start(self) -> LinearState:
        self.xi0_ = float(self.log_.q0.min()) if self.xi0 is None else self.xi0
        return self._regime.warm_start(self)

    def choose(self, X: Rows, q0: Floats) -> StreamRound:
        y, inside, kept, plan = self._regime.test(self, X, q0)  # lines 8, 9 and 12
        queried = kept if self.queries_all else inside & kept  # line 14
        return StreamRound(X, q0, y, queried, kept, queried.astype(np.float64), plan)

    def learn(self, batch: StreamRound) -> LinearState:
        return self._regime.learn(self, batch)

    def from_zero(self) -> Fit:
        """Nothing learned: w = 0, t = 0."""
        clock = "weight" if self.variant == "released" else "rows"
        return Fit(Descent(self.log_.n_features, self.eta, clock=clock))

    def trained(self, fit: Fit, X: Rows, y: Floats, v: Floats, at: Ints) -> Fit:
        """One pass over the rows in random order, starting from the fit's w and clock.

        `at` holds their positions among all rows so far, the log's revealed rows first.
        """
        order = self._rng.permutation(len(y))
        descent = fit.descent.copy()
        descent.run(X, y, v, order)
        return Fit(descent, (*fit.passes, (at, v, order)), (X, y, v))

    def held_out(self, X: Rows, y: Floats) -> Floats:
        """Margins after the same passes in the same order, leaving out one row in twenty at a time.

        A different order would give a different model, and it is this model that is to be judged.
        """
        fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
        passes = [(take(X, at), y[at], v, order, fold[at]) for at, v, order in self.state_.fit.passes]
        margin = np.empty(len(y))
        for f in np.unique(fold):
            descent = self.from_zero().descent
            for rows, labels, v, order, of_row in passes:
                descent.run(rows, labels, np.where(of_row == f, 0.0, v), order)
            margin[fold == f] = descent.look(take(X, fold == f))[0]
        return margin

    @property
    def descent_(self) -> Descent:
        """The current w and clock."""
        return self.state_.fit.descent

    @property
    def tested_before(self) -> bool | None:
        """Whether every row tested since this object was made was in the region, including earlier starts."""
        return self.state_.all_inside if hasattr(self, "state_") else None

    @property
    def saturated(self) -> bool:
        """Whether every tested row was inside: the region grows with C, so a larger C would have changed nothing."""
        return self.tested_before is True

    def infer(self, X: Rows) -> Floats:
        return self.descent_.judge(X, 0.0)[0]

    @property
    def model_(self) -> Any:
        """The current model as a scikit-learn classifier."""
        return LinearClassifier.from_descent(self.descent_, self.log_.classes)


def still_inside(before: bool | None, inside: Bools) -> bool:
    """Whether these rows and all rows tested before lie in the region."""
    return before is not False and bool(inside.all())

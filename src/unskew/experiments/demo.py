"""The story of `unskew demo`: a naive model of a bank's log, and four methods that buy labels to mend it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.experiments.curves import METHODS, Point, averaged
from unskew.experiments.loans import LEAST, Loans, applicants
from unskew.experiments.metrics import area_to_budget
from unskew.experiments.simulation import Simulation, curve
from unskew.rows import Bools, Floats

APPLICANTS, TRAIN, LOGGED = 6000, 4800, 2400  # the rest is the test set
GRID = tuple(product((0.04, 0.16, 0.64, 2.56, 10.24), (0.0064, 0.0256, 0.1024)))
"""(C, eta) to choose from, the middle of the released grid."""
TUNING_BANKS = 20


@dataclass(frozen=True)
class Bank:
    """One draw of applicants: what the log shows, the stream and the test set."""

    loans: Loans
    simulation: Simulation

    @property
    def revealed(self) -> Bools:
        return self.simulation.log.z


@dataclass(frozen=True)
class Errors:
    """Error rates of one model, averaged over banks: on its own data, on everyone, by profile."""

    own: float
    everyone: float
    granted_like: float
    denied_like: float


@dataclass(frozen=True)
class Story:
    """All that `unskew demo` tells. Errors and curves are means over the banks shown."""

    bank: Bank
    budget: int
    banks: int
    naive: Errors
    all_labels: Errors
    parameters: dict[str, tuple[float, float]]
    curves: dict[str, list[Point]]

    def at(self, method: str, labels: int) -> tuple[float, float]:
        """Mean test error after so many labels, and its standard error; the last one if it never bought as many."""
        points = sorted(self.curves[method], key=lambda point: point.labels)
        x = [point.labels for point in points]
        error, se = ([point[name] for point in points] for name in ("error", "error_se"))
        return float(np.interp(labels, x, error)), float(np.interp(labels, x, se))


def tell(
    *, seed: int = 0, budget: int = 300, banks: int = 40, progress: Callable[[int, int], None] | None = None
) -> Story:
    """Run the whole story.

    C and eta of each method are those with the least mean error up to the budget on twenty banks of
    their own; what is shown comes from `banks` others.
    """
    if banks < 2:
        raise InputError(f"banks must be at least 2 for a standard error; got {banks}. The story shows 40.")
    if budget < 10:
        raise InputError(f"budget must be at least 10 labels, the first batch; got {budget}. The story uses 300.")
    if seed < 0:
        raise InputError(f"seed must be at least 0; got {seed}. Pass any whole number from 0 on.")
    drawn = [draw_bank((seed, k)) for k in range(TUNING_BANKS + banks)]
    tuning, shown = drawn[:TUNING_BANKS], drawn[TUNING_BANKS:]
    parameters, curves = {}, {}
    total = len(METHODS) * (len(GRID) + 1)
    for i, name in enumerate(METHODS):
        scores = {}
        for j, (C, eta) in enumerate(GRID):
            scores[C, eta] = _area(_mean_curve(name, C, eta, tuning, budget), budget)
            if progress is not None:
                progress(i * (len(GRID) + 1) + j + 1, total)
        parameters[name] = min(scores, key=scores.__getitem__)
        curves[name] = _mean_curve(name, *parameters[name], shown, budget)
    naive = _mean_errors([(bank, bank.simulation.log.revealed_X, bank.simulation.log.revealed_y) for bank in shown])
    complete = _mean_errors([(bank, bank.loans.X[:TRAIN], bank.loans.y[:TRAIN]) for bank in shown])
    return Story(shown[0], budget, banks, naive, complete, parameters, curves)


def draw_bank(seed: Sequence[int]) -> Bank:
    """Draw applicants; the first 2400 are the log, the next 2400 the stream, the last 1200 the test set."""
    loans = applicants(APPLICANTS, seed)
    z = np.random.default_rng([*seed, 1]).random(LOGGED) < loans.q0[:LOGGED]
    log = LoggedData(loans.X[:LOGGED], loans.y[:LOGGED], z, loans.q0[:LOGGED], classes=(-1.0, 1.0))
    later, test = slice(LOGGED, TRAIN), slice(TRAIN, None)
    simulation = Simulation(log, loans.X[later], loans.y[later], loans.q0[later], loans.X[test], loans.y[test])
    return Bank(loans, simulation)


def _mean_curve(name: str, C: float, eta: float, banks: Sequence[Bank], budget: int) -> list[Point]:
    method = METHODS[name]
    return averaged(
        [curve(method(C, eta, xi0=LEAST, random_state=k), bank.simulation, budget) for k, bank in enumerate(banks)]
    )


def _area(points: Sequence[Point], budget: int) -> float:
    return area_to_budget(np.array([p.labels for p in points]), np.array([p.error for p in points]), budget)


def _mean_errors(fits: Sequence[tuple[Bank, Floats, Floats]]) -> Errors:
    """The errors of plain logistic regressions, each fitted to the rows given without weights."""
    rows = []
    for bank, X, y in fits:
        model = LogisticRegression(C=100.0, fit_intercept=False).fit(X, y)
        wrong = model.predict(bank.simulation.test_X) != bank.simulation.test_y
        liked = bank.loans.granted_like[TRAIN:]
        rows.append((np.mean(model.predict(X) != y), wrong.mean(), wrong[liked].mean(), wrong[~liked].mean()))
    return Errors(*map(float, np.mean(rows, axis=0)))

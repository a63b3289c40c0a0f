"""The one loop of rounds: start, then ask and tell in turn. A method's knowledge is one value; rounds replace it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from html import escape
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.costs import EQUAL, Costs
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.kept import nearly_all
from unskew.labels import as_column, codes, column_values, missing, positions
from unskew.models.belief import Belief
from unskew.models.classifiers import margins
from unskew.models.scores import scale
from unskew.rows import Bools, Floats, Ints, Rows, is_frame
from unskew.sampling.propensity import estimate

SURE = 10**6
"""Another classifier is taken to have learned this number of labels: its probabilities are taken at their word."""


class Observed(NamedTuple):
    """All rows so far: the sampling design, features in `parts`, and the labelled rows in the order of learning."""

    design: Design
    parts: list[Rows]
    labelled: Ints
    X: Rows
    y: Floats


class Method(ABC):
    """A method learns from a log and from the labels it buys. This is the loop that streams and pools share.

    Write a method as a subclass of `StreamMethod` or `PoolMethod`. It supplies `warm_start`, `learn`, `model_` and the
    choice of rows; it knows nothing about oracles, files, databases or plots.

    `state_` holds everything the method has learned: one value that is never changed in place. `warm_start` returns the
    first value, `learn` the next. So a round that fails to train leaves everything as it was, and copies of a method
    share nothing that changes.

    Parameters
    ----------
    random_state : int, Generator or None
        Seeds everything that is random in the method.
    """

    works_on: ClassVar[str]
    """``"stream"`` or ``"pool"``."""

    parameters: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that experiments set: among C, eta, variant and xi0."""

    tuned: ClassVar[tuple[str, ...]] = ()
    """Those of `parameters` that experiments choose on tuning repeats."""

    many_classes: ClassVar[bool] = False
    """Whether the method takes more than two classes."""

    costs: Costs = EQUAL
    """What wrong decisions cost. Unless both errors cost the same, only methods on a pool make use of it."""

    recall: float | None = None
    """The wanted recall. If there is one, methods on a pool work out `costs` anew after each fit."""

    log_: LoggedData
    state_: Any
    labels_: int
    """The number of labels bought so far."""
    _pending: Any
    _rng: np.random.Generator
    rounds_: list[Any]
    """All closed rounds, in order: the rows asked for, with what probability, and their answers."""

    def __init__(self, *, random_state: int | np.random.Generator | None = None) -> None:
        self.random_state = random_state

    @abstractmethod
    def warm_start(self) -> Any:
        """The first state, learned from `self.log_` alone."""

    @abstractmethod
    def learn(self, batch: Any) -> Any:
        """The next state, from `self.state_` and an answered round, which is also the last of `self.rounds_`."""

    def decide(self) -> None:
        """After each fit, let the threshold follow the model if a recall is wanted."""
        if self.recall is not None:
            self.costs = self.everyone().costs_for(self.recall)

    @property
    @abstractmethod
    def model_(self) -> Any:
        """The current model, a fitted scikit-learn classifier that later rounds do not change."""

    @abstractmethod
    def observed(self, *, whole: bool = False) -> Observed:
        """The rows of log, stream and pool, and their labels so far.

        Of a large pool, a sample stands for the others, unless the `whole` pool is asked for.
        """

    @property
    def saturated(self) -> bool:
        """Whether a larger C would have changed nothing, so that experiments need not try larger values."""
        return False

    # What the current model predicts

    def infer(self, X: Rows) -> Floats:
        """The labels that the current model predicts for rows, +1.0 or -1.0."""
        return codes(self.model_.predict(X), self.log_.classes)

    def score(self, X: Rows) -> Floats:
        """The current model's margins: positive where it predicts the positive class."""
        return margins(self.model_, X, self.log_.classes[1])

    def log_odds(self, X: Rows) -> Floats:
        """The log-odds of the positive class by the current model; its margins, where it knows no better."""
        return self.score(X)

    @property
    def believes(self) -> bool:
        """Whether the method has a `belief`, which is about the margin between two classes."""
        return type(self).belief is not Method.belief and self.log_.K == 2

    def belief(self, X: Rows) -> Belief:
        """The current model's margins and how sure it is of them; only for models that have an uncertainty."""
        raise InputError(
            f"this needs a model that knows how sure it is; the model of {type(self).__name__} does not. Use Unskew."
        )

    def wanted(self, X: Rows, k: int) -> Ints:
        """Positions in X of the k rows from whose labels the model would learn most; only for models that can tell."""
        raise InputError(f"{type(self).__name__} cannot rank rows by how much their labels would teach. Use Unskew.")

    def held_out(self, X: Rows, y: Floats) -> Floats:
        """Log-odds of all labelled rows, the log's first, each from a model fitted the same way without that label."""
        raise InputError(
            f"a population error needs margins computed without the row's own label; {type(self).__name__} has none. "
            "Give it a method held_out(X, y), or use Unskew."
        )

    def predict(self, X: ArrayLike | Any) -> NDArray[Any]:
        """The current model's classes for new rows: an array, sparse rows, or a frame with the log's columns."""
        self._check_started("predict")
        return np.asarray(self.model_.predict(self.log_.rows_like(X)))

    def everyone(self, *, whole: bool = False) -> Everyone:
        """Every row so far with a margin computed without the row's own label; `error` is based on these.

        In a large pool, a sample of the rows is scored and stands for the others, unless the `whole` pool is asked for.
        """
        self._check_started("error")
        seen = self.observed(whole=whole)
        held_out, margin = self.held_out(seen.X, seen.y), self.scores(seen)
        judged = Everyone.judged(seen.design, margin, seen.labelled, seen.y, held_out, costs=self.costs)
        return judged.trusting(self.log_)

    def scores(self, seen: Observed) -> Floats:
        """The current model's log-odds for all rows, one part after the other."""
        return np.concatenate([self.log_odds(part) for part in seen.parts])

    def error(
        self,
        measure: str = "error",
        *,
        level: float = 0.95,
        threshold: float | None = None,
        where: ArrayLike | None = None,
        against: Any = None,
        of: Any = None,
    ) -> PopulationEstimate:
        """The current model's error on the whole population, or another measure, with an interval.

        Rows of a pool are weighted by the design of the rounds that asked for them. Rows of a stream are weighted by
        one over the probability with which each was asked for, which must be above 0. The log counts beside them only
        as far as it can be trusted. Labelled rows are judged by what the model would say without their own label
        (`held_out`).

        Parameters
        ----------
        measure, level, threshold, where
            As in `unskew.estimation.everyone.Everyone.estimate`.
        against : fitted classifier, optional
            The estimate is then how much larger the measure is for the current model than for this one. It must not
            have seen the labels that were bought or drawn since; otherwise it looks better than it is.
        of : class, optional
            The class that is measured against all others. Of two classes, the positive one if left out.

        Examples
        --------
        >>> from unskew import LoggedData, Unskew
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (900, 2)); y = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(900) < 0.1)
        >>> q0 = np.where(X[:, 0] > 0, 0.9, 0.1)
        >>> log = LoggedData(X[:300], y[:300], rng.random(300) < q0[:300], q0[:300])
        >>> method = Unskew(random_state=0).start(log, X[300:], q0[300:])
        >>> asked = method.ask(60)
        >>> print(method.tell(y[300:][asked]).error())
        error 0..., 95 % interval 0... to 0... (235 labels worth ... drawn evenly; rests on ...; q0 given; ...)
        """
        self._check_started("error")
        other, classes, K = None, self.log_.classes, self.log_.K
        if against is not None:
            parts = self.observed(whole=True).parts
            other = np.concatenate([scale(K).by(against, part, classes, SURE) for part in parts])
        whole = where is not None or against is not None  # a row must be judged as itself
        at = None if of is None else int(positions(codes([of], classes), K)[0])
        everyone = self.everyone(whole=whole)
        return everyone.estimate(measure, of=at, level=level, threshold=threshold, where=where, against=other)

    # Turns: start, then ask and tell

    @property
    def pending(self) -> Any:
        """The open round, which was asked and is not answered yet; None if there is none."""
        return getattr(self, "_pending", None)

    def adopt(self, batch: Any) -> Self:
        """Learn from a round that was asked and answered elsewhere and already holds its labels.

        This is how a campaign continues from its ledger, in another process or on another machine.
        """
        self._check_started("adopt")
        self._close(batch)
        return self

    def reseed(self, random_state: Any) -> None:
        """Seed the random draws of later rounds: after `adopt`, each round needs randomness of its own."""
        self._rng = np.random.default_rng(random_state)

    def report(self) -> str:
        """One line that says what was done and where the propensities came from.

        >>> from unskew import LoggedData, Passive
        >>> log = LoggedData([[-1.0], [1.0], [2.0]], [0, 1, None], q0=[0.5, 0.5, 0.2], q0_estimated=True)
        >>> Passive(random_state=0).start(log).report()
        'Passive: 0 labels bought in 0 rounds, after a log of 3 rows with 2 labels; q0 estimated from the log'
        """
        self._check_started("report")
        return (
            f"{type(self).__name__}: {self.labels_} labels bought in {len(self.rounds_)} rounds, after a log of "
            f"{self.log_.rows} rows with {self.log_.labelled} labels; q0 {self._origin()}"
        )

    def _repr_html_(self) -> str:
        facts = {"method": type(self).__name__, "works on": f"a {self.works_on}"}
        if hasattr(self, "log_"):
            facts |= {
                "log": f"{self.log_.rows} rows, {self.log_.labelled} labels",
                "propensities": self._origin(),
                "labels bought": f"{self.labels_} in {len(self.rounds_)} rounds",
                "open round": "none" if self.pending is None else "waiting for labels",
            }
        else:
            facts["state"] = "not started"
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in facts.items()
        )
        return f"<table>{rows}</table>"

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if hasattr(self, "_rng"):
            twin._rng = deepcopy(self._rng)  # otherwise each would change the other's draws
        return twin

    def _begin(self, log: LoggedData, **facts: Any) -> None:
        """Start again from a log; if the warm start fails, everything stays as it was."""
        self._check_classes(log)
        with self._all_or_nothing():
            self.__dict__.update(facts)
            self.log_, self.labels_, self.rounds_, self._pending = log, 0, [], None
            self._rng = np.random.default_rng(self.random_state)
            self.state_ = self.warm_start()
            self.decide()

    def _check_classes(self, log: LoggedData) -> None:
        """Refuse more than two classes where they mean nothing."""
        if log.K == 2:
            return
        has = f"the log has {log.K} classes"
        if not self.many_classes:
            raise InputError(f"{type(self).__name__} takes two classes; {has}. Use Unskew, or merge classes.")
        if self.recall is not None or not self.costs.equal:
            what = "costs" if self.recall is None else "a recall"
            raise InputError(f"{what} can be given for two classes; {has}. Leave them out, or merge classes.")

    def _close(self, batch: Any) -> None:
        """Learn from an answered round; if that fails, everything stays as it was, and the round stays open."""
        with self._all_or_nothing():
            self.labels_ += batch.labels
            self.rounds_ = [*self.rounds_, batch]
            self._pending = None
            self.state_ = self.learn(batch)
            self.decide()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo what the block did if it fails: attributes are replaced as a whole, only generators change in place."""
        before, used = self.__dict__.copy(), {getattr(self, "_rng", None), self.random_state}
        moved = [(rng, rng.bit_generator.state) for rng in used if isinstance(rng, np.random.Generator)]
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            for rng, state in moved:
                rng.bit_generator.state = state
            raise

    def _answers(self, labels: Any, positions: Ints) -> tuple[NDArray[Any], Bools]:
        """Labels for the rows that were asked for, in their order, and which of them are missing."""
        if isinstance(labels, Mapping):
            wanted = dict.fromkeys(positions.tolist())
            for position in labels:
                if position not in wanted:
                    raise InputError(f"row {position!r} was not asked for. Answer the rows that ask returned.")
            for position in wanted:
                if position not in labels:
                    raise InputError(f"row {position} was asked for and has no label. Pass None to skip it.")
            labels = [labels[position] for position in wanted]
        values = column_values(labels) if hasattr(labels, "to_numpy") else labels
        if np.shape(values) != positions.shape:
            raise InputError(
                f"tell needs one label for each of the {len(positions)} rows asked; got shape {np.shape(values)}. "
                "Keep the order in which ask returned them."
            )
        column = as_column(values, "labels", len(positions))
        return column, missing(column)

    def _open_round(self) -> Any:
        if self.pending is None:
            raise InputError("tell was called without an open round. Call ask first.")
        return self.pending

    def _check_turn(self) -> None:
        self._check_started("ask")
        if self.pending is not None:
            raise InputError("ask was called twice without tell. Answer the open round with tell(labels) first.")

    def _check_started(self, what: str) -> None:
        if not hasattr(self, "log_"):
            raise InputError(f"{what} was called before start. Call start first.")

    def _origin(self) -> str:
        return "estimated from the log" if self.log_.q0_estimated else "given"


def as_log(
    log: Any, label: str | None, propensity: str | float | None, classes: Sequence[Any] | None = None
) -> LoggedData:
    """The log as `LoggedData`: passed on if it is that already, or read from a frame by the names of its columns.

    If no propensities are given for a frame, they are estimated from it (`unskew.sampling.propensity`). If (nearly)
    every row has a label, the frame alone does not tell them, and they are 1: see `unskew.sampling.density_ratio`.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"income": [1.0, 2.0, 3.0], "paid": [1, None, 0], "q0": [0.9, 0.2, 0.5]})
    >>> as_log(frame, "paid", "q0").m
    3
    """
    if isinstance(log, LoggedData):
        if label is not None or propensity is not None or classes is not None:
            raise InputError("label=, propensity= and classes= describe a frame; got LoggedData. Leave them out.")
        return log
    if not is_frame(log):
        remedy = "Call .collect() on it." if hasattr(log, "collect") else "Make one with LoggedData(X, y, q0=...)."
        raise InputError(f"the log must be LoggedData or a frame; got {type(log).__name__}. {remedy}")
    if label is None:
        raise InputError("a frame needs the name of its label column. Pass label=.")
    if propensity is not None:
        return LoggedData.from_frame(log, label=label, propensity=propensity, classes=classes)
    bare = LoggedData.from_frame(log, label=label, propensity=1.0, classes=classes)
    y = column_values(log[label])
    q0 = 1.0 if nearly_all(bare.labelled, bare.m) else estimate(bare.X, bare.z, random_state=0).q0
    return LoggedData(bare.X, y, bare.z, q0, classes=bare.classes, q0_estimated=True, features=bare.features)

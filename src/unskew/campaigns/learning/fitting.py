"""The model of a campaign, a pure function of its settings, its log and the answers so far; and the next rows to ask.

What takes long is cached for each user (`learning.cache`). It can be deleted at any time: it is made again, the same.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
import sklearn
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

import unskew
from unskew.campaigns.folder import Folder
from unskew.campaigns.learning.cache import Cache
from unskew.campaigns.learning.consent import check_agreed
from unskew.campaigns.learning.prepared import Prepared
from unskew.campaigns.ledger.events import PlannedRow
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row, RowStatus, Snapshot
from unskew.campaigns.tables.encoding import features, from_plain, to_plain
from unskew.data import signs
from unskew.errors import EmptyMeasure, NoRandomLabel
from unskew.estimation.costs import Costs
from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.methods.learner import Learner, Member
from unskew.methods.loop import Method
from unskew.methods.pool import PoolMethod
from unskew.methods.prospect import Prospect
from unskew.methods.registry import POOL_METHODS, method_named, source_digest
from unskew.methods.rounds import DRAWN, PoolRound
from unskew.methods.stopping import prospect
from unskew.models.bayes import BayesianLogistic
from unskew.models.team import Team
from unskew.pools.scanning import Progress
from unskew.rows import Floats, Rows
from unskew.sampling.draws import stand_for


@dataclass(frozen=True)
class Plan:
    """A round to be: its rows as the ledger keeps them, what they were drawn from, and the model that chose."""

    rows: list[PlannedRow]
    rest: int
    spread: float
    model: str


class Fitted(NamedTuple):
    """A method after some answers, and the name of the model they lead to."""

    name: str
    method: PoolMethod


class Fitting:
    """What is fitted and picked from a campaign's files. Safe to use from several threads."""

    def __init__(self, folder: Folder, settings: Settings, progress: Progress | None = None) -> None:
        self.settings = settings
        check_agreed(settings.method)
        self._kind = cast(type[PoolMethod], method_named(settings.method, POOL_METHODS))
        self._cache = Cache(self.digest([]))
        self._prepared = Prepared(folder, settings, self._cache, progress)
        self._lock = threading.RLock()
        self._last: Fitted | None = None
        self._judged: tuple[str, Everyone] | None = None

    @property
    def log_frame(self) -> pl.DataFrame:
        """The log as it was read."""
        return self._prepared.log_frame

    @property
    def pool_frame(self) -> pl.DataFrame:
        """The whole pool as it was read."""
        return self._prepared.pool_frame

    @property
    def pool_sample(self) -> pl.DataFrame:
        """The pool as it was read, or if it is in files that are never read whole, an even sample of it."""
        return self._prepared.sample.frame if self.sampled else self.pool_frame

    @property
    def pool_files(self) -> int | None:
        """The number of files of a pool that stayed where it is."""
        return None if self._prepared.files is None else len(self._prepared.files)

    def check_hashes(self, progress: Progress | None = None) -> int:
        """Refuse a file of the pool whose bytes are not those the campaign began with. Returns the number of files."""
        return self._prepared.check_hashes(progress)

    @property
    def sampled(self) -> bool:
        """Whether the pool is in files that are never read whole."""
        return self._prepared.sampled

    def digest(self, answered: Sequence[Row]) -> str:
        """A name for the model these answers lead to: it is the same wherever it is fitted."""
        known = {
            "version": [unskew.__version__, sklearn.__version__, np.__version__],
            "settings": self.settings.as_record(),
            "source": source_digest(self._kind),
            "answers": [(row.planned.as_record(), row.label) for row in answered],
        }
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def fitted(self, answered: Sequence[Row]) -> Fitted:
        """The method after these answers, from memory, from the cache, or fitted now."""
        name = self.digest(answered)
        with self._lock:
            if self._last is None or self._last.name != name:
                method = self._cache.method(f"model-{name}", lambda: self._adopted(answered))
                method.pool_ = self._prepared.pool
                self._last = Fitted(name, method)
            return self._last

    def method(self, answered: Sequence[Row]) -> PoolMethod:
        """The method after these answers."""
        return self.fitted(answered).method

    @cached_property
    def _started(self) -> PoolMethod:
        """The method after the log alone, with which every fit begins."""

        def start() -> PoolMethod:
            method = self._kind(random_state=self.settings.seed)
            aim = self.settings.aim
            method.drawn, method.costs, method.recall = self.settings.drawn, aim.costs, aim.recall
            method.look = self.settings.look
            with threadpool_limits(1):  # sums in one order, whatever the number of cores
                method.start_checked(self._prepared.log, self._prepared.pool, self._prepared.pool_rule)
            return method

        found = self._cache.method("start", start)
        found.pool_ = self._prepared.pool  # if a recall is wanted, each fit looks at the pool
        return found

    def _adopted(self, answered: Sequence[Row]) -> PoolMethod:
        """The started method with all answers learned as one round."""
        with threadpool_limits(1):
            return copy(self._started).adopt(self._round(answered))

    def _round(self, answered: Sequence[Row]) -> PoolRound:
        X = self._prepared.of_values([row.values for row in answered])
        places = np.array([row.place for row in answered], dtype=np.int64)
        labels = np.array([row.label for row in answered], dtype=object)
        q0 = self._started.q0_at(places, X)
        for i, row in enumerate(answered):
            if row.planned.propensity is not None:
                q0[i] = row.planned.propensity
        return PoolRound(
            positions=places,
            X=X,
            q0=q0,
            p=np.array([row.probability for row in answered], dtype=np.float64),
            drawn=np.array([row.reason == DRAWN for row in answered], dtype=bool),
            rest=0,
            spread=0.0,
            y=signs(labels, self._prepared.log.classes),
        )

    def plan(self, answered: Sequence[Row], asked: Sequence[int], round: int, k: int) -> Plan:
        """The next round: k rows of those not asked for yet, or all there are."""
        self._prepared.check_files()  # each time: a label for another pool would be lost
        name, fitted = self.fitted(answered)
        method = copy(fitted)
        method.reseed([self.settings.seed, round])  # a round has its own randomness, whatever came before
        left = len(method.pool_) - len(asked)
        with threadpool_limits(1):
            batch = method.pick(np.array(asked, dtype=np.int64), min(k, left))
        return Plan(self._planned(batch), batch.rest, batch.spread, name)

    def _planned(self, batch: PoolRound) -> list[PlannedRow]:
        """The rows of a round as the ledger keeps them."""
        frame, settings = self._prepared.rows_at(batch.positions), self.settings
        ids = [f"row-{place + 1}" for place in batch.positions]
        if settings.id is not None:
            ids = frame[settings.id].cast(pl.String).to_list()
        q0: list[float | None] = [None] * len(ids)
        if settings.propensity is not None and settings.propensity in frame.columns:
            q0 = frame[settings.propensity].cast(pl.Float64).to_list()
        values = to_plain(frame.select(list(settings.types)))
        places, chances = batch.positions.tolist(), batch.p.tolist()
        return [
            PlannedRow(id, place, "drawn" if drawn else "chosen", p, shown, own)
            for id, place, drawn, p, shown, own in zip(ids, places, batch.drawn, chances, values, q0, strict=True)
        ]

    def pipeline(self, answered: Sequence[Row]) -> Pipeline:
        """Columns in, classes out: the encoder and the model as one fitted scikit-learn object."""
        return Pipeline([("features", self._prepared.encoder), ("model", self.method(answered).model_)])

    def estimates(self, asked: Snapshot) -> tuple[PopulationEstimate | None, tuple[PopulationEstimate, ...]]:
        """The error of the model after these answers, and the other measures that the campaign follows.

        There are none where nothing was revealed in the log and no drawn row was answered.
        """
        everyone, others = self.everyone(asked), []
        try:
            with threadpool_limits(1):
                error = everyone.estimate()
                for measure in self.settings.aim.measures:
                    with suppress(EmptyMeasure):
                        others.append(error if measure == "error" else everyone.estimate(measure))
        except NoRandomLabel:
            return None, ()
        return error, tuple(one for one in others if one is not error)

    def prospect(self, answered: Sequence[Row]) -> Prospect | None:
        """What the next labels are expected to gain; None if there are too few labels, or a method that cannot tell."""
        method = self.method(answered)
        if type(method).belief is Method.belief:
            return None
        with threadpool_limits(1):
            found = prospect(method, self._started)
        return found if found is not None and found.labels else None

    def everyone(self, asked: Snapshot, *, whole: bool = False) -> Everyone:
        """Every row of log and pool as judged by the model after these answers, and how their labels came about.

        In a large pool, a sample of the rows is scored and stands for the others, unless the `whole` pool is asked for.
        """
        name, method = self.fitted(asked.answered)
        whole = whole and not self.sampled
        with self._lock, threadpool_limits(1):
            if whole:
                everyone = method.everyone(whole=True)
            else:
                if self._judged is None or self._judged[0] != name:
                    self._judged = name, method.everyone()
                everyone = self._judged[1]
        return replace(everyone, design=design_of(method, asked, whole=whole))

    def held_frame(self, asked: Snapshot) -> pl.DataFrame:
        """The rows of the pool that `everyone` judges if it is asked for the whole pool, in the same order."""
        if not self.sampled:
            return self.pool_frame
        places, frame = self._prepared.sample
        others = ~np.isin(places, [row.place for row in asked.answered])
        answered = from_plain([row.values for row in asked.answered], self.settings.types)
        return pl.concat([frame.filter(others).select(list(self.settings.types)), answered], how="vertical_relaxed")

    def judged_by(self, answered: Sequence[Row], asked: Snapshot) -> tuple[Floats, Costs]:
        """The log-odds of the rows that `everyone` judges, by the model after only these answers, and its costs.

        Rows that this model has learned from are judged without their own label.
        """
        now, method = self.method(asked.answered), copy(self.method(answered))
        with self._lock, threadpool_limits(1):
            if not self.sampled:
                everyone = method.everyone(whole=True)
                return everyone.margin, everyone.costs
            held, seen = now.held(), method.observed()
            margin = np.concatenate([method.log_odds(part) for part in (method.log_.X, held.X)])
            places = np.array([row.place for row in answered], dtype=np.int64)
            learned = np.concatenate([np.flatnonzero(method.log_.z), method.log_.m + held.at(places)])
            margin[learned] = method.held_out(seen.X, seen.y)
            return margin, method.costs

    def members(self, asked: Snapshot) -> list[tuple[Member, Everyone]]:
        """The members of the model after these answers, each with everyone as it alone would judge them.

        There are none if the model is no team.
        """
        method = self.method(asked.answered)
        found = []
        with self._lock, threadpool_limits(1):
            for member in method.members() if isinstance(method, Learner) else ():
                member.alone.decide()  # if a recall is wanted, each has its own threshold
                found.append((member, replace(member.alone.everyone(), design=design_of(method, asked))))
        return found


def predicted(model: Pipeline, id: str | None, frame: pl.DataFrame) -> pl.DataFrame:
    """The class of every row and the probability of the positive class, with the id if there is one."""
    columns = [frame[id]] if id in frame.columns else []
    classes, p = _judged(model.named_steps["model"], features(model.named_steps["features"], frame))
    labels = pl.Series("prediction", classes.astype(str), dtype=pl.String)
    return pl.DataFrame([*columns, labels, pl.Series("probability", p)])


def _judged(model: Any, X: Rows) -> tuple[NDArray[Any], Floats]:
    """What `predict` and `predict_proba` say of rows. Our own models look at them once for both."""
    own = getattr(model, "estimator_", model)  # a threshold of its own is around it
    if not isinstance(own, (Team, BayesianLogistic)):
        return model.predict(X), model.predict_proba(X)[:, 1]
    log_odds = own.decision_function(X)
    p = np.asarray(expit(log_odds))
    flagged = log_odds >= 0.0 if own is model else p >= model.threshold
    return own.classes_[flagged.astype(np.intp)], p


def design_of(method: PoolMethod, asked: Snapshot, *, whole: bool = False) -> Design:
    """How the labels of log and pool came about."""
    return method.held(whole=whole).design(method.log_, picked_by_round(asked))


def picked_by_round(asked: Snapshot) -> tuple[Picked, ...]:
    """The rounds as the estimate's design sees them; rows skipped or not answered yet count as lost.

    A row is lost by chance, as far as its label goes: somebody who skips rows of one class more often than rows of the
    other biases any estimate.
    """
    rounds: dict[int, list[Row]] = {}
    for row in asked.rows:
        rounds.setdefault(row.round, []).append(row)
    return tuple(_picked(rounds[number], asked.spreads[number - 1]) for number in sorted(rounds))


def _picked(rows: list[Row], spread: float | None) -> Picked:
    """One round. If no spread was recorded, it drew evenly, and every row with the same chance."""
    chosen, drawn = ([row for row in rows if (row.reason == DRAWN) == kind] for kind in (False, True))
    known = [[row.status == RowStatus.ANSWERED for row in kind] for kind in (chosen, drawn)]
    places = [np.array([row.place for row in kind], dtype=np.int64) for kind in (chosen, drawn)]
    p = np.array([row.probability for row in drawn], dtype=np.float64)
    each = 1.0 / p if spread is None else stand_for(p)
    answered = [np.array(which, dtype=bool) for which in known]
    return Picked(
        places[0][answered[0]],
        places[1][answered[1]],
        each[answered[1]],
        int((~answered[0]).sum()),
        int((~answered[1]).sum()),
        spread,
    )

"""The model of a campaign, a pure function of its settings, its log and the answers so far; and the next rows to ask.

What takes long is cached for each user (`learning.cache`). It can be deleted at any time: it is made again, the same.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
import sklearn
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

import unskew
from unskew.campaigns.consent import check_agreed
from unskew.campaigns.folder import Folder
from unskew.campaigns.learning.cache import Cache
from unskew.campaigns.learning.own_model import Cost, OwnModel, watching
from unskew.campaigns.learning.prepared import Prepared
from unskew.campaigns.ledger.events import PlannedRow
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.ledger.state import Row, RowStatus, Snapshot
from unskew.campaigns.tables.encoding import features, from_plain, to_plain
from unskew.errors import EmptyMeasure, NoRandomLabel
from unskew.estimation.costs import Costs
from unskew.estimation.design import Design, Picked
from unskew.estimation.everyone import Everyone
from unskew.estimation.population import PopulationEstimate
from unskew.estimation.strata import Part
from unskew.labels import codes, positions
from unskew.methods.learner import Learner, Member
from unskew.methods.pool import LOOK_AT, PoolMethod
from unskew.methods.prospect import Prospect
from unskew.methods.registry import POOL_METHODS, method_named, source_digest
from unskew.methods.rounds import DRAWN, PoolRound
from unskew.methods.stopping import prospect
from unskew.models.bayes import BayesianLogistic
from unskew.models.scores import scale
from unskew.models.team import Team
from unskew.pools.scanning import Progress
from unskew.rows import Floats, Rows, as_rows
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
        self.own = OwnModel(settings.model) if settings.model else None
        self._progress = progress
        self._cache = Cache(self.digest([]))
        self._prepared = Prepared(folder, settings, self._cache, progress)
        self._lock = threading.RLock()
        self._last: Fitted | None = None
        self._judged: tuple[str, Everyone] | None = None

    @property
    def prepared(self) -> Prepared:
        """Log and pool as a method takes them."""
        return self._prepared

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

    def row_named(self, id: str) -> pl.DataFrame | None:
        """The row of the pool with this id, as it was read; None if there is none."""
        place = self._prepared.place_of(id)
        return None if place is None else self._prepared.rows_at(np.array([place]))

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
            "model": None if self.own is None else self.own.versions,
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
        own = {} if self.own is None else {"model": self.own.estimator}
        found = self._cache.method("start", lambda: self._begun(**own))
        found.pool_ = self._prepared.pool  # if a recall is wanted, each fit looks at the pool
        return found

    def _begun(self, **own: Any) -> PoolMethod:
        method = self._kind(random_state=self.settings.seed, **own)
        aim = self.settings.aim
        method.drawn, method.costs, method.recall = self.settings.drawn, aim.costs, aim.recall
        method.look = self.settings.look
        with self._learning():
            method.start_checked(self._prepared.log, self._prepared.pool, self._prepared.pool_rule)
            if self._prepared.known is not None:
                method.adopt(self._known(method, self._prepared.known))
                method.labels_ = 0  # none was bought
        return method

    def _known(self, method: PoolMethod, labels: pl.Series) -> PoolRound:
        """The rows of the pool that had a label before, as rows that were chosen: each stands for itself."""
        places = labels.is_not_null().arg_true().to_numpy().astype(np.int64)
        frame, own, k = self._prepared.pool_frame[places], self.settings.propensity, len(places)
        X = as_rows(features(self._prepared.encoder, frame))
        q0 = frame[own].to_numpy() if own in frame.columns else method.q0_at(places, X)
        y = codes(np.array(labels.drop_nulls().to_list(), dtype=object), self._prepared.log.classes)
        return PoolRound(places, X, q0, np.ones(k), np.zeros(k, dtype=bool), 0, 0.0, y)

    def _adopted(self, answered: Sequence[Row]) -> PoolMethod:
        """The started method with all answers learned as one round."""
        started = self._started
        with self._learning():
            found = copy(started)
            if answered or self.own is None:  # a fit to the same labels again would cost as much and say the same
                found.adopt(self._round(answered))
            if isinstance(found, Learner) and self.own is not None and found.knows_labels:
                found.held_out(found.state_.X, found.state_.y)  # now, so that the cache has it
            return found

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Sums in one order, whatever the number of cores; each fit of a model of the user's own is told."""
        with threadpool_limits(1), nullcontext() if self.own is None else watching(self._progress):
            yield

    def cost(self) -> Cost | None:
        """What new labels cost with a model of the user's own, by a fit to the log's labels that is timed here."""
        looks = min(self.settings.pool_rows, self.settings.look or LOOK_AT)
        return None if self.own is None else self.own.cost(self._prepared.log, looks)

    def built_in(self, asked: Snapshot) -> tuple[Floats, Costs]:
        """The log-odds of the rows that `everyone` judges by the method's own model, and the costs it decides by.

        It is fitted to the same answers now. That takes as long as a campaign without a model of the user's own.
        """
        with self._lock, threadpool_limits(1):
            everyone = self._begun().adopt(self._round(asked.answered)).everyone()
        return everyone.margin, everyone.costs

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
            y=codes(labels, self._prepared.log.classes),
        )

    def plan(self, answered: Sequence[Row], asked: Sequence[int], round: int, k: int) -> Plan:
        """The next round: k rows of those not asked for yet, or all there are."""
        self._prepared.check_files()  # each time: a label for another pool would be lost
        name, fitted = self.fitted(answered)
        method = copy(fitted)
        method.reseed([self.settings.seed, round])  # a round has its own randomness, whatever came before
        taken = np.concatenate([*(batch.positions for batch in before(method)), np.array(asked, dtype=np.int64)])
        with threadpool_limits(1):
            batch = method.pick(taken, min(k, len(method.pool_) - len(taken)))
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
        if not method.believes:
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


def predicted(model: Pipeline, settings: Settings, frame: pl.DataFrame) -> pl.DataFrame:
    """The class of every row and the probability of the positive class, with the id if there is one.

    If there are more than two classes, the probability is that of the predicted class, and those of all classes follow.
    A model that gives no probabilities leaves them empty.
    """
    columns = [frame[settings.id]] if settings.id in frame.columns else []
    judge, X = model.named_steps["model"], features(model.named_steps["features"], frame)
    decided, p = _judged(judge, X)
    predictions = pl.Series("prediction", decided.astype(str), dtype=pl.String)
    every: dict[str, Floats] = {}
    if p is not None:
        shares = dict(zip(map(str, judge.classes_), p.T, strict=True))
        none = np.zeros(len(p))  # of a class that no label has shown
        every = {name: shares.get(name, none) for name in settings.classes}
    if len(settings.classes) == 2:
        likely, every = every.get(settings.classes[1]), {}
    else:
        likely = None if p is None else p[np.arange(len(p)), positions(codes(decided, judge.classes_), p.shape[1])]
    probability = pl.Series("probability", [None] * X.shape[0] if likely is None else likely, dtype=pl.Float64)
    more = [pl.Series(f"probability of {name}", share, dtype=pl.Float64) for name, share in every.items()]
    return pl.DataFrame([*columns, predictions, probability, *more])


def _judged(model: Any, X: Rows) -> tuple[NDArray[Any], Floats | None]:
    """What `predict` and `predict_proba` say of rows. Our own models look at them once for both."""
    own = getattr(model, "estimator_", model)  # a threshold of its own is around it
    if not isinstance(own, (Team, BayesianLogistic)):
        return model.predict(X), model.predict_proba(X) if hasattr(model, "predict_proba") else None
    scores, of = own.decision_function(X), scale(len(own.classes_))
    p = of.probabilities(scores)
    at = of.predicted(scores) if own is model else (p[:, 1] >= model.threshold).astype(np.intp)
    return own.classes_[at], p


def design_of(method: PoolMethod, asked: Snapshot, *, whole: bool = False) -> Design:
    """How the labels of log and pool came about. If the pool grew, each batch of rows is a stratum."""
    known = tuple(batch.picked()._replace(before=True) for batch in before(method))
    held, later = method.held(whole=whole), [Part(part.rows, len(known) + part.after) for part in asked.parts]
    parts = [Part(held.n - sum(part.rows for part in later)), *later] if later else []
    return held.design(method.log_, (*known, *picked_by_round(asked)), parts)


def before(method: PoolMethod) -> list[PoolRound]:
    """The labels that the pool had before the campaign, whose answers are adopted as one more round."""
    return method.rounds_[:-1]


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

"""The model of a campaign, a pure function of its settings, its log and the answers so far; and the next rows to ask.

Everything kept in the cache folder can be deleted at any time: it is made again, the same.
"""

import hashlib
import json
import threading
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import unskew
from unskew.campaigns.folder import Folder
from unskew.campaigns.learning.cache import Cache, save
from unskew.campaigns.learning.estimate import Judged, judged, population_error_of
from unskew.campaigns.ledger.state import Row
from unskew.campaigns.tables.encoding import encoder, features, from_plain, to_plain
from unskew.campaigns.tables.files import label_texts
from unskew.data import LoggedData, signs
from unskew.estimation.population import PopulationEstimate
from unskew.methods.loop import Method, Round
from unskew.methods.pools.unskew import Unskew
from unskew.methods.pools.yardsticks import MarginSampling, WeightedMarginSampling
from unskew.rows import Floats, Ints, Rows, as_rows
from unskew.sampling.propensity import estimate

METHODS: dict[str, type[Unskew]] = {c.__name__: c for c in (Unskew, MarginSampling, WeightedMarginSampling)}
"""Methods that pick from a pool and know with what probability they asked."""

CHUNK = 100_000
TREE_ROWS = 20_000
"""Of a longer log, so many rows tell what Q0 is elsewhere."""


@dataclass(frozen=True)
class Plan:
    """A round to be: its rows as the ledger keeps them, what its audit was drawn from, the model that picked."""

    rows: list[dict[str, Any]]
    rest: int
    model: str


class Remaining:
    """Some rows of a large array, looked up when asked for: leaving out a few of a million copies nothing."""

    def __init__(self, X: Any, places: Ints) -> None:
        self.X, self.places = X, places
        self.shape = (len(places), X.shape[1])

    def __getitem__(self, at: Any) -> Any:
        return self.X[self.places[at]]


class Fitting:
    """What is fitted and picked from a campaign's files. Safe to use from several threads."""

    def __init__(self, folder: Folder, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        self._cache = Cache(folder.cache)
        self._lock = threading.RLock()
        self._fitted: tuple[str, Method] | None = None
        self._judged: tuple[str, Judged] | None = None

    @cached_property
    def log_frame(self) -> pl.DataFrame:
        """The log as read."""
        return self.folder.read(self.folder.log, self.settings["log_sha256"])

    @cached_property
    def pool_frame(self) -> pl.DataFrame:
        """The pool as read."""
        return self.folder.read(self.folder.pool, self.settings["pool_sha256"])

    @cached_property
    def encoder(self) -> Any:
        """Columns to features, fitted on the log alone."""
        return encoder(self.log_frame, self.settings["kinds"])

    @cached_property
    def log(self) -> LoggedData:
        """The log as the method takes it; propensities that were not recorded are estimated."""
        frame, settings = self.log_frame, self.settings
        X = as_rows(features(self.encoder, frame), name="the log")
        y = np.array(label_texts(frame, settings["label"]).to_list(), dtype=object)
        classes = np.array(settings["classes"])
        if settings["propensity"] is not None:
            return LoggedData(X, y, q0=frame[settings["propensity"]].to_numpy(), classes=classes)
        revealed = np.array([label is not None for label in y])

        def make(path: Path) -> None:
            with threadpool_limits(1):  # sums in one order, whatever the number of cores
                save(path, estimate(X, revealed, random_state=np.random.default_rng([settings["seed"], 0])).q0)

        q0 = self._cache.array(f"propensities-{self.digest([])}.npy", (len(y),), make)
        return LoggedData(X, y, q0=np.array(q0), classes=classes, q0_estimated=True)

    @cached_property
    def pool(self) -> Any:
        """Features of every row of the pool, mapped from the cache."""
        shape = (self.settings["pool_rows"], self.log.n_features)

        def make(path: Path) -> None:
            frame = self.pool_frame
            with open(path, "wb") as file:
                header = {"descr": "<f8", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                for start in range(0, frame.height, CHUNK):
                    rows = as_rows(features(self.encoder, frame.slice(start, CHUNK)), name="the pool")
                    file.write(rows.tobytes())

        return self._cache.array(f"features-{self.digest([])}.npy", shape, make)

    def digest(self, answered: Sequence[Row]) -> str:
        """A name for the model these answers lead to: it is the same wherever it is fitted."""
        known = {
            "version": [unskew.__version__, sklearn.__version__, np.__version__],
            "settings": self.settings,
            "answers": [(row.id, row.place, row.rule, row.probability, row.label, row.values) for row in answered],
        }
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def method(self, answered: Sequence[Row]) -> Method:
        """The method after these answers, from memory, from the cache, or fitted now."""
        name = self.digest(answered)
        with self._lock:
            if self._fitted is None or self._fitted[0] != name:
                self._fitted = name, self._cache.method(f"model-{name}", lambda: self._adopt(answered))
            return self._fitted[1]

    @cached_property
    def _started(self) -> Method:
        """The method after the log alone, with which every fit begins."""

        def start() -> Method:
            method = METHODS[self.settings["method"]](random_state=self.settings["seed"])
            method.audit = self.settings["audit"]
            with threadpool_limits(1):
                return method.start(self.log, self.settings["pool_rows"])

        return self._cache.method(f"start-{self.digest([])}", start)

    def _adopt(self, answered: Sequence[Row]) -> Method:
        started = self._started
        method = deepcopy(started, {id(started.log_): started.log_})
        with threadpool_limits(1):
            return method.adopt(self._round(answered))

    def _round(self, answered: Sequence[Row]) -> Round:
        """All answers as one round; features come from the ledger's own values, so no pool is needed."""
        k = len(answered)
        X: Rows = np.empty((0, self.log.n_features))
        if k:
            X = as_rows(features(self.encoder, from_plain([row.values for row in answered], self.settings["types"])))
        everything = np.ones(k, dtype=bool)
        labels = np.array([row.label for row in answered], dtype=object)
        return Round(
            X,
            self._q0(X) if k else np.ones(0),
            signs(labels, self.log.classes) if k else np.empty(0),
            everything,
            everything,
            np.array([row.probability for row in answered], dtype=np.float64),
            positions=np.array([row.place for row in answered], dtype=np.intp),
            audit=np.array([row.rule == "audit" for row in answered], dtype=bool),
        )

    def _q0(self, X: Rows) -> Floats:
        """Q0 at rows of the pool, read off the log's by a tree: what weights need to know of them, estimates do not."""
        return np.asarray(np.exp(self._q0_tree.predict(X)))

    @cached_property
    def _q0_tree(self) -> Any:
        log = self.log
        tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
        return tree.fit(log.X[:TREE_ROWS], np.log(log.q0[:TREE_ROWS]))

    def plan(self, answered: Sequence[Row], asked: Sequence[int], round: int, k: int) -> Plan:
        """The next round: k rows, or all there are, of those not asked yet."""
        method = copy(self.method(answered))
        method.reseed([self.settings["seed"], round])  # a round has its own randomness, whatever came before
        left = np.setdiff1d(np.arange(len(self.pool)), np.array(asked, dtype=np.intp), assume_unique=True)
        k = min(k, len(left))
        with threadpool_limits(1):
            method.ask_checked(cast(Rows, Remaining(self.pool, left)), np.ones(len(left)), k)
        batch = method.pending
        assert batch is not None
        assert batch.positions is not None
        assert batch.p is not None
        assert batch.audit is not None
        places = left[batch.positions]
        picked = self.pool_frame[places]
        values = to_plain(picked.select(list(self.settings["types"])))
        named = self.settings["id"]
        ids = [f"row-{place + 1}" for place in places] if named is None else picked[named].cast(pl.String).to_list()
        rows = [
            {"id": id, "place": int(at), "rule": "audit" if audit else "chosen", "probability": float(p), "values": v}
            for id, at, audit, p, v in zip(ids, places, batch.audit, batch.p, values, strict=True)
        ]
        return Plan(rows, batch.rest, self.digest(answered))

    def pipeline(self, answered: Sequence[Row]) -> Pipeline:
        """Columns in, classes out: the encoder and the model as one fitted scikit-learn object."""
        return Pipeline([("features", self.encoder), ("model", self.method(answered).model_)])

    def predict(self, answered: Sequence[Row], frame: pl.DataFrame) -> pl.DataFrame:
        """The class of every row and the probability of the positive one, beside the id where there is one."""
        model, named = self.pipeline(answered), self.settings["id"]
        columns = [frame[named]] if named in frame.columns else []
        labels = pl.Series("prediction", model.predict(frame).astype(str), dtype=pl.String)
        return pl.DataFrame([*columns, labels, pl.Series("probability", model.predict_proba(frame)[:, 1])])

    def error(self, answered: Sequence[Row], rows: Sequence[Row], *, measure: str = "error") -> PopulationEstimate:
        """A measure of the model after these answers on the population; `rows` are all that were asked for."""
        name, method = self.digest(answered), self.method(answered)
        with self._lock:
            if self._judged is None or self._judged[0] != name:
                self._judged = name, judged(method, self.pool)
            return population_error_of(method, self._judged[1], rows, measure=measure)

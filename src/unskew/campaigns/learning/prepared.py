"""A campaign's log and pool as a method takes them: features, labels and propensities, made once and cached."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from unskew.campaigns.folder import Folder
from unskew.campaigns.learning.cache import Cache, save
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.tables.encoding import encoder, features, from_plain
from unskew.campaigns.tables.files import label_texts
from unskew.campaigns.tables.parquet import check_parquet
from unskew.data import LoggedData
from unskew.pools import MemoryPool
from unskew.rows import Rows, as_rows
from unskew.sampling.density_ratio import FITTED_ROWS, density_ratio
from unskew.sampling.policies import Policy
from unskew.sampling.propensity import EstimatedPropensities, estimate

CHUNK = 100_000
"""The number of rows of the pool that are turned into features at a time."""


class LazyPool(MemoryPool):
    """A pool whose features are loaded when they are first needed. Predictions do not need them."""

    def __init__(self, rows: int, load: Callable[[], Rows] | None = None) -> None:
        self._rows, self._load = rows, load
        self._given = None

    def __len__(self) -> int:
        return self._rows

    @property
    def X(self) -> Rows:
        if not hasattr(self, "_X"):
            assert self._load is not None, "a method from the cache is given its pool before it is used"
            self._X = self._load()
        return self._X

    def __getstate__(self) -> dict[str, Any]:
        """What is cached of it: its length alone."""
        return {"_rows": self._rows, "_load": None, "_given": None}


class Prepared:
    """What a campaign's two files hold, ready to learn from."""

    def __init__(self, folder: Folder, settings: Settings, cache: Cache) -> None:
        self.folder, self.settings, self._cache = folder, settings, cache
        self._found: EstimatedPropensities | None = None

    @cached_property
    def log_frame(self) -> pl.DataFrame:
        """The log as it was read."""
        return self._table(self.folder.log, self.settings.log_sha256)

    @cached_property
    def pool_frame(self) -> pl.DataFrame:
        """The pool as it was read."""
        return self._table(self.folder.pool, self.settings.pool_sha256)

    def _table(self, path: Path, sha256: str) -> pl.DataFrame:
        """The frame in a file of the campaign. Whoever made the folder may have made the file to end this program."""
        self.folder.check_table(path, sha256)
        tried = f"tried-{sha256}"
        if not self._cache.noted(tried):
            check_parquet(path)
            self._cache.note(tried)
        return pl.read_parquet(path, glob=False)

    @cached_property
    def encoder(self) -> Any:
        """Columns to features, fitted to the log alone."""
        return encoder(self.log_frame, self.settings.kinds)

    @cached_property
    def log(self) -> LoggedData:
        """The log as a method takes it; propensities that were not recorded are estimated (`pool_rule`)."""
        frame, settings = self.log_frame, self.settings
        X = as_rows(features(self.encoder, frame), name="the log")
        y = np.array(label_texts(frame, settings.label).to_list(), dtype=object)
        classes = np.array(settings.classes)
        if settings.propensity is not None:
            return LoggedData(X, y, q0=frame[settings.propensity].to_numpy(), classes=classes)
        bare = LoggedData(X, y, classes=classes, q0_estimated=True)

        def make(path: Path) -> None:
            save(path, self._estimated(bare).q0)

        q0 = self._cache.array("propensities", (bare.m,), make)
        return LoggedData(X, y, q0=np.array(q0), classes=classes, q0_estimated=True)

    @property
    def pool_rule(self) -> Policy | None:
        """Q0 for the pool's rows if the log holds labelled rows only: its own propensities do not tell them."""
        return self._estimated(self.log).Q0 if self.log.only_labelled else None

    def _estimated(self, log: LoggedData) -> EstimatedPropensities:
        """The same each time. A log of labelled rows only is compared with the pool."""
        if self._found is None:
            rng = np.random.default_rng([self.settings.seed, 0])
            with threadpool_limits(1):  # sums in one order, whatever the number of cores
                if log.only_labelled:
                    self._found = density_ratio(log.X, self._some_of_the_pool(), random_state=rng)
                else:
                    self._found = estimate(log.X, log.z, random_state=rng)
        return self._found

    def _some_of_the_pool(self) -> Rows:
        """As many rows of the pool as a density ratio needs, drawn at random."""
        frame = self.pool_frame
        if frame.height > FITTED_ROWS:
            rng = np.random.default_rng([self.settings.seed, 0])
            frame = frame[np.sort(rng.choice(frame.height, FITTED_ROWS, replace=False))]
        return as_rows(features(self.encoder, frame), name="the pool")

    @cached_property
    def pool(self) -> LazyPool:
        """The pool as a method takes it."""
        return LazyPool(self.settings.pool_rows, self._pool_features)

    def _pool_features(self) -> Any:
        """Features of every row of the pool, mapped from the cache."""
        shape = (self.settings.pool_rows, self.log.n_features)

        def make(path: Path) -> None:
            frame = self.pool_frame
            with open(path, "wb") as file:
                header = {"descr": "<f8", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                for start in range(0, frame.height, CHUNK):
                    rows = as_rows(features(self.encoder, frame.slice(start, CHUNK)), name="the pool")
                    file.write(rows.tobytes())

        return self._cache.array("features", shape, make)

    def of_values(self, values: list[dict[str, Any]]) -> Rows:
        """Features of rows as the ledger keeps them: the pool is not needed to learn from them."""
        if not values:
            return np.empty((0, self.log.n_features))
        return as_rows(features(self.encoder, from_plain(values, self.settings.types)))

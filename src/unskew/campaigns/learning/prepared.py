"""A campaign's log and pool as a method takes them: features, labels and propensities, made once and cached."""

from collections.abc import Callable
from functools import cached_property, partial
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from unskew.campaigns.folder import Folder
from unskew.campaigns.learning.cache import Cache, save
from unskew.campaigns.ledger.events import Extended
from unskew.campaigns.ledger.settings import Settings
from unskew.campaigns.tables.encoding import BLOCKS, block_places, encoder, feature_names, features, from_plain
from unskew.campaigns.tables.files import label_texts
from unskew.campaigns.tables.parquet import check_parquet
from unskew.campaigns.tables.pool_files import AsInLog, columns_of, read_list
from unskew.campaigns.tables.several_logs import policies_in
from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.methods.pool import JUDGE
from unskew.pools import MemoryPool, Pool, Some
from unskew.pools.files import FilePool, PoolFile, check_files
from unskew.pools.hashes import check_hashes
from unskew.pools.scanning import Progress
from unskew.rows import Floats, Ints, Rows, as_rows, take
from unskew.sampling.density_ratio import FITTED_ROWS, density_ratio
from unskew.sampling.policies import Policy
from unskew.sampling.propensity import EstimatedPropensities, estimate, of_whole_log
from unskew.sampling.within_policies import estimate_within

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


class Sample(NamedTuple):
    """An even sample of a pool, in an order that does not depend on how the rows are cut into files."""

    places: Ints
    frame: pl.DataFrame


class SampledPool(FilePool):
    """A pool in files, whose sample comes from the cache."""

    def __init__(self, files: list[PoolFile], read: Any, encode: Any, sample: Callable[[], Sample], **how: Any) -> None:
        super().__init__(files, read, encode, **how)
        self._length, self._load = super().__len__(), sample

    def __len__(self) -> int:
        return self._length

    def some(self, k: int) -> Some:
        if k == JUDGE and not hasattr(self, "_some"):
            places, frame = self._load()
            self._some = Some(places, self.encode(frame))
        return super().some(k)

    def __getstate__(self) -> dict[str, Any]:
        """What is cached of it: its length alone."""
        return {"_length": self._length}


class Prepared:
    """What a campaign's two files hold, ready to learn from."""

    def __init__(self, folder: Folder, settings: Settings, cache: Cache, progress: Progress | None = None) -> None:
        self.folder, self.settings, self._cache, self._progress = folder, settings, cache, progress
        self._found: EstimatedPropensities | None = None

    @cached_property
    def log_frame(self) -> pl.DataFrame:
        """The log as it was read."""
        return self._table(self.folder.log, self.settings.log_sha256)

    @cached_property
    def pool_frame(self) -> pl.DataFrame:
        """The whole pool as it was read. The rows of files that stayed where they are come in the sample's order."""
        if self.sampled:
            raise InputError(
                f"the {self.settings.pool_rows:,} rows of the pool stay in their files. Use pool_sample, or read those."
            )
        return pl.concat(self.part_frames, how="vertical_relaxed")

    @cached_property
    def part_frames(self) -> list[pl.DataFrame]:
        """The rows that the pool began with, and those that came later, of a pool that is read whole."""
        first = self._table(self.folder.pool, self.settings.pool_sha256) if self.files is None else self.sample.frame
        return [first, *(self._table(path, part.sha256) for path, part in self._later(listed=False))]

    def _later(self, *, listed: bool) -> list[tuple[Path, Extended]]:
        """The files of the folder about rows that came to the pool later."""
        parts = enumerate(self.settings.pool_parts, start=2)
        return [(self.folder.part(number, listed=listed), part) for number, part in parts]

    @cached_property
    def files(self) -> list[PoolFile] | None:
        """The files of a pool that stayed where it is; None if the pool is in the folder."""
        if not self.folder.pool_files.exists():
            return None
        lists = [(self.folder.pool_files, self.settings.pool_sha256)]
        if self.settings.first_rows > JUDGE:  # otherwise, rows that came later are in the folder
            lists += [(path, part.sha256) for path, part in self._later(listed=True)]
        for path, sha256 in lists:
            self.folder.check_table(path, sha256)
        return [file for path, _ in lists for file in read_list(path)]

    @property
    def sampled(self) -> bool:
        """Whether a sample stands for the pool, which is in files that are never read whole."""
        return self.files is not None and self.settings.first_rows > JUDGE

    def check_files(self) -> None:
        """Refuse files that are not what they were."""
        if self.files is not None:
            check_files(self.files)

    def check_hashes(self, progress: Progress | None = None) -> int:
        """Refuse files that are not, bit for bit, what they were. Returns the number of files."""
        copied = [] if self.sampled else [(path, part.sha256) for path, part in self._later(listed=False)]
        if self.files is None:
            copied.append((self.folder.pool, self.settings.pool_sha256))
        for path, sha256 in copied:
            self.folder.check_table(path, sha256)
        if self.files is not None:
            check_files(self.files)
            check_hashes(self.files, progress)
        return len(copied) + len(self.files or ())

    @cached_property
    def sample(self) -> Sample:
        """An even sample of a pool in files, or all of a small one. It is kept in the cache."""
        size = JUDGE if self.sampled else self.settings.first_rows

        def make(path: Path) -> None:
            save(path, self._shown.sample(JUDGE))

        def read() -> pl.DataFrame:
            return self._shown.frame(places)

        places = np.array(self._cache.array("sample-places", (size,), make))
        return Sample(places, self._cache.frame("sample", read))

    def rows_at(self, places: Ints) -> pl.DataFrame:
        """The rows of the pool at these places, as they were read."""
        return self._shown.frame(places) if self.sampled else self.pool_frame[places]

    def place_of(self, id: str) -> int | None:
        """The place in the pool of the row with this id."""
        if self.settings.id is None:
            number = id.removeprefix("row-")
            found = [int(number) - 1] if number != id and number.isdecimal() else []
            return next((place for place in found if 0 <= place < self.settings.pool_rows), None)
        if self.sampled:
            found = self._shown.scan_ids(partial(_places_with, id), add)
        else:
            found = _places_with(id, np.arange(self.settings.pool_rows), self.pool_frame[self.settings.id])
        return next(iter(found), None)

    @cached_property
    def _shown(self) -> FilePool:
        """The files with all columns but a label."""
        assert self.files is not None
        self.check_files()  # first: whoever made the list may have named any file
        columns = [name for name in columns_of(self.files) if name != self.settings.label]
        found = FilePool(self.files, self.reader, self._encode, columns=columns, id=self.settings.id)
        found.progress = self._progress
        return found

    @cached_property
    def reader(self) -> AsInLog:
        """What makes of rows of the pool's files what they are in a pool that is read whole."""
        told = self.settings
        log = self.log_frame if told.policy is None else self.log_frame.drop(told.policy)
        return AsInLog.of(log, told.label, told.propensity, told.id, self.files, told.types, told.given)

    @property
    def _encode(self) -> Callable[[pl.DataFrame], Rows]:
        return partial(encoded, self.encoder)

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
        """Columns to features, fitted to the log alone. It is cached if it learns words or vectors."""
        make = partial(encoder, self.log_frame, self.settings.kinds, self.settings.levels)
        long = not BLOCKS.keys().isdisjoint(self.settings.kinds.values())
        return self._cache.pickled("encoder", Pipeline, make) if long else make()

    def _log_features(self) -> Rows:
        """Features of the log, from the cache if there are texts or vectors among them."""
        if not block_places(self.encoder):
            return as_rows(features(self.encoder, self.log_frame), name="the log")

        def make(path: Path) -> None:
            save(path, features(self.encoder, self.log_frame))

        shape = self.log_frame.height, len(feature_names(self.encoder))
        return as_rows(np.array(self._cache.array("log-features", shape, make)), name="the log")

    @cached_property
    def log(self) -> LoggedData:
        """The log as a method takes it; propensities that were not recorded are estimated (`pool_rule`)."""
        frame, settings = self.log_frame, self.settings
        X = self._log_features()
        y = np.array(label_texts(frame, settings.label).to_list(), dtype=object)
        made = partial(
            LoggedData, X, y, classes=np.array(settings.classes), kept=settings.kept, blocks=block_places(self.encoder)
        )
        given = None if settings.propensity is None else frame[settings.propensity]
        if given is not None and not given.null_count():
            return made(q0=given.to_numpy())
        bare = made(q0_estimated=True)

        def make(path: Path) -> None:
            if settings.policy is not None and not bare.only_labelled:
                found = self._within(bare, given)
            else:
                found = self._estimated(bare).q0
            save(path, found if bare.only_labelled else of_whole_log(found, bare.z, bare.kept))

        q0 = np.array(self._cache.array("propensities", (bare.m,), make))
        if given is not None:  # by some of several logs
            q0 = np.where(given.is_null(), q0, given.fill_null(1.0))
        return made(q0=q0, q0_estimated=True)

    def _within(self, log: LoggedData, given: pl.Series | None) -> Floats:
        """Propensities within each policy, of the rows of which none is given."""
        assert self.settings.policy is not None
        policy = policies_in(self.log_frame, self.settings.policy)
        rows = np.arange(log.m) if given is None else given.is_null().arg_true().to_numpy()
        q0 = np.ones(log.m)
        with threadpool_limits(1):
            rng = np.random.default_rng([self.settings.seed, 0])
            q0[rows] = estimate_within(take(log.X, rows), log.z[rows], policy[rows], random_state=rng)
        return q0

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
        if self.sampled:
            return self._encode(self.sample.frame[:FITTED_ROWS])
        frame = self.pool_frame
        if frame.height > FITTED_ROWS:
            rng = np.random.default_rng([self.settings.seed, 0])
            frame = frame[np.sort(rng.choice(frame.height, FITTED_ROWS, replace=False))]
        return self._encode(frame)

    @cached_property
    def pool(self) -> Pool:
        """The pool as a method takes it."""
        if self.files is not None and self.sampled:
            read, kinds = self.reader.only(list(self.settings.kinds)), self.settings.kinds
            found = SampledPool(
                self.files, read, self._encode, lambda: self.sample, columns=list(kinds), id=self.settings.id
            )
            found.progress = self._progress
            return found
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
                    rows = self._encode(frame.slice(start, CHUNK))
                    file.write(rows.tobytes())

        return self._cache.array("features", shape, make)

    @property
    def known(self) -> pl.Series | None:
        """The labels that the pool had before the campaign, null where there was none; None if it had none at all."""
        return self.pool_frame[self.settings.label] if self.settings.pool_labelled else None

    def of_values(self, values: list[dict[str, Any]]) -> Rows:
        """Features of rows as the ledger keeps them: the pool is not needed to learn from them."""
        if not values:
            return np.empty((0, self.log.n_features))
        return as_rows(features(self.encoder, from_plain(values, self.settings.types)))


def _places_with(id: str, places: Ints, ids: pl.Series) -> list[int]:
    return list(places[ids.cast(pl.String).eq(id).arg_true().to_numpy()])


def encoded(encoder: Any, frame: pl.DataFrame) -> Rows:
    """The features of rows of the pool."""
    return as_rows(features(encoder, frame), name="the pool")

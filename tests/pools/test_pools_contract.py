"""What every pool promises: a length, rows at positions as features and as their owner knows them, and one scan."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from unskew.campaigns.learning.prepared import LazyPool
from unskew.pools import MemoryPool, memory, stretches
from unskew.pools.files import FilePool, find_files

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
COLUMNS = {"a": X[:, 0], "b": X[:, 1]}


def as_it_is(frame):
    return frame


def in_files(folder):
    """The three rows in two files."""
    pl.DataFrame(COLUMNS)[:2].write_parquet(folder / "1.parquet")
    pl.DataFrame(COLUMNS)[2:].write_parquet(folder / "2.parquet")
    return FilePool(find_files(folder), as_it_is, pl.DataFrame.to_numpy, columns=["a", "b"])


POOLS = {
    "array": lambda _: MemoryPool(X),
    "sparse": lambda _: MemoryPool(sparse.csr_array(X)),
    "polars": lambda _: MemoryPool(X, pl.DataFrame(COLUMNS)),
    "pandas": lambda _: MemoryPool(X, pd.DataFrame(COLUMNS, index=["x", "y", "z"])),
    "lazy": lambda _: LazyPool(3, lambda: X),
    "files": in_files,
}


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def places_and_rows(block):
    rows = zip(block.places.tolist(), block.keys.tolist(), dense(block.X).tolist(), strict=True)
    return sorted(rows)


@pytest.mark.parametrize("name", POOLS)
class TestEveryPool:
    def test_length_and_features(self, name, tmp_path):
        pool = POOLS[name](tmp_path)
        assert len(pool) == 3
        for positions in ([2, 0], [], [1], [1, 1, 0]):
            rows = dense(pool.features(np.array(positions, dtype=np.int64)))
            np.testing.assert_array_equal(rows, X[positions])

    def test_a_row_as_its_owner_knows_it(self, name, tmp_path):
        values = POOLS[name](tmp_path).values(2)
        if isinstance(values, dict):
            assert values == {"a": 5.0, "b": 0.0}
        else:
            np.testing.assert_array_equal(values, [5.0, 0.0])

    @pytest.mark.parametrize("block", [1, 2, 20_000])
    def test_a_scan_sees_every_row_once(self, name, block, tmp_path, monkeypatch):
        monkeypatch.setattr(memory, "BLOCK", block)
        monkeypatch.setattr(stretches, "READ", block)
        pool = POOLS[name](tmp_path)
        seen = pool.scan(places_and_rows, lambda one, other: sorted(one + other))
        assert seen == list(zip(range(3), pool.keys(np.arange(3)).tolist(), X.tolist(), strict=True))

    def test_the_progress_of_a_scan(self, name, tmp_path, monkeypatch):
        monkeypatch.setattr(memory, "BLOCK", 1)
        pool, told = POOLS[name](tmp_path), []
        pool.progress = lambda done, total: told.append((done, total))
        pool.scan(places_and_rows, lambda one, other: one + other)
        assert told == sorted(set(told)) and told[-1] == (3, 3)

    def test_an_error_in_a_visit_comes_out_unchanged(self, name, tmp_path):
        def visit(block):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="^'mine'$"):
            POOLS[name](tmp_path).scan(visit, lambda one, other: one)


def test_a_lazy_pool_is_loaded_once_and_only_if_needed():
    loads = []
    pool = LazyPool(3, lambda: loads.append(1) or X)
    assert len(pool) == 3 and not loads
    pool.features(np.array([0]))
    pool.values(1)
    assert loads == [1]
    copy = pickle.loads(pickle.dumps(pool))  # what is cached of it
    assert len(copy) == 3 and vars(copy) == {"_rows": 3, "_load": None, "_given": None}


def test_a_copy_of_a_pool_of_files_shows_no_progress(tmp_path):
    pool = in_files(tmp_path)
    pool.progress = lambda done, total: None  # cannot be pickled
    copy = pickle.loads(pickle.dumps(pool))
    assert copy.progress is None
    assert copy.features(np.array([2])).tolist() == [[5.0, 0.0]]

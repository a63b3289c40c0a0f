"""What every pool promises: a length, features at positions, and rows as their owner knows them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from unskew.campaigns.learning.prepared import LazyPool
from unskew.pools import MemoryPool

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
COLUMNS = {"a": X[:, 0], "b": X[:, 1]}

POOLS = {
    "array": lambda: MemoryPool(X),
    "sparse": lambda: MemoryPool(sparse.csr_array(X)),
    "polars": lambda: MemoryPool(X, pl.DataFrame(COLUMNS)),
    "pandas": lambda: MemoryPool(X, pd.DataFrame(COLUMNS, index=["x", "y", "z"])),
    "lazy": lambda: LazyPool(3, lambda: X),
}


@pytest.mark.parametrize("name", POOLS)
class TestEveryPool:
    def test_length_and_features(self, name):
        pool = POOLS[name]()
        assert len(pool) == 3
        for positions in ([2, 0], [], [1]):
            rows = pool.features(np.array(positions, dtype=np.int64))
            dense = rows.toarray() if sparse.issparse(rows) else rows
            np.testing.assert_array_equal(dense, X[positions])

    def test_a_row_as_its_owner_knows_it(self, name):
        values = POOLS[name]().values(2)
        if isinstance(values, dict):
            assert values == {"a": 5.0, "b": 0.0}
        else:
            np.testing.assert_array_equal(values, [5.0, 0.0])


def test_a_lazy_pool_is_loaded_once_and_only_if_needed():
    loads = []
    pool = LazyPool(3, lambda: loads.append(1) or X)
    assert len(pool) == 3 and not loads
    pool.features(np.array([0]))
    pool.values(1)
    assert loads == [1]
    assert pool.__getstate__() == {"_rows": 3, "_load": None, "_X": None}  # what is cached of it

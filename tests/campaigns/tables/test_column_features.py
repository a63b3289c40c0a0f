"""Each feature belongs to one column: replacing the column in the table replaces these features and no others."""

from datetime import date, timedelta

import numpy as np
import polars as pl

from unskew.campaigns.tables.column_features import column_features
from unskew.campaigns.tables.encoding import encoder, features


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "size": rng.normal(size=rows),
            "size is missing": rng.normal(size=rows),  # the name that the mark of the first column would have
            "region": rng.choice(["north", "south", "west"], rows),
            "member": rng.random(rows) < 0.5,
            "kind": rng.choice(["a", "b"], rows),
            "since": [date(2015, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 3000, rows)],
        }
    )
    return frame.with_columns(pl.when(pl.Series(rng.random(rows) < 0.8)).then(pl.all()).name.keep())


def test_replacing_a_column_replaces_its_features() -> None:
    frame, other = table(300, 0), table(300, 1)
    kinds = ["number", "number", "category", "boolean", "category", "date"]
    fitted = encoder(frame, dict(zip(frame.columns, kinds, strict=True)))
    X, Y, blocks = features(fitted, frame), features(fitted, other), column_features(fitted)
    assert list(blocks) == frame.columns
    assert sorted(np.concatenate(list(blocks.values()))) == list(range(X.shape[1]))
    for name, at in blocks.items():
        expected = X.copy()
        expected[:, at] = Y[:, at]
        np.testing.assert_array_equal(features(fitted, frame.with_columns(other[name])), expected)

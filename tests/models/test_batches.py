"""`LinearClassifier` fed from record batches: the same bits as from one array, columns by name, flat memory."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.data import LoggedData
from unskew.descent import CLOCKS, LOSSES
from unskew.errors import InputError
from unskew.models.bayes import BayesianLogistic
from unskew.models.linear import LinearClassifier
from unskew.sampling.weights import importance

NAMES = ["age", "debt", "income"]
ROWS = 1000


class Capsule:
    """A record batch of some other library: nothing but Arrow's interface for arrays."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


@pytest.fixture
def table():
    """Labelled rows in single precision, as a file has them."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (ROWS, 3)).astype(np.float32)
    y = np.where(X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.3, ROWS) > 0, "yes", "no")
    columns = dict(zip(NAMES, X.T, strict=True)) | {"y": y, "q0": np.where(X[:, 0] > 0, 0.5, 0.05)}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def learned(batches, **options):
    """A model that has seen these batches, each with its labels and propensities."""
    model = LinearClassifier(**options)
    for X, y, q0 in batches:
        model.partial_fit(X, y, classes=["no", "yes"], sample_weight=importance(q0))
    return model


def parts(table, size, make=lambda batch: batch):
    for batch in table.to_batches(max_chunksize=size):
        yield make(batch.select(NAMES)), batch["y"], batch["q0"]


def assert_same(model, other):
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.intercept_, other.intercept_)
    assert model.t_ == other.t_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("clock", CLOCKS)
def test_however_rows_are_cut_the_model_is_the_same_to_the_last_bit(table, loss, clock):
    options = {"loss": loss, "clock": clock, "fit_intercept": True}
    X = np.column_stack([table[name].to_numpy() for name in NAMES])
    whole = LinearClassifier(**options, shuffle=False).fit(X, np.asarray(table["y"]), importance(table["q0"]))
    assert whole.t_ > 0 and whole.intercept_ != 0
    for size in (1, 7, 400, ROWS):
        assert_same(learned(parts(table, size), **options), whole)
    for make in (pl.DataFrame, pa.RecordBatch.to_pandas, lambda batch: pa.Table.from_batches([batch]), Capsule):
        assert_same(learned(parts(table, 300, make), **options), whole)


def test_batches_of_a_file(table, tmp_path):
    pq.write_table(table, tmp_path / "log.parquet", row_group_size=130)
    whole = learned(parts(table, ROWS))
    for size in (50, 64, 5000):
        batches = pq.ParquetFile(tmp_path / "log.parquet").iter_batches(batch_size=size)
        model = learned((batch.select(NAMES), batch["y"], batch["q0"]) for batch in batches)
        assert_same(model, whole)
    assert model.feature_names_in_.tolist() == NAMES


def test_a_batch_without_rows_changes_nothing(table):
    whole = learned(parts(table, ROWS))
    empty = table.slice(0, 0)
    batch = (empty.select(NAMES), empty["y"], empty["q0"])
    assert_same(learned([batch, *parts(table, 400), batch]), whole)
    with pytest.raises(InputError, match=r"two classes; got no label\. .* partial_fit\(classes=\)"):
        LinearClassifier().partial_fit(*batch[:2])


@pytest.mark.parametrize("make", [pl.DataFrame, lambda batch: batch, Capsule])
def test_columns_are_read_by_name(table, make):
    first, second = table.slice(0, 500).combine_chunks(), table.slice(500).combine_chunks()
    whole = learned(parts(table, ROWS))
    model = learned(parts(first, 500))
    turned = second.select(NAMES[::-1]).to_batches()[0]
    model.partial_fit(make(turned), second["y"], sample_weight=importance(second["q0"]))
    assert_same(model, whole)
    X = second.select(NAMES).to_batches()[0]
    np.testing.assert_array_equal(model.predict(make(turned)), model.predict(X))
    np.testing.assert_array_equal(model.decision_function(make(turned)), model.decision_function(X.to_pandas()[NAMES]))


def test_other_classifiers_read_batches_too(table):
    batch = table.select(NAMES).to_batches()[0]
    turned = batch.select(NAMES[::-1])
    model = BayesianLogistic(frequencies=5, random_state=0).fit(batch, table["y"])
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(pl.DataFrame(batch)))


def changed(table, name, values):
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns("debt"), "X has no column 'debt'; the model was fitted with age, debt, income"),
        (lambda t: t.append_column("q0", t["age"]), "X has the unknown column 'q0'; the model was fitted with age"),
        (lambda t: changed(t, "debt", ["1", "2", "3"]), "column 'debt' of X must hold numbers or booleans; got String"),
        (lambda t: changed(t, "debt", [1.0, None, 3.0]), "got nan at row 1, column 'debt'. Impute or drop"),
        (lambda t: changed(t, "debt", [1, 2, None]), "got nan at row 2, column 'debt'. Impute or drop"),
        (lambda t: changed(t, "debt", [True, None, False]), "got nan at row 1, column 'debt'. Impute or drop"),
        (lambda t: changed(t, "debt", [1.0, 1e200, 1.0]), "got 1e+200 at row 1, column 'debt'. Scale"),
        (lambda t: t.append_column("debt", t["age"]), "X must be a table of named columns: .*more than once"),
        (lambda t: t["age"].combine_chunks(), "X must be a table of named columns"),
    ],
)  # fmt: skip
def test_refusals_name_the_column_and_nothing_is_learned(table, change, message):
    rows = change(table.slice(0, 3).select(NAMES))
    model = learned(parts(table, ROWS))
    before = model.coef_
    for give in (lambda: model.partial_fit(rows, ["yes", "no", "yes"]), lambda: model.predict(rows)):
        with pytest.raises(InputError, match=message.replace("+", r"\+")) as caught:
            give()
        assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(model.coef_, before)
    if "fitted" not in message:
        with pytest.raises(InputError, match=message.replace("+", r"\+")):
            LinearClassifier().partial_fit(rows, ["yes", "no", "yes"])


@pytest.mark.parametrize("labels", [["yes", None, "no"], [1, None, 0], [1.0, np.nan, 0.0]])
def test_a_row_without_a_label_is_refused(table, labels):
    rows = table.slice(0, 3).select(NAMES)
    for y in (pa.array(labels), pl.Series(labels), pd.Series(labels)):
        with pytest.raises(InputError, match="a label for every row; got none at row 1. Keep the rows that have one"):
            LinearClassifier().partial_fit(rows, y)


def test_memory_does_not_grow_with_the_number_of_batches():
    def peak(batches, rows=20_000):
        model = LinearClassifier()
        rng = np.random.default_rng(0)
        tracemalloc.start()
        for _ in range(batches):
            X = rng.normal(size=(rows, 10))
            frame = pl.DataFrame(X, schema=[f"x{k}" for k in range(10)])
            model.partial_fit(frame, (X[:, 0] > 0).astype(int))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most, X.nbytes

    peak(1)  # what is loaded and compiled on first use
    (few, size), (many, _) = peak(3), peak(30)
    assert many < few + size / 2
    assert many < 10 * size


def test_a_log_and_a_stream_of_record_batches_are_read_by_name():
    table = pa.table({"b": [0.0, 1.0, 2.0], "a": [5.0, 6.0, 7.0]})
    log = LoggedData(table, y=[0, 1, None], q0=0.5)
    assert log.features == ("b", "a") and log.X.tolist() == [[0.0, 5.0], [1.0, 6.0], [2.0, 7.0]]
    batch = pa.RecordBatch.from_pydict({"a": [8.0], "b": [3.0]})
    assert log.rows_like(batch).tolist() == [[3.0, 8.0]]

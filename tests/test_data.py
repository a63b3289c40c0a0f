"""LoggedData: what it accepts, what it makes of it, and how it refuses."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from unskew import LoggedData, Unskew
from unskew.errors import InputError, UnskewError
from unskew.labels import codes

X = np.array([[0.0, 1.0], [1.0, 0.5], [0.5, -1.0], [-1.0, 0.25]])
Y = [1, 0, np.nan, 1]
Q = [0.5, 0.25, 0.1, 1.0]


def test_labels_become_signs():
    log = LoggedData(X, Y, q0=Q)
    assert log.y.tolist() == [1.0, -1.0, 0.0, 1.0]
    assert log.z.tolist() == [True, True, False, True]
    assert log.classes.tolist() == [0, 1]
    assert log.m == len(log) == 4 and log.n_features == 2
    assert log.revealed_X.tolist() == X[[0, 1, 3]].tolist()
    assert log.revealed_before.tolist() == [0, 1, 2, 2, 3]
    assert log.revealed_y.tolist() == [1.0, -1.0, 1.0] and log.revealed_q0.tolist() == [0.5, 0.25, 1.0]


def test_a_hidden_label_is_not_used():
    """z says what was revealed, even where y holds more."""
    log = LoggedData(X, [1, 0, 0, 1], [1, 1, 0, 1], Q)
    assert log.y.tolist() == [1.0, -1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["paid", "default", None, "paid"], ["default", "paid"]),
        (np.array(["paid", "default", None, "paid"], dtype=object), ["default", "paid"]),
        ([True, False, None, True], [False, True]),
        ([2.0, -3.0, np.nan, 2.0], [-3.0, 2.0]),
        ([7, 5, None, 7], [5, 7]),
        (np.array([1.0, 0, None, 1.0], dtype=object), [0, 1]),
        (np.array([10.0, 2, None, 10], dtype=object), [2, 10]),
        (np.array([True, 0, None, 1], dtype=object), [0, 1]),
        (np.ma.array([1, 0, 0, 1], mask=[0, 0, 1, 0]), [0, 1]),
        (np.ma.array(["b", "a", "a", "b"], mask=[0, 0, 1, 0]), ["a", "b"]),
        (["nan", "NaT", None, "nan"], ["NaT", "nan"]),
        (["b", "<NA>", np.nan, "b"], ["<NA>", "b"]),
        (np.array(["b", "a", pd.NA, "b"], dtype=object), ["a", "b"]),
        (np.array(["b", "a", pd.NaT, "b"], dtype=object), ["a", "b"]),
        (np.array(["b", "a", np.float32("nan"), "b"], dtype=object), ["a", "b"]),
    ],
)
def test_any_two_class_values(labels, classes):
    log = LoggedData(X, labels, q0=Q)
    assert log.classes.tolist() == classes
    assert log.y.tolist() == [1.0, -1.0, 0.0, 1.0]


def test_frozen():
    log = LoggedData(X, Y, q0=Q)
    with pytest.raises(dataclasses.FrozenInstanceError):
        log.y = 3
    for same in (log, pickle.loads(pickle.dumps(log)), copy.deepcopy(log), copy.copy(log)):
        assert np.array_equal(same.X, X)
        for array in (same.X, same.y, same.z, same.q0, same.classes):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0


def test_does_not_alias_what_it_was_given():
    mine = X.copy()
    log = LoggedData(mine, Y, q0=Q)
    mine[0, 0] = 99.0
    assert log.X[0, 0] == 0.0


def test_csr():
    log = LoggedData(sparse.coo_matrix(X), Y, q0=Q)
    assert sparse.issparse(log.X) and log.X.format == "csr"
    assert np.array_equal(log.revealed_X.toarray(), X[[0, 1, 3]])
    with pytest.raises(InputError, match="got nan at row 1, column 0"):
        LoggedData(sparse.csr_matrix([[1.0, 0.0], [np.nan, 2.0]]), [0, 1], q0=0.5)


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_from_frame(frame):
    columns = {"a": X[:, 0], "b": X[:, 1], "label": ["x", "y", None, "x"], "seen": [1, 1, 0, 1], "q": Q}
    log = LoggedData.from_frame(frame(columns), label="label", propensity="q", revealed="seen")
    assert np.array_equal(log.X, X) and log.classes.tolist() == ["x", "y"]
    assert log.y.tolist() == [-1.0, 1.0, 0.0, -1.0] and log.q0.tolist() == Q
    some = LoggedData.from_frame(frame(columns), label="label", propensity=0.3, features=["b"])
    assert some.n_features == 1 and some.q0.tolist() == [0.3] * 4
    with pytest.raises(InputError, match="unknown column of the frame 'lable': did you mean 'label'"):
        LoggedData.from_frame(frame(columns), label="lable", propensity="q")


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_from_frame_integers_with_nulls(frame):
    columns = {"a": [1.0, 2.0, 3.0], "y": [1, None, 0], "q": [0.5] * 3}
    log = LoggedData.from_frame(frame(columns), label="y", propensity="q")
    assert log.y.tolist() == [1.0, 0.0, -1.0]


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_from_frame_with_text_features(frame):
    with pytest.raises(InputError, match="column .a. of the frame must hold numbers"):
        LoggedData.from_frame(frame({"a": ["u", "v"], "y": [1, 0], "q": [0.5, 0.5]}), label="y", propensity="q")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q0": [0.5, 0.0, 0.1, 1.0]}, r"q0 must be in \(0, 1\]; got 0\.0 at row 1\. Drop the row or pass floor="),
        ({"q0": [0.5, -0.1, 0.1, 1.0]}, r"q0 must be in \(0, 1\]; got -0\.1 at row 1\. Drop the row or pass floor="),
        ({"q0": [0.5, 0.2, 1.5, 1.0]}, r"q0 must be in \(0, 1\]; got 1\.5 at row 2\. Correct"),
        ({"q0": [0.5, 0.2, np.nan, 1.0]}, r"q0 must be in \(0, 1\]; got nan at row 2\. Correct"),
        (
            {"q0": [0.5, 1e-155, 0.1, 1.0]},
            r"q0 must be in \(0, 1\], and at least 1e-12; got 1e-155 at row 1\. Drop the row or pass floor=",
        ),
        ({"q0": Q, "floor": 1e-13}, r"floor must be in \(0, 1\], and at least 1e-12; got 1e-13"),
        ({"q0": [0.5, 0.2]}, r"q0 must have one value per row; got shape \(2,\) for 4 rows"),
        ({"q0": "often"}, "q0 must hold numbers"),
        ({"q0": Q, "floor": 0.0}, r"floor must be in \(0, 1\]; got 0\.0"),
        ({"z": [1, 1, 1, 1]}, "z = 1 needs a label; got y = nan at row 2. Set z to 0"),
        ({"z": [1, 2, 0, 1]}, "z must be 0 or 1; got 2 at row 1"),
        ({"z": [1, 1]}, r"z must have one value per row of X; got shape \(2,\) for 4 rows"),
        ({"classes": [1, 1]}, "classes must be different values.*Name each class once"),
        ({"y": [np.nan] * 4}, r"y must show two classes; got 0 labels.*Pass classes="),
        ({"y": [1, 1, np.nan, 1]}, r"y must show two classes; all 3 revealed rows are 1\.0\. Pass classes="),
        ({"y": [1, 0]}, r"y must have one value per row of X; got shape \(2,\) for 4 rows"),
        ({"y": [1, 0, None, 1], "classes": (0, 2)}, "labels must be 0 or 2; got 1 at position 0"),
        ({"X": np.where(X == 0.5, np.nan, X)}, "X must be finite; got nan at row 1, column 1. Impute"),
        ({"X": np.where(X == 0.5, np.inf, X)}, "X must be finite; got inf at row 1, column 1. Impute"),
        (
            {"X": np.where(X == 0.5, -1e155, X)},
            r"X must be at most 1e\+100 in size; got -1e\+155 at row 1, column 1. Scale the feature, or drop the row",
        ),
        (
            {"X": sparse.csr_array(np.where(X == 0.5, 1e155, X))},
            r"at most 1e\+100 in size; got 1e\+155 at row 1, column 1",
        ),
        ({"X": X[:, 0]}, "two dimensions"),
        ({"X": X[:, :0]}, "at least one feature"),
        ({"X": [["a"]] * 4}, "X must hold numbers only"),
        ({"X": X[:0], "y": []}, "at least one row"),
    ],
)
def test_refusals(changed, message):
    given = {"X": X, "y": Y, "q0": Q} | changed
    with pytest.raises(InputError, match=message) as caught:
        LoggedData(**given)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UnskewError)


def test_floor_raises_small_propensities():
    assert LoggedData(X, Y, q0=[0.5, 0.0, -1.0, 0.001], floor=0.01).q0.tolist() == [0.5, 0.01, 0.01, 0.01]


def test_classes_named_allow_a_log_without_labels():
    log = LoggedData(X, [None] * 4, q0=Q, classes=("no", "yes"))
    assert log.revealed_X.shape == (0, 2) and log.y.tolist() == [0.0] * 4


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_a_frame_keeps_the_names_of_its_columns(frame):
    """Later frames are read by them, whatever their order."""
    rows = {"a": [1.0, 2.0, 3.0, 4.0], "b": [True, False, True, False]}
    log = LoggedData(frame(rows), [0, 1, None, 1], q0=0.5)
    assert log.features == ("a", "b") and log.X.tolist() == [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0], [4.0, 0.0]]
    assert log.rows_like(frame(rows)[["b", "a"]]).tolist() == log.X.tolist()
    with pytest.raises(InputError, match="has no column 'a'"):
        log.rows_like(frame(rows)[["b"]])


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize("column", [["00017", "00018"], [datetime(2024, 5, 1), datetime(2024, 6, 1)]])
def test_what_could_be_turned_into_numbers_is_not(frame, column):
    with pytest.raises(InputError, match="column 'a' of X must hold numbers or booleans; got"):
        LoggedData(frame({"a": column}), [0, 1])


def test_a_label_of_another_type_is_shown_as_it_is():
    log = LoggedData([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="labels must be 0 or 1; got '1' at position 0"):
        codes(["1", "0"], log.classes)


def test_the_largest_features_and_the_least_propensities_that_are_taken():
    log = LoggedData(np.where(X == 0.5, 1e100, X), Y, q0=[0.5, 1e-12, 0.1, 1.0])
    assert log.X.max() == 1e100 and log.q0.min() == 1e-12
    assert LoggedData(sparse.csr_array((4, 2)), Y, q0=Q).X.nnz == 0


@pytest.mark.parametrize("blocks", [[(0, 3)], [(1, 1)], [(0, 2), (1, 2)], [(-1, 1)]])
def test_blocks_lie_within_the_columns(blocks: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError, match="blocks must be pairs .* within 2 columns that do not overlap"):
        LoggedData(X, [0, 1, None, None], q0=0.5, blocks=blocks)
    assert LoggedData(X, [0, 1, None, None], q0=0.5, blocks=[(0, 2)]).blocks == ((0, 2),)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("largest", [9.9e29, 1e38, 1e99])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_very_large_features_cause_no_warnings(largest: float, wrap: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(300, 3)), rng.normal(size=(200, 3))
    X[5, 1], X[7, 1], pool[3, 1] = largest, -largest, largest
    log = LoggedData(wrap(X), np.where(X[:, 0] > 0, 1, -1), z=rng.random(300) < 0.5, q0=np.full(300, 0.5))
    method = Unskew(random_state=0).start(log, wrap(pool))
    method.ask(10)
    method.tell(np.where(np.arange(10) % 2, 1, -1))
    assert set(method.predict(wrap(pool))) <= {-1, 1}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("largest", [1e30, 3.4e38, 3.5e38, 1e99, -3.5e38, -1e99])
def test_columns_of_very_large_features_cause_no_warnings(largest: float) -> None:
    """Sums of what a tree sees stay finite, not only the values themselves."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(rng.random(60) < 0.5, 1, -1)
    X *= largest / np.abs(X).max()
    for rows in (X, np.abs(X), -np.abs(X)):
        log = LoggedData(rows, y, z=rng.random(60) < 0.7, q0=np.full(60, 0.5))
        method = Unskew(random_state=0).start(log, rows)
        method.ask(5)
        method.tell(np.ones(5))
        assert 0.0 <= method.error().value <= 1.0

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew import weights
from unskew.errors import InputError

probability = st.floats(0.01, 1.0)


@given(st.lists(st.tuples(st.integers(1, 50), probability), min_size=1, max_size=5))
def test_mixture_weighs_a_row_by_the_expected_number_of_its_labels(sources):
    sizes, Q = zip(*sources, strict=True)
    expected = sum(sizes) / sum(n * q for n, q in sources)
    assert weights.mixture(sizes, Q) == pytest.approx(expected)
    assert weights.mixture(sizes, [np.full(3, q) for q in Q]) == pytest.approx(np.full(3, expected))


def test_one_source_is_importance_sampling():
    q = np.array([0.1, 0.5, 1.0])
    assert weights.mixture((7,), (q,)) == pytest.approx(weights.importance(q))
    assert weights.mixture((7, 0), (q, 1.0)) == pytest.approx(weights.importance(q))


def test_mean_of_revealed_weights_is_one_in_expectation():
    p, Q, sizes = np.array([0.3, 0.7]), np.array([[0.1, 0.8], [1.0, 0.0], [0.5, 0.5]]), np.array([10, 3, 4])
    v = weights.mixture(sizes, Q)
    assert sum(n_b * (p * Q_b * v).sum() for n_b, Q_b in zip(sizes, Q, strict=True)) == pytest.approx(sizes.sum())


def test_largest_is_the_supremum_of_the_mixture():
    q0 = np.linspace(0.02, 1.0, 50)
    assert weights.mixture((30, 10), (q0, 1.0)).max() == pytest.approx(weights.largest(30, 10, 0.02))
    assert weights.importance(q0).max() == pytest.approx(weights.largest(30, 0, 0.02))


def test_normalise_and_clip_compose():
    v = np.array([1.0, 3.0, 50.0])
    assert weights.clip(v, 5.0).tolist() == [1.0, 3.0, 5.0]
    assert weights.normalise(weights.clip(v, 5.0)).tolist() == pytest.approx([1 / 3, 1.0, 5 / 3])
    assert weights.clip(v, np.inf).tolist() == v.tolist()
    assert v.tolist() == [1.0, 3.0, 50.0], "inputs are left alone"


def test_effective_sample_size_is_between_one_and_the_number_of_rows():
    assert weights.effective_sample_size(np.full(9, 4.0)) == pytest.approx(9.0)
    assert weights.effective_sample_size([1e6, 1.0, 1.0]) == pytest.approx(1.0, abs=1e-4)
    assert weights.effective_sample_size([]) == 0.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: weights.importance([0.5, 0.0, 1.0]), "Q(x) must be positive; got 0.0 at row 1"),
        (lambda: weights.importance(np.nan), "got nan at row 0"),
        (lambda: weights.mixture((3, 2), (np.array([0.5, 0.0]), np.array([1.0, 0.0]))), "got 0.0 at row 1"),
        (lambda: weights.mixture((3, 2), (0.5,)), "got 2 sizes and 1 policies"),
        (lambda: weights.mixture((), ()), "got 0 sizes"),
        (lambda: weights.clip([1.0], 0.0), "must be positive; got 0.0"),
        (lambda: weights.normalise([0.0, 0.0]), "positive sum; got 0.0 over 2 rows"),
        (lambda: weights.largest(10, 0, 0.0), "m = 10, n = 0, xi = 0.0"),
    ],
)
def test_bad_input_is_named_in_one_line(call, says):
    with pytest.raises(InputError) as error:
        call()
    assert says in str(error.value)
    assert "\n" not in str(error.value)

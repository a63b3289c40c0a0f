import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import InputError
from unskew.sampling import weights

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


@given(st.lists(probability, min_size=1, max_size=60), st.integers(0, 30), st.randoms(use_true_random=False))
def test_thinness_is_the_mixture_with_the_rate_of_buying(q0, bought, random):
    log = np.array(q0)
    got = np.array([random.choice(q0) for _ in range(bought)])
    v = weights.thinness(log, log, got)
    assert v.mean() == pytest.approx(1.0) and (v > 0).all()
    nothing = weights.thinness(log, log, [])
    assert nothing == pytest.approx(weights.normalise(weights.importance(log) ** 0.25))
    # where the whole log has one propensity there is nothing to weigh
    assert weights.thinness(np.full(5, 0.3), np.full(2, 0.3), np.full(3, 0.3)) == pytest.approx(np.ones(5))


def test_thinness_settles_as_a_blind_spot_is_filled():
    """Half the rows at q0 = 0.5, half at 0.01: 100 labels bought in the thin half make both halves count alike."""
    log = np.repeat([0.5, 0.01], 100)
    ratios = []
    for bought in (0, 20, 98, 400):
        v = weights.thinness(log, np.array([0.5, 0.01]), np.full(bought, 0.01))
        ratios.append(v[1] / v[0])
    assert ratios[0] == pytest.approx(50**0.25)
    assert ratios[2] == pytest.approx((100 / (2 + 196)) ** 0.25)
    assert ratios == sorted(ratios, reverse=True)


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

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


def slow_thinness(q0, counts, rate, labelled, bought):
    """`thinness` one label at a time: how many labels were to be expected where it is."""
    edges = {sorted(q0)[round(k / weights.BINS * (len(q0) - 1))] for k in range(1, weights.BINS)}
    labels, N = [*labelled, *bought], sum(counts)

    def bin_of(q):
        return sum(min(max(q, min(q0)), max(q0)) >= edge for edge in edges)

    found = []
    for q in labels:
        here = sum(u for other, u in zip(q0, counts, strict=True) if bin_of(other) == bin_of(q))
        near = sum(bin_of(other) == bin_of(q) for other in bought)
        found.append((N * rate * min(max(q, min(q0)), max(q0)) + near / (here / N)) ** -0.25)
    return np.array(found) * len(found) / sum(found)


@pytest.mark.parametrize("rate", [1.0, 0.2, 0.01])
@pytest.mark.parametrize("seed", range(4))
def test_thinness_of_a_log_of_which_some_rows_are_kept(rate, seed):
    """Labels of the log are a share `rate` of all it had; of the bought labels, all are here."""
    rng = np.random.default_rng(seed)
    q0 = rng.choice(rng.uniform(0.02, 0.9, 25), 101)
    counts = rng.uniform(1.0, 30.0, 101)
    labelled, bought = rng.choice(q0, 20), np.append(rng.choice(q0, 12), [0.001, 0.99])
    found = weights.thinness(q0, labelled, bought, counts=counts, rate=rate)
    assert found == pytest.approx(slow_thinness(q0, counts, rate, labelled, bought), rel=1e-12)


def test_thinness_of_a_kept_log_changes_with_the_rate():
    """If one label in a hundred is kept, labels bought where the log is thin soon count less."""
    q0, counts = np.repeat([0.5, 0.01], 100), np.full(200, 100.0)
    whole = weights.thinness(q0, [0.5, 0.01], np.full(100, 0.01), counts=counts)
    kept = weights.thinness(q0, [0.5, 0.01], np.full(100, 0.01), counts=counts, rate=0.01)
    assert whole[1] / whole[0] == pytest.approx((10_000 / (200 + 200)) ** 0.25)
    assert kept[1] / kept[0] == pytest.approx((100 / (2 + 200)) ** 0.25)


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

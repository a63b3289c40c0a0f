"""How many labels for a width: the predicted number gives about the predicted width."""

import math

import numpy as np
import pytest
from scipy.special import expit

from unskew import BayesianLogistic, LoggedData, Unskew
from unskew.errors import InputError
from unskew.estimation.ahead import Needed
from unskew.estimation.design import Design
from unskew.estimation.everyone import Everyone
from unskew.estimation.planning import WIDTHS, Widths, worth_of_draws
from unskew.sampling.draws import doubt, spread

LOG, POOL = 300, 2000


def begun(
    seed: int, drawn: float, first: int = 60, *, estimated: bool = False, n: int = POOL
) -> tuple[Unskew, np.ndarray]:
    """A method with some labels, where the model's probabilities can be right, and the labels of its pool."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (LOG + n, 2))
    y = rng.random(LOG + n) < expit(4.0 * (X[:, 0] + X[:, 1]))
    q0 = np.where(X[:, 0] > 0, 0.5, 0.1)
    log = LoggedData(X[:LOG], y[:LOG], rng.random(LOG) < q0[:LOG], q0[:LOG], q0_estimated=estimated)
    method = Unskew(drawn=drawn, model=BayesianLogistic(), random_state=seed).start(log, X[LOG:])
    if first:
        method.tell(y[LOG:][method.ask(first)])
    return method, y[LOG:]


def half(method: Unskew) -> float:
    found = method.error()
    return 1.96 * found.standard_error


@pytest.mark.parametrize(("drawn", "target"), [(0.4, 0.05), (1.0, 0.035)])
def test_the_predicted_number_of_labels_gives_about_the_predicted_width(drawn: float, target: float) -> None:
    reached, wanted = [], []
    for seed in range(8):
        method, y = begun(seed, drawn)
        needed = method.labels_for(target)
        assert needed.labels is not None and needed.drawn is not None
        assert needed.drawn == pytest.approx(drawn * needed.labels, abs=2)
        for k in np.diff(np.linspace(0, needed.labels, 4).astype(int)):
            method.tell(y[method.ask(int(k))])
        reached.append(half(method) / target)
        wanted.append(needed.labels)
    assert 0.9 < np.mean(reached) < 1.1
    assert np.std(reached) < 0.2  # one campaign shows more or fewer errors than another
    assert min(wanted) > 50


@pytest.mark.parametrize("drawn", [0.5, 1.0])
def test_a_pool_that_runs_out_keeps_the_promise(drawn: float) -> None:
    """Near the end, few rows are left for a draw to be wrong about. The log does not count."""
    ratios = []
    for seed in range(6):
        method, y = begun(seed, drawn, estimated=True, n=300)
        plan, kept = Widths(method.everyone(), drawn), []
        for at in (100, 200, 300):
            while method.labels_ < at:
                method.tell(y[method.ask(20)])
            kept.append(plan.half_width(at - 60) / half(method))
        ratios.append(kept)
    assert np.mean(ratios, axis=0) == pytest.approx([1.0, 1.0, 1.0], abs=0.12)


def test_a_few_doubtful_rows_of_a_large_pool_are_not_overlooked() -> None:
    wrong = np.append(np.full(50_000, 1e-6), np.full(10, 0.3))
    labels, worth = worth_of_draws(wrong, len(wrong))
    assert worth[0] == pytest.approx(len(wrong) ** 2 / spread(wrong, doubt(wrong)))
    assert worth[0] < np.interp(10, labels, worth) < 1.5 * worth[0]
    assert (np.diff(worth) >= 0.0).all() and labels[-1] > len(wrong) - 1


def test_a_width_that_only_a_pool_that_runs_out_can_reach() -> None:
    """Draws that are worth as much as the first would need more labels than there are rows."""
    method, _ = begun(0, 0.5, estimated=True, n=300)
    plan = Widths(method.everyone(), 0.5)
    needed = plan.labels_for(0.045)
    assert needed.labels is not None and 150 < needed.labels < plan.left == 240
    widths = [plan.half_width(k) for k in range(200, 241)]
    assert widths == sorted(widths, reverse=True)


def test_what_is_expected_now_is_the_interval_that_there_is() -> None:
    method, _ = begun(3, 0.4)
    prospect = Widths(method.everyone(), 0.4)
    assert prospect.half_width(0) == pytest.approx(half(method), rel=1e-3)
    widths = [prospect.half_width(k) for k in (0, 50, 200, 1000)]
    assert widths == sorted(widths, reverse=True)
    ahead = prospect.ahead(90)
    assert (ahead.left, ahead.half_width) == (90, prospect.half_width(90))
    assert [plan.half_width for plan in ahead.needed] == list(WIDTHS)


def test_a_width_that_is_reached_needs_none_and_one_beyond_the_pool_cannot_be_had() -> None:
    method, _ = begun(0, 0.4)
    assert method.labels_for(0.3) == Needed(0.3, 0, 0)
    assert method.labels_for(0.005) == Needed(0.005, None, None)


def test_fewer_labels_are_needed_if_all_are_drawn() -> None:
    method, _ = begun(1, 0.4)
    everyone = method.everyone()
    all_drawn, some = (Widths(everyone, drawn).labels_for(0.05).labels for drawn in (1.0, 0.4))
    assert all_drawn is not None and some is not None
    assert 2.0 < some / all_drawn < 3.0


def test_before_the_first_drawn_label_an_estimated_log_does_not_count() -> None:
    """The first drawn label replaces it, so its interval, however narrow, is no reason to stop."""
    given, _ = begun(2, 0.4, 0)
    estimated, _ = begun(2, 0.4, 0, estimated=True)
    width = half(estimated) * 1.5
    assert given.labels_for(width).labels == 0
    needed = estimated.labels_for(width)
    assert needed.labels is not None and needed.labels > 10
    assert math.isinf(Widths(estimated.everyone(), 0.4).half_width(0))


def test_without_any_label_the_draw_is_even() -> None:
    """n coin flips: a half-width of 0.1 needs about 0.25 (1.96 / 0.1)^2 draws, and more for the rows' own sake."""
    everyone = Everyone(Design(np.zeros(0), np.zeros(0), 5000), np.zeros(5000), np.zeros(5000))
    needed = Widths(everyone, 1.0).labels_for(0.1)
    assert needed.labels == needed.drawn
    assert needed.labels is not None and 96 <= needed.labels <= 100


@pytest.mark.parametrize(
    ("width", "drawn", "message"), [(0.0, 0.4, "half_width must be in"), (0.02, 0.0, "drawn must be in")]
)
def test_what_cannot_be_planned_is_refused(width: float, drawn: float, message: str) -> None:
    method, _ = begun(0, 0.4, 0)
    method.drawn = drawn
    with pytest.raises(InputError, match=message):
        method.labels_for(width)


def test_a_log_goes_on_counting_as_a_small_pool_runs_out() -> None:
    """More labels never make the interval much wider, and a width that is reached on the way is found."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1560, 2))
    y = (X[:, 0] + X[:, 1] > 0) ^ (rng.random(1560) < 0.15)
    log = LoggedData(X[:1500], y[:1500], rng.random(1500) < 0.3, 0.3)
    method, half_widths = Unskew(random_state=0).start(log, X[1500:]), []
    for k in (20, 20, 15, 5):
        method.tell(y[1500:][method.ask(k)])
        half_widths.append(half(method))
        plan = Widths(method.everyone(), 0.5)
        promised = [plan.half_width(labels) for labels in range(plan.left + 1)]
        assert max(np.diff(promised), default=0.0) < 0.002
    assert max(np.diff(half_widths)) < 0.005 and method.left == 0


def test_skipped_rows_are_not_promised() -> None:
    method, y = begun(0, 0.5)
    asked = method.ask(30)
    method.tell([None if k % 2 else label for k, label in enumerate(y[asked])])
    assert Widths(method.everyone(), 0.5).left == method.left

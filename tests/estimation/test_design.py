"""The design: unbiased over every course of a campaign, with and without lost rows, by enumeration."""

from itertools import permutations, product

import numpy as np
import pytest

from people import NO_LOG, NONE, Population, first_round_loses_12_of_15, three_in_ten_skipped
from unskew.errors import InputError
from unskew.estimation.design import Design, Expected, Moments, Picked, Revealed
from unskew.estimation.strata import Part, Strata
from unskew.sampling.draws import doubt, spread, stand_for

N = 6
WRONG = np.array([0.5, 0.4, 0.2, 0.1, 0.05, 0.3])


def courses(sizes, choose, evenly=False):
    """Every course of a campaign with its chance; `choose` picks rows after seeing what was asked before."""
    found = [(1.0, ())]
    for a in sizes:
        longer = []
        for chance, rounds in found:
            asked = [int(i) for r in rounds for part in r[:2] for i in part]
            chosen = choose([i for i in range(N) if i not in asked], asked)
            rest = [i for i in range(N) if i not in asked and i not in chosen]
            w = np.full(len(rest), 1 / len(rest)) if evenly else doubt(WRONG[rest])
            for order in permutations(range(len(rest)), a):
                left, p = w.sum(), []
                for i in order:
                    p.append(w[i] / left)
                    left -= w[i]
                rows = np.array([rest[i] for i in order], dtype=int)
                picked = Picked(
                    np.array(chosen, dtype=int), rows, stand_for(np.array(p)), spread=spread(WRONG[rest], w)
                )
                if evenly:  # as versions before 0.4.0 wrote them: the share that was drawn, and no spread
                    picked = Picked(np.array(chosen, dtype=int), rows, np.full(a, len(rest) / max(a, 1)))
                longer.append((chance * float(np.prod(p)), (*rounds, picked)))
        found = longer
    return found


def adaptive(left, asked):
    """Row 0 leads to its neighbour 1, everything else to the largest left: a choice that depends on the draws."""
    return [1] if 0 in asked and 1 in left else [max(left)]


@pytest.mark.parametrize("evenly", [False, True])
def test_one_round_is_unbiased_over_every_draw(evenly):
    x, mean = np.random.default_rng(0).random(N), 0.0
    for chance, rounds in courses((2,), adaptive, evenly):
        mean += chance * float(Design(*NO_LOG, N, rounds).pool_weights(0.2) @ x)
    assert mean == pytest.approx(x.mean())


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 0, 1)])
def test_every_round_is_unbiased_given_those_before(sizes):
    """Rounds count by figures that are known before their draws, so each adds an unbiased estimate."""
    x = np.random.default_rng(1).random(N)
    means = np.zeros(len(sizes))
    for chance, rounds in courses(sizes, adaptive):
        design = Design(*NO_LOG, N, rounds)
        for k in np.flatnonzero(sizes):
            before = np.concatenate([np.concatenate(r[:2]) for r in rounds[:k]] + [rounds[k].chosen])
            means[k] += chance * (x[before].sum() + design.stand_for(k) @ x[rounds[k].drawn]) / N
    assert means[np.flatnonzero(sizes)] == pytest.approx(x.mean())


@pytest.mark.parametrize("known", [[2], [0, 5], [1, 3, 4]])
def test_labels_from_before_leave_the_estimate_unbiased_however_they_came(known):
    """They are those of the largest values, say. Chosen rows that are not answered yet never lean on them."""
    x = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
    before = Picked(np.array(known), NONE, np.zeros(0), spread=0.0, before=True)
    rest = [i for i in range(N) if i not in known]
    w = doubt(WRONG[rest])
    mean = 0.0
    for i, p in zip(rest, w, strict=True):
        drawn = Picked(NONE, np.array([i]), stand_for(np.array([p])), spread=spread(WRONG[rest], w))
        design = Design(*NO_LOG, N, (before, drawn))
        assert design.rest.tolist() == [len(rest), len(rest)] and design.draws == 1
        mean += p * float(design.pool_weights(0.25) @ x)
    assert mean == pytest.approx(x.mean())
    waiting = Picked(NONE, np.array(rest[:1]), np.array([float(len(rest) - 1)]), chosen_lost=1, spread=1.0)
    weights = Design(*NO_LOG, N, (before, waiting)).pool_weights(0.25) * N
    assert weights[known].tolist() == [1.0] * len(known) and weights[rest[0]] == pytest.approx(len(rest))


def test_with_equal_shares_the_whole_is_unbiased():
    """The shares of rounds depend a little on earlier draws. Where they do not, nothing is left of the bias."""
    x, mean = np.random.default_rng(2).random(N), 0.0
    for chance, rounds in courses((1, 2), adaptive):
        fixed = tuple(r._replace(spread=1.0) for r in rounds)
        mean += chance * float(Design(*NO_LOG, N, fixed).pool_weights(0.2) @ x)
    assert mean == pytest.approx(x.mean())


@pytest.mark.parametrize(("sizes", "close"), [((2,), 1e-9), ((3,), 0.05), ((2, 1), 0.05)])
def test_the_variance_of_the_draw_is_the_one_that_is_claimed(sizes, close):
    """Residuals of a right model are independent with mean 0. Over every draw; exact for one round of two."""
    actual = claimed = 0.0
    for chance, rounds in courses(sizes, adaptive):
        design = Design(*NO_LOG, N, rounds)
        off = design.pool_weights(0.2) - 1 / N  # from the weights of a pool with every label known
        actual += chance * float(off**2 @ (WRONG * (1 - WRONG)))
        claimed += chance * design.of_draws(Expected(WRONG * (1 - WRONG), np.zeros(len(WRONG))), 0.2).variance
    assert claimed == pytest.approx(actual, rel=close)


def test_a_pool_labelled_to_the_end_is_counted():
    design = Design(*NO_LOG, 30, (Picked(np.arange(30), NONE, np.zeros(0)),))
    assert design.complete and design.measures_pool
    assert design.pool_weights(0.2).tolist() == [1 / 30] * 30


def test_drawn_rows_stand_for_the_whole_rest_while_no_chosen_row_is_answered():
    design = Design(*NO_LOG, 10, (Picked(NONE, np.array([1, 2]), np.array([3.0, 3.0]), 4, 0, 1.0),))
    assert design.pool_weights(0.2).tolist() == [0.0, 0.5, 0.5] + [0.0] * 7


@pytest.mark.parametrize("lose", [None, three_in_ten_skipped, first_round_loses_12_of_15])
def test_weights_add_up_to_the_pool_on_average(lose):
    rng = np.random.default_rng(14)
    sums = [Population().campaign(rng, rounds=5, lose=lose).design.pool_weights(0.1).sum() for _ in range(200)]
    assert np.mean(sums) == pytest.approx(1.0, abs=4 * np.std(sums) / np.sqrt(200))


def test_rounds_without_a_spread_count_by_what_an_even_draw_would_leave():
    """Ledgers of older versions, alone and followed by rounds in proportion to doubt."""
    old = Picked(NONE, np.array([0, 1]), np.array([3.0, 3.0]))
    new = Picked(NONE, np.array([2, 3]), np.array([2.0, 2.0]), spread=2.0)
    assert Design(*NO_LOG, 6, (old, new)).spreads(0.25).tolist() == [36 * 0.25, 2.0]
    assert Design(*NO_LOG, 6, (old,)).round_shares(0.25).tolist() == [1.0]
    shares = Design(*NO_LOG, 6, (old, new)).round_shares(0.25)
    assert shares.tolist() == pytest.approx([(2 / 9) / (2 / 9 + 1), 1 / (2 / 9 + 1)])


def test_positions_are_checked():
    for chosen, says in ((np.array([1, 1]), "twice"), (np.array([4]), "0 to 3; got 4")):
        with pytest.raises(InputError, match=says):
            Design(*NO_LOG, 4, (Picked(chosen, NONE, np.zeros(0)),))
    with pytest.raises(InputError, match=r"z and q0 must have one value per row; got shapes \(2,\), \(1,\)"):
        Design([True, False], [0.5])


def cumulants(values, chances):
    """Mean, variance and third cumulant of a variable with these values and their chances."""
    values, chances = np.asarray(values), np.asarray(chances)
    mean = float(chances @ values)
    return mean, float(chances @ (values - mean) ** 2), float(chances @ (values - mean) ** 3)


def test_the_moments_expected_of_a_log_are_those_over_every_course():
    """Which rows are revealed and what their labels are, by enumeration: of the mean of z x / q."""
    q, p = np.array([0.9, 0.5, 0.2, 0.7]), np.array([0.3, 0.8, 0.1, 0.5])
    delta = np.array([1.0, -2.0, 0.5, 3.0])
    values, chances = [], []
    for z, t in product(product((0, 1), repeat=4), repeat=2):
        z, t = np.array(z), np.array(t)
        chances.append(np.prod(np.where(z, q, 1 - q)) * np.prod(np.where(t, p, 1 - p)))
        values.append((z * delta * (t - p) / q).mean())
    mean, variance, third = cumulants(values, chances)
    square = delta**2 * p * (1 - p)
    expected = Expected(square, square * delta * (1 - 2 * p))
    # no label was wrong, so the variance that the labels show is 0, and what is expected counts
    found = Revealed(np.ones(4, dtype=bool), q).moments(np.zeros(4), expected)
    assert mean == pytest.approx(0.0)
    assert found == (pytest.approx(variance), pytest.approx(third))


def test_the_moments_that_a_log_shows_are_right_on_average():
    """Rows that are alike, each revealed with the same chance, by enumeration."""
    n, q, x = 6, 0.3, 2.0
    values, chances, shown = [], [], []
    for bits in product((False, True), repeat=n):
        z = np.array(bits)
        chances.append(np.prod(np.where(z, q, 1 - q)))
        values.append(float((z * x / q).mean()))
        nothing = Expected(np.zeros(n), np.zeros(n))
        found = Revealed(z, np.full(n, q)).moments(np.where(z, x, 0.0), nothing)
        # Without a label, the variance is infinite; here it is that of equal terms
        shown.append(found if z.any() else Moments(0.0))
    _, variance, third = cumulants(values, chances)
    assert np.dot(chances, [one.variance for one in shown]) == pytest.approx(variance)
    free = (n - 1) * (n - 2) / n**2  # as n - 1 of n squares are free, because the mean is taken off
    assert np.dot(chances, [one.third for one in shown]) == pytest.approx(third * free)


@pytest.mark.parametrize("expect", [0.0, 5.0])
def test_rows_of_a_log_that_are_not_here_count_in_its_moments(expect):
    """A labelled row that stands for three is one label and two rows whose label is not here."""
    rng = np.random.default_rng(3)
    z, q = np.array([True, True, True, False, False]), np.array([0.2, 0.3, 0.1, 0.4, 0.2])
    x, square, cube = (rng.normal(size=5) for _ in range(3))
    x, square, cube = np.where(z, x, 0.0), expect * np.abs(square), expect * cube
    counts = np.array([3.0, 3.0, 3.0, 4.0, 4.0])
    copies = np.repeat(np.arange(5), counts.astype(int))
    here = np.append(True, copies[1:] != copies[:-1])
    held = Revealed(z, q, counts)
    whole = Revealed(z[copies] & here, q[copies])
    found = held.moments(x, Expected(square, cube))
    twin = whole.moments(np.where(here, x[copies], 0.0), Expected(square[copies], cube[copies]))
    assert held.n == whole.n == 17
    assert found == (pytest.approx(twin.variance), pytest.approx(twin.third)) and found.third != 0.0
    assert held.anticipated(square) == pytest.approx(whole.anticipated(square[copies]))


def test_the_moments_of_a_draw_are_those_over_every_draw():
    """Each row is there with chance 1 / u and then stands for u: over every set of rows."""
    u, x = np.array([1.0, 1.5, 2.0, 4.0, 10.0]), np.array([1.0, -1.0, 2.0, 0.5, 1.0])
    values, chances, variances, thirds = [], [], [], []
    for bits in product((False, True), repeat=5):
        rows = np.flatnonzero(bits)
        chances.append(np.prod(np.where(bits, 1 / u, 1 - 1 / u)))
        values.append((u * x)[rows].sum() / 5)
        picked = Picked(NONE, rows, u[rows], spread=1.0)
        found = Design(*NO_LOG, 5, (picked,)).of_draws(Expected(x**2, x**3), 0.2)
        if not len(rows):
            found = Moments(0.0)
        variances.append(found.variance)
        thirds.append(found.third)
    mean, variance, third = cumulants(values, chances)
    assert mean == pytest.approx(x.mean())
    assert np.dot(chances, variances) == pytest.approx(variance)
    assert np.dot(chances, thirds) == pytest.approx(third)


def moments_one_row_at_a_time(design, square, cube, even):
    """`of_draws`, slow: every way in which a row counts, as a coin that falls with chance 1 / u."""
    variance = third = 0.0
    shares = [design.round_shares(even, stratum) for stratum in range(len(design._strata.parts))]
    for k, (chosen, drawn) in enumerate(design.standing()):
        for i in range(design.held):
            share = shares[design._strata.of[i]]
            ways = [(share[k:].sum(), chosen.each)] if i in chosen.rows else []
            if i in design.rounds[k].drawn:
                ways.append((share[k], design.stand_for(k)[list(design.rounds[k].drawn).index(i)]))
            if i in drawn.rows:
                ways.append((share[k + 1 :].sum(), drawn.each))
            for counts, u in ways:
                _, second, skew = cumulants([0.0, counts * u], [1 - 1 / u, 1 / u])
                variance += u * second * square[i]
                third += u * skew * cube[i]
    return Moments(variance / design.n**2, third / design.n**3)


@pytest.mark.parametrize("grown", [False, True])
def test_the_moments_of_several_rounds_are_those_of_one_row_after_another(grown):
    """Rounds of unequal worth, some rows lost; in a pool that grew, new rows are a stratum."""
    rng = np.random.default_rng(7)
    rounds = (
        Picked(np.array([0, 1]), np.array([2, 3, 4]), np.array([9.0, 6.0, 4.5]), 1, 2, 3.0),
        Picked(np.array([5]), np.array([6, 7]), np.array([8.0, 3.5]), 0, 1, 1.0),
        Picked(np.array([8, 9, 10]), np.array([11, 12]), np.array([5.0, 2.5]), 2, 0, 2.0),
    )
    strata = Strata.at([Part(24), Part(6, since=2)], np.arange(30)) if grown else None
    if grown:
        last = Picked(np.array([25]), np.array([13, 27]), np.array([6.0, 5.0]), 1, 1, 1.5)
        rounds = (*rounds, last)
    design = Design(*NO_LOG, 30, rounds, strata=strata)
    square, cube = rng.random(30), rng.normal(size=30)
    found = design.of_draws(Expected(square, cube), 0.2)
    twin = moments_one_row_at_a_time(design, square, cube, 0.2)
    assert found == (pytest.approx(twin.variance), pytest.approx(twin.third))
    assert found.third != 0.0
    x = np.sqrt(square)
    shown = design.moments(x, Expected(np.zeros(30), np.zeros(30)), 0.2)
    again = moments_one_row_at_a_time(design, square, x**3, 0.2)
    assert shown == (pytest.approx(again.variance), pytest.approx(again.third))


def test_rows_that_nobody_can_stand_for_are_carried_by_the_drawn_ones():
    """No chosen row and none of the first draw is answered: later draws stand for them too."""
    rounds = (
        Picked(NONE, NONE, np.zeros(0), 3, 2, 1.0),
        Picked(NONE, np.array([0, 1]), np.array([10.0, 8.0]), 4, 1, 1.0),
        Picked(NONE, np.array([2]), np.array([6.0]), 1, 0, 1.0),
    )
    design = Design(*NO_LOG, 40, rounds)
    rest = [40 - 3, 40 - 5 - 4, 40 - 5 - 7 - 1]  # those not asked for before, and not chosen
    assert design.rest.tolist() == rest
    drawn = [np.zeros(0), np.array([10.0, 8.0]) * 3 / 2, np.array([6.0])]
    # Of the rows that were chosen so far, none is answered; of the drawn ones, some are
    for k, nobody in enumerate((3, 7, 8)):
        assert design.stand_for(k) == pytest.approx(drawn[k] * (rest[k] + nobody) / rest[k])


def test_drawn_rows_of_a_time_without_an_answer_are_carried_by_later_draws_alone():
    """The pool grew after round 0, whose drawn rows are lost: they count from round 1 on."""
    strata = Strata.at([Part(20), Part(10, since=1)], np.arange(30))
    rounds = (
        Picked(np.array([0]), NONE, np.zeros(0), 0, 4, 1.0),
        Picked(np.array([1]), np.array([2, 25]), np.array([20.0, 9.0]), 0, 0, 1.0),
    )
    design = Design(*NO_LOG, 30, rounds, strata=strata)
    rest = 30 - 1 - 4 - 1
    assert design.rest.tolist() == [19, rest]
    assert design.stand_for(1) == pytest.approx(np.array([20.0, 9.0]) * (rest + 4) / rest)
    first = rounds[0]._replace(drawn=np.array([5]), stand_for=np.array([19.0]), drawn_lost=3)
    early = Design(*NO_LOG, 30, (first, rounds[1]), strata=strata)
    assert early.stand_for(1).tolist() == [20.0, 9.0]

"""Draws from a pool: chances and weights by enumeration, the hash, the race."""

from itertools import permutations

import numpy as np
import pytest

from unskew.hashing import exponentials
from unskew.sampling.draws import doubt, race, spread, stand_for

W = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])


def courses(w, k):
    """Every order in which k rows can be drawn, with its chance and the chances at the turns."""
    for order in permutations(range(len(w)), k):
        left, p = w.sum(), []
        for i in order:
            p.append(w[i] / left)
            left -= w[i]
        yield np.array(order, dtype=int), float(np.prod(p)), np.array(p)


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_sum_over_a_draw_is_unbiased_over_every_draw(k):
    x = np.random.default_rng(0).normal(size=len(W))
    mean = chances = 0.0
    for order, chance, p in courses(W, k):
        mean += chance * float(stand_for(p) @ x[order])
        chances += chance
    assert chances == pytest.approx(1.0)
    assert mean == pytest.approx(x.sum())


@pytest.mark.parametrize("k", [1, 3])
def test_the_race_draws_every_order_with_the_chance_it_says(k):
    """8,000 races: each order comes up as often as enumeration says, and reports the chances at its turns."""
    races, seen = 8_000, {}
    numbers = np.array([exponentials(seed, np.arange(len(W))) for seed in range(races)])
    for row in numbers:
        drawn = race(W, row, k)
        seen.setdefault(tuple(drawn.rows.tolist()), []).append(drawn.p)
    for order, chance, p in courses(W, k):
        found = seen.get(tuple(order.tolist()), [])
        assert len(found) / races == pytest.approx(chance, abs=4.5 * np.sqrt(chance / races) + 1e-9)
        assert all(np.allclose(each, p) for each in found)


def test_the_variance_of_one_draw_is_the_spread_where_the_model_is_right():
    """Labels are wrong with chance e, independently; by enumeration of draw and labels."""
    e = np.array([0.5, 0.3, 0.1])
    w = doubt(e)
    variance = sum(w[i] * e[i] * (1 - e[i]) / w[i] ** 2 for i in range(3))  # of (wrong_i - e_i) / w_i, mean 0
    assert spread(e, w) == pytest.approx(variance)


def test_doubt_has_the_least_spread_but_for_the_share_that_is_even():
    rng = np.random.default_rng(1)
    e = rng.beta(1, 5, 200)
    best = spread(e, doubt(e, evenly=0.0))
    assert best == pytest.approx(np.sqrt(e * (1 - e)).sum() ** 2)
    for other in (np.full(200, 1 / 200), e / e.sum(), rng.dirichlet(np.ones(200))):
        assert spread(e, other) > best
    assert best < spread(e, doubt(e)) < 1.1 * best


def test_an_error_that_costs_four_times_as_much_is_four_times_as_much_in_doubt():
    wrong, cost = np.array([0.5, 0.5, 0.1, 0.9]), np.array([1.0, 4.0, 1.0, 1.0])
    d = np.array([0.5, 2.0, 0.3, 0.3])
    assert doubt(wrong, cost) == pytest.approx(0.9 * d / d.sum() + 0.1 / 4)
    assert doubt(wrong, cost, evenly=0.3) == pytest.approx(0.7 * d / d.sum() + 0.3 / 4)


def test_the_spread_does_not_depend_on_the_scale_of_the_weights():
    e, w = np.array([0.5, 0.3, 0.1]), np.array([3.0, 2.0, 1.0])
    assert spread(e, w) == pytest.approx(spread(e, w / w.sum()))


def test_every_row_can_be_drawn():
    w = doubt(np.array([0.5, 1e-300, 0.0, 1.0]))
    assert (w >= 0.1 / 4).all() and w.sum() == pytest.approx(1.0)
    assert doubt(np.zeros(4)).tolist() == [0.25] * 4


def test_a_draw_does_not_depend_on_how_the_pool_is_cut():
    rng = np.random.default_rng(2)
    w, places = rng.random(1000), np.arange(1000)
    whole = race(w, exponentials(5, places), 20)
    cut = rng.permutation(1000)
    again = race(w[cut], exponentials(5, cut), 20)
    assert cut[again.rows].tolist() == whole.rows.tolist()
    assert again.p == pytest.approx(whole.p)
    assert race(w, exponentials(6, places), 20).rows.tolist() != whole.rows.tolist()


def test_the_hash_is_uniform_and_independent_from_seed_to_seed():
    places = np.arange(50_000)
    one, other = exponentials(1, places), exponentials(2, places)
    assert np.quantile(one, [0.1, 0.5, 0.9]) == pytest.approx(-np.log([0.9, 0.5, 0.1]), abs=0.02)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.02


def test_all_and_none():
    assert len(race(W, np.ones(6), 0).rows) == 0 == len(stand_for(np.zeros(0)))
    drawn = race(W, exponentials(0, np.arange(6)), 6)
    assert sorted(drawn.rows.tolist()) == list(range(6))
    assert drawn.p[-1] == pytest.approx(1.0)

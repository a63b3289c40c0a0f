"""A look at every row: the same whatever the blocks, and a draw whose chances are what they are said to be."""

from functools import reduce

import numpy as np
import pytest

from unskew.estimation.calibration import Calibration
from unskew.estimation.costs import Costs
from unskew.methods.looking import UNIT, Look, Ranked, draw
from unskew.pools import Block
from unskew.sampling.draws import EVENLY, stand_for


def screen(X):
    """Log-odds, and a score with many ties."""
    return 3.0 * X[:, 0], np.round(-np.abs(X[:, 0]), 1)


def look(seed=7, asked=(), racers=12, candidates=30, costs=Costs()):  # noqa: B008
    nothing = Calibration(np.zeros(0), np.zeros(0))
    return Look(screen, nothing, costs, seed, np.array(asked, dtype=np.int64), racers, candidates)


def seen(how, X, cuts, order=None):
    """What is seen of the rows in blocks that end at these cuts, looked at in this order."""
    places = np.split(np.arange(len(X)), cuts)
    blocks = [Block(some, some.astype(np.uint64), X[some]) for some in places]
    return reduce(how.merge, [how(blocks[i]) for i in (range(len(blocks)) if order is None else order)])


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(1000, 2))


@pytest.mark.parametrize("cuts", [[], [1], [500], [3, 4, 900], list(range(1, 1000))])
def test_the_same_whatever_the_blocks_and_their_order(X, cuts):
    how = look().tuned(X)
    whole = seen(how, X, [])
    order = np.random.default_rng(len(cuts)).permutation(len(cuts) + 1)
    other = seen(how, X, cuts, order)
    assert whole[:3] == other[:3] and all(isinstance(total, int) for total in other[:3])
    for one, two in zip(whole[3:], other[3:], strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_ties_are_broken_by_key():
    ones = np.zeros(5)
    ranked = Ranked(ones, np.array([5, 3, 9, 1, 2], dtype=np.uint64), np.arange(5), np.ones(5, dtype=np.int64), ones)
    assert ranked.first(2).places.tolist() == [3, 4]
    assert ranked.first(9).places.tolist() == [3, 4, 1, 0, 2]


def test_rows_that_were_asked_for_are_not_seen(X):
    first = seen(look().tuned(X), X, [])
    gone = np.concatenate((first.racers.places, first.candidates.places))
    again = seen(look(asked=np.unique(gone)).tuned(X), X, [400])
    assert again.rows == 1000 - len(np.unique(gone))
    assert not np.isin(again.racers.places, gone).any() and not np.isin(again.candidates.places, gone).any()


def test_weights_follow_doubt_and_cost(X):
    dear = look(costs=Costs(false_negative=4.0), racers=1000).tuned(X)
    rows = seen(dear, X, []).racers
    log_odds = screen(X)[0][rows.places]
    p = 1.0 / (1.0 + np.exp(-log_odds))
    cost = np.where(log_odds >= -np.log(4.0), 1.0, 4.0)
    d = cost * np.sqrt(p * (1.0 - p))
    np.testing.assert_allclose(rows.weights, UNIT * ((1.0 - EVENLY) * d / d.mean() + EVENLY), atol=0.51)


def test_the_draw_has_the_chances_that_it_says(X):
    """Over many races, what the drawn rows stand for adds up to the total of all rows but the chosen ones."""
    chosen, x = np.array([0, 4]), X[:, 1] + 2.0 * (X[:, 0] > 0.0)
    estimates, firsts = [], []
    for seed in range(1000):
        found = seen(look(seed).tuned(X), X, [])
        places = found.candidates.places[chosen]
        drawn = draw(found, chosen, 5)
        assert drawn.rest == 998 and not np.isin(places, drawn.places).any()
        np.testing.assert_array_equal(drawn.X, X[drawn.places])
        estimates.append(stand_for(drawn.p) @ x[drawn.places] - (x.sum() - x[places].sum()))
        firsts.append((drawn.places[0], drawn.p[0]))
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates)) < 3.0 * error
    likely = np.mean([abs(X[place, 0]) < 0.5 for place, _ in firsts])
    w = seen(look(racers=1000).tuned(X), X, []).racers
    expected = w.weights[np.abs(X[w.places, 0]) < 0.5].sum() / w.weights.sum()
    assert likely == pytest.approx(expected, abs=0.05)


def test_the_spread_is_that_of_the_draws_formula(X):
    rows = seen(look(racers=1000).tuned(X), X, [])
    w, log_odds = rows.racers.weights / UNIT, screen(X)[0][rows.racers.places]
    e = 1.0 / (1.0 + np.exp(np.abs(log_odds)))
    assert draw(rows, np.zeros(0, dtype=np.int64), 5).spread == pytest.approx(
        w.sum() * (e * (1 - e) / w).sum(), rel=1e-4
    )

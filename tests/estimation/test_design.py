"""The design: unbiased over every course of a campaign, with and without lost rows, by enumeration."""

from itertools import permutations

import numpy as np
import pytest

from people import NO_LOG, NONE, Population, first_round_loses_12_of_15, three_in_ten_skipped
from unskew.errors import InputError
from unskew.estimation.design import Design, Expected, Picked
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

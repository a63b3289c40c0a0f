"""Streams: each row is asked for by a draw of its own, which is a source of labels beside the log."""

from itertools import product

import numpy as np
import pytest

from people import NO_LOG, Population, held
from unskew.errors import InputError
from unskew.estimation.design import Revealed
from unskew.estimation.stream_design import StreamDesign

N = 5
WRONG = np.array([0.5, 0.4, 0.2, 0.1, 0.3])


def adaptive(before):
    """The chance of the next row, which depends on who was asked before."""
    return 1.0 if len(before) == 1 else 0.2 + 0.5 * (sum(before) % 2)


def courses(chance_of):
    """Every course of a stream with its chance."""
    for asked in product((True, False), repeat=N):
        p = np.array([chance_of(asked[:i]) for i in range(N)])
        chance = float(np.prod(np.where(asked, p, 1.0 - p)))
        if chance:
            yield chance, StreamDesign(*NO_LOG, N, asked=asked, p=p)


def test_a_stream_is_unbiased_over_every_draw():
    x = np.random.default_rng(0).random(N)
    assert sum(chance * float(d.pool_weights(0.2) @ x) for chance, d in courses(adaptive)) == pytest.approx(x.mean())


def test_its_variance_is_the_one_that_is_expected():
    """Residuals of a right model are independent with mean 0. Over every draw."""
    squares = WRONG * (1 - WRONG)
    p = np.array([1.0, 0.3, 0.5, 0.2, 1.0])
    found = list(courses(lambda before: p[len(before)]))
    actual = sum(chance * float(d.pool_weights(0.2) ** 2 @ squares) for chance, d in found)
    assert actual == pytest.approx(found[0][1].anticipated(squares, 0.2))
    assert actual == pytest.approx(Revealed(np.ones(N, bool), p).anticipated(squares))


@pytest.mark.parametrize("measure", ["error", "precision"])
def test_a_right_log_counts_and_narrows_the_interval(measure):
    people, rng = Population(), np.random.default_rng(30)
    truth, found = people.truth(measure), [people.stream(rng).estimate(measure) for _ in range(250)]
    assert 0.92 <= held(found, truth) <= 0.995
    values = np.array([e.value for e in found])
    assert values.mean() == pytest.approx(truth, abs=4 * values.std() / np.sqrt(len(values)))
    assert np.mean([e.log_share > 0.0 for e in found]) > 0.9
    assert np.mean([e.high - e.low for e in found]) < 0.9 * np.mean([e.draw.high - e.draw.low for e in found])
    assert np.mean([e.agreement < 0.01 for e in found]) < 0.03


def confounded():
    """A population whose log reveals errors four times as often as it says, and what it says."""
    people = Population()
    wrong = (people.margin >= 0) != (people.y > 0)
    claimed = people.q0 / 4
    people.q0 = np.where(wrong, people.q0, claimed)
    return people, claimed


def test_where_log_and_stream_disagree_the_stream_wins():
    people, claimed = confounded()
    rng, truth = np.random.default_rng(31), people.truth("error")
    found = [people.stream(rng, m=1500, n=1200, claimed=claimed).estimate() for _ in range(150)]
    left_out = [e for e in found if e.log_share == 0.0]
    assert len(left_out) > 0.9 * len(found)
    assert all(e.agreement < 0.01 and (e.value, e.low, e.high) == e.draw for e in left_out)
    assert all(e.log.low > truth for e in left_out)
    assert held(found, truth) >= 0.92


def test_a_log_with_estimated_propensities_only_teaches():
    people, claimed = confounded()
    rng, truth = np.random.default_rng(32), people.truth("error")
    found = [people.stream(rng, log="estimated", claimed=claimed).estimate() for _ in range(200)]
    assert {(e.log_share, e.q0_estimated) for e in found} == {(0.0, True)}
    assert 0.92 <= held(found, truth) <= 0.995
    empty = StreamDesign(np.ones(3, bool), np.ones(3), asked=[], p=[])
    assert not empty.measures_pool  # until the first row of the stream, the log is all there is


def test_a_stream_of_which_every_row_is_asked_is_still_a_sample():
    """Ten rows with all labels do not outweigh a large log as if they were everyone."""
    people, rng = Population(), np.random.default_rng(33)
    at = rng.choice(len(people.x), 10)
    design = StreamDesign(*NO_LOG, 10, asked=np.ones(10, bool), p=np.ones(10))
    found = people._everyone(at, design, "given").estimate()
    assert found.high - found.low > 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [({"p": [0.5]}, r"each of the 2 stream rows; got shapes \(2,\), \(1,\)"), ({"p": [0.5, 0.0]}, "got 0.0 at row 1")],
)
def test_what_is_no_stream_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        StreamDesign(*NO_LOG, 2, **{"asked": [True, False], "p": [0.5, 0.5], **change})

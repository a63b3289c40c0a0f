"""The loop of rounds: turns, what is counted, and what a round that fails leaves."""

from copy import copy

import numpy as np
import polars as pl
import pytest

from scenes import scene
from unskew import BayesianLogistic, LoggedData, Unskew
from unskew.errors import InputError
from unskew.methods.loop import as_log


@pytest.fixture
def begun():
    s = scene()
    return s, Unskew(random_state=0, model=BayesianLogistic()).start(s.log, s.X, s.q0)


def test_turns_are_taken_one_after_the_other(begun):
    s, method = begun
    with pytest.raises(InputError, match="tell was called without an open round"):
        method.tell([1.0])
    asked = method.ask(6)
    assert method.pending is not None and method.labels_ == 0 and method.rounds_ == []
    with pytest.raises(InputError, match="ask was called twice without tell"):
        method.ask(6)
    method.tell(s.y[np.asarray(asked)])
    assert method.pending is None and method.labels_ == 6 and len(method.rounds_) == 1
    for name, arguments in (("ask", [3]), ("error", []), ("predict", [s.X]), ("report", [])):
        with pytest.raises(InputError, match=f"{name} was called before start"):
            getattr(Unskew(), name)(*arguments)


def test_answers_by_position_may_come_in_any_order(begun):
    s, method = begun
    asked = method.ask(6)
    twin = copy(method)
    positions = asked.positions.tolist()
    by_position = {at: s.y[at] for at in sorted(positions)}
    method.tell(by_position)
    twin.tell(s.y[np.asarray(asked)])
    assert method.rounds_[-1].y.tolist() == twin.rounds_[-1].y.tolist()
    assert np.array_equal(method.score(s.X), twin.score(s.X))


def test_answers_that_do_not_fit_are_refused_and_the_round_stays_open(begun):
    s, method = begun
    asked = method.ask(4)
    right = {at: s.y[at] for at in asked.positions.tolist()}
    other = next(at for at in range(len(s.y)) if at not in right)
    wrong = [
        ({**right, other: 1.0}, f"row {other} was not asked for"),
        (dict(list(right.items())[1:]), f"row {asked.positions[0]} was asked for and has no label"),
        (s.y[np.asarray(asked)][:3], r"one label for each of the 4 rows asked; got shape \(3,\)"),
    ]
    for labels, why in wrong:
        with pytest.raises(InputError, match=why):
            method.tell(labels)
        assert method.pending is not None and method.labels_ == 0
    method.tell({**right, asked.positions[2]: None})
    assert method.labels_ == 3


def test_a_round_that_fails_to_train_leaves_everything_as_it_was(begun, monkeypatch):
    s, method = begun
    asked = method.ask(6)
    before, margins = dict(vars(method)), method.score(s.X)
    drawn = method._rng.bit_generator.state

    def fail(batch):
        method._rng.random(10)
        method.labels_ += 100
        raise InputError("no more memory")

    with monkeypatch.context() as patch:
        patch.setattr(type(method), "learn", lambda self, batch: fail(batch))
        with pytest.raises(InputError, match="no more memory"):
            method.tell(s.y[np.asarray(asked)])
    assert vars(method) == before and method._rng.bit_generator.state == drawn
    assert np.array_equal(method.score(s.X), margins)
    assert method.tell(s.y[np.asarray(asked)]).labels_ == 6


def test_a_copy_draws_for_itself(begun):
    s, method = begun
    twin = copy(method)
    state = method._rng.bit_generator.state
    asked = twin.ask(8)
    twin.tell(s.y[np.asarray(asked)])
    assert method._rng.bit_generator.state == state
    assert method.rounds_ == [] and len(twin.rounds_) == 1
    assert method.ask(8).positions.tolist() == asked.positions.tolist()


def test_starting_again_forgets_the_rounds(begun):
    s, method = begun
    first = method.ask(8).positions.tolist()
    method.tell(s.y[first])
    method.start(s.log, s.X, s.q0)
    assert (method.labels_, method.rounds_, method.pending) == (0, [], None)
    assert method.ask(8).positions.tolist() == first


def test_a_log_from_a_frame():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1, None, 0], "q0": [0.9, 0.2, 0.5]})
    log = as_log(frame, "y", "q0")
    assert log.q0.tolist() == [0.9, 0.2, 0.5] and not log.q0_estimated
    assert as_log(log, None, None) is log
    with pytest.raises(InputError, match="describe a frame; got LoggedData"):
        as_log(log, "y", None)
    with pytest.raises(InputError, match="needs the name of its label column"):
        as_log(frame, None, None)
    with pytest.raises(InputError, match=r"got LazyFrame. Call .collect\(\) on it"):
        as_log(frame.lazy(), "y", None)


def test_propensities_of_a_frame_are_estimated_unless_nearly_all_rows_have_a_label():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    seen = rng.random(400) < np.where(x > 0, 0.9, 0.2)
    y = pl.Series([int(v > 0.3) if z else None for v, z in zip(x, seen, strict=True)])
    log = as_log(pl.DataFrame({"x": x, "y": y}), "y", None)
    assert log.q0_estimated and log.q0[x > 0].mean() > 2 * log.q0[x <= 0].mean()
    whole = as_log(pl.DataFrame({"x": x, "y": (x > 0.3).astype(int)}), "y", None)
    assert whole.q0_estimated and whole.only_labelled and whole.q0.tolist() == [1.0] * 400


def test_a_class_of_two_can_be_named(begun):
    _, method = begun
    assert method.error("recall", of=1.0) == method.error("recall")
    negative, positive = method.error("recall", of=-1.0), method.error("recall")
    assert (negative.value, negative.low) != (positive.value, positive.low)
    with pytest.raises(InputError, match="labels must be -1.0 or 1.0; got 7"):
        method.error(of=7)
    assert isinstance(method.log_, LoggedData)

"""Rounds: what was asked and answered, as the model, the estimates and people see it."""

import numpy as np
import pytest

from unskew.errors import InputError
from unskew.methods.rounds import Asked, PoolRound, StreamRound, checked_look, checked_share
from unskew.sampling.draws import stand_for


def of_a_pool() -> PoolRound:
    """Three chosen rows and four drawn ones, mixed; one chosen and two drawn rows have no label."""
    drawn = np.array([True, False, True, False, True, True, False])
    y = np.array([1.0, -1.0, 0.0, 0.0, 0.0, -1.0, 1.0])
    p = np.array([0.1, 1.0, 0.2, 1.0, 0.3, 0.4, 1.0])
    X = np.arange(7.0)[:, None]
    return PoolRound(np.arange(10, 17), X, p / 2.0, p, drawn, 40, 0.7, y)


def test_the_estimates_see_answered_rows_and_how_many_were_lost() -> None:
    """What a drawn row stands for goes by its turn among all that were drawn, answered or not."""
    found, turns = of_a_pool().picked(), stand_for(np.array([0.1, 0.2, 0.3, 0.4]))
    assert found.chosen.tolist() == [11, 16] and found.drawn.tolist() == [10, 15]
    assert found.stand_for.tolist() == [turns[0], turns[3]]
    assert (found.chosen_lost, found.drawn_lost, found.spread) == (1, 2, 0.7)
    assert found.asked == 4 and not found.before


def test_the_model_sees_answered_rows_in_their_order() -> None:
    batch = of_a_pool()
    assert batch.labels == 4 and batch.known.sum() == 4
    X, q0, y = batch.bought
    assert X[:, 0].tolist() == [0.0, 1.0, 5.0, 6.0] and y.tolist() == [1.0, -1.0, -1.0, 1.0]
    assert q0.tolist() == [0.05, 0.5, 0.2, 0.5]
    again = batch.answered(np.full(7, -1.0))
    assert again.labels == 7 and batch.labels == 4


def test_answers_of_a_stream_replace_what_was_inferred_where_it_was_asked() -> None:
    inferred, queried = np.array([1.0, 1.0, -1.0, 1.0]), np.array([False, True, False, True])
    X, q0 = np.arange(4.0)[:, None], np.array([0.1, 0.2, 0.3, 0.4])
    batch = StreamRound(X, q0, inferred, queried, np.ones(4, bool), queried * 0.5, plan="a plan")
    closed = batch.answered(np.array([-1.0, -1.0]))
    assert closed.y.tolist() == [1.0, -1.0, -1.0, -1.0] and closed.plan == "a plan"
    assert inferred.tolist() == [1.0, 1.0, -1.0, 1.0], "the open round is left alone"
    assert (batch.labels, closed.labels) == (2, 2)
    assert closed.bought.X[:, 0].tolist() == [1.0, 3.0]
    assert closed.bought.q0.tolist() == [0.2, 0.4] and closed.bought.y.tolist() == [-1.0, -1.0]


def asked() -> Asked:
    drawn = np.array([False, True, True])
    return Asked(np.array([7, 2, 5]), np.array([1.0, 0.1, 0.3]), drawn, lambda at: {"row": at})


def test_a_part_of_what_is_asked_keeps_its_own_probabilities_and_reasons() -> None:
    rows = [(row.position, row.probability, row.reason, row.values["row"]) for row in asked()]
    assert rows == [(7, 1.0, "chosen", 7), (2, 0.1, "drawn", 2), (5, 0.3, "drawn", 5)]
    for part in (np.s_[1:], np.s_[::-1], np.s_[:1], np.s_[3:]):
        some = [(row.position, row.probability, row.reason) for row in asked()[part]]
        assert some == [row[:3] for row in rows][part]
    assert asked()[-1].position == 5 and len(asked()[1:]) == 2


def test_what_is_asked_as_array_text_and_table() -> None:
    assert np.arange(10)[asked()].tolist() == [7, 2, 5]
    assert np.asarray(asked(), dtype=float).dtype == float
    assert repr(asked()) == "Asked(1 chosen and 2 drawn rows at [7, 2, 5])"
    page = asked()._repr_html_()
    assert page.count("<tr>") == 4 and "<td>2</td><td>drawn</td><td>0.1</td><td>row=2</td>" in page


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_shares(share: float) -> None:
    assert checked_share(share) == share


@pytest.mark.parametrize("share", [-0.01, 1.01, float("nan")])
def test_shares_that_are_none(share: float) -> None:
    with pytest.raises(InputError, match=r"drawn must be in \[0, 1\]; got"):
        checked_share(share)


def test_numbers_of_rows_to_look_at() -> None:
    assert checked_look(0) == 0 and checked_look(np.int64(7)) == 7
    for look in (-1, 2.0, True, None):
        with pytest.raises(InputError, match="look must be a whole number of rows"):
            checked_look(look)  # type: ignore[arg-type]

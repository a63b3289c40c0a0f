"""What people read about an estimate: right for every case, and never more than is known."""

from dataclasses import replace

import pytest

from unskew.estimation.ahead import Ahead, Needed
from unskew.estimation.measures import MEASURES
from unskew.estimation.population import DISAGREE, PopulationEstimate, Side
from unskew.estimation.sentences import CHANCE, ahead, amount, beside, compared, percent, sources, uncomputable, wrong
from unskew.estimation.sentences import MEASURES as WORDS

CLASSES = ("no", "yes")
DRAW, LOG = Side(0.04, 0.01, 0.09), Side(0.21, 0.176, 0.247)
FOUND = PopulationEstimate(
    0.05, 0.031, 0.074, 0.011, 0.95, "error", 250, 180.0, log_share=0.4, log=LOG, draw=DRAW, agreement=0.41,
    positives=0.052, flagged=0.003,
)  # fmt: skip
OLD = PopulationEstimate(0.05, 0.031, 0.074, 0.011, 0.95, "error", 250, 180.0)
"""As ledgers before 0.4.0 have it: nothing is known beside the number."""


def test_every_measure_has_words_and_one_limit_is_one() -> None:
    assert set(WORDS) == {*MEASURES, "cost"}
    assert CHANCE == DISAGREE


def test_shares_are_read_in_per_cent_and_a_small_one_is_not_nothing() -> None:
    assert [percent(share) for share in (0.0, 0.00004, 0.0005, 0.123456, 1.0)] == [
        "0.0",
        "0.004",
        "0.1",
        "12.3",
        "100.0",
    ]
    assert amount(0.4567, "log_loss") == "0.457" and amount(0.4567, "difference in f1") == "0.457"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "Always saying “no” would be wrong on 5.2 %: the model is not clearly better. It flags 0.3 % of rows"),
        ({"positives": 0.08}, "Always saying “no” would be wrong on 8.0 %: the model is better."),
        ({"positives": 0.98}, "Always saying “yes” would be wrong on 2.0 %: the model is worse."),
        ({"positives": 0.074}, "the model is not clearly better."),
        ({"flagged": 0.0}, "the model does just that. It flags none of the rows as “yes”."),
        ({"positives": 0.95, "flagged": 1.0}, "Always saying “yes” would be wrong on 5.0 %: the model does just that."),
    ],
)
def test_beside_the_error_stands_the_commoner_class(changed: dict[str, float], said: str) -> None:
    assert said in beside(replace(FOUND, **changed), CLASSES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "The drawn labels say 4.0 % (1.0 to 9.0), the log says 21.0 % (17.6 to 24.7). They differ by no more than "
             "chance explains (p = 0.41), so the number uses both; the log counts for 40 %."),
        ({"log_share": 0.0, "agreement": 0.0004}, "They disagree by more than chance explains (p < 0.001), so the "
             "number rests on the drawn labels alone."),
        ({"log_share": 0.0}, "(17.6 to 24.7). The number rests on the drawn labels."),
        ({"log_share": 0.0, "q0_estimated": True}, "The log's propensities were estimated, so the number rests on the "
             "drawn labels; the log only teaches."),
        ({"log_share": 0.0, "q0_estimated": True, "agreement": 0.002}, "only teaches. The two disagree by more than"),
        ({"log_share": 1.0, "draw": None, "agreement": None}, "rests on the log alone: no drawn row is labelled yet."),
        ({"log_share": 1.0, "draw": None, "agreement": None, "q0_estimated": True}, "Be careful: the number rests on "
             "the log alone, and the log's propensities were estimated."),
        ({"log_share": 0.0, "log": None, "agreement": None}, "The number rests on the drawn labels alone."),
    ],
)  # fmt: skip
def test_log_and_draw_stand_side_by_side(changed: dict[str, object], said: str) -> None:
    assert said in sources(replace(FOUND, **changed))  # type: ignore[arg-type]


def test_an_old_ledger_claims_nothing() -> None:
    assert beside(OLD, CLASSES) == "" and sources(OLD) == ""
    assert wrong(OLD) == "wrong on 5.0 % of everyone, 95 % interval 3.1 to 7.4 %"


def test_what_more_labels_would_do() -> None:
    both = (Needed(0.02, 140, 56), Needed(0.01, 600, 240))
    assert "±2 points needs about 140 more labels, 56 of them drawn; ±1 point needs about 600" in ahead(
        Ahead(9, 0.03, both)
    )
    beyond = ahead(Ahead(9, 0.03, (Needed(0.02, None, None), Needed(0.01, None, None))))
    assert beyond.endswith("±3.0 points. ±2 points needs more labels than the pool has.")
    assert ahead(Ahead(0, float("inf"), (Needed(0.02, 0, 0),))) == "±2 points is reached."
    assert ahead(None) == ""


def test_a_measure_without_a_value_says_why() -> None:
    assert uncomputable("precision") == "none flagged"
    assert {uncomputable(name) for name in ("auc", "balanced_error")} == {"rows of one class only"}


def test_two_models_are_compared_in_one_sentence() -> None:
    found = replace(FOUND, value=-0.03, low=-0.05, high=-0.01, measure="difference in error")
    assert compared(found, "the other") == (
        "Its error is 3.0 points lower than that of the other, 95 % interval 5.0 lower to 1.0 lower: chance does not "
        "explain the difference."
    )
    found = replace(FOUND, value=0.03, low=-0.01, high=0.07, measure="difference in auc")
    assert compared(found, "the other").startswith(
        "Its auc is 0.030 higher than that of the other, 95 % interval 0.010"
    )

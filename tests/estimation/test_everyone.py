"""Everyone: margins, labels and design together; which labels judge, and who is counted."""

import numpy as np
import pytest
from scipy.special import expit

from people import Population
from unskew.data import LoggedData
from unskew.errors import InputError
from unskew.estimation.calibration import Calibration
from unskew.estimation.costs import Costs
from unskew.estimation.design import Design
from unskew.estimation.everyone import REFUTED, Everyone, trust
from unskew.estimation.strata import Part, Strata
from unskew.kept import Kept
from unskew.sampling.diagnostics import balance

RNG = np.random.default_rng(0)


def of_a_log(rows: int = 400) -> Everyone:
    rng = np.random.default_rng(0)
    margin = rng.normal(0.0, 3.0, rows)
    y = np.where(rng.random(rows) < expit(margin), 1.0, -1.0)
    return Everyone(Design(rng.random(rows) < 0.4, np.full(rows, 0.4)), margin, y)


@pytest.mark.parametrize("log", ["given", "estimated", "refuted", "selected"])
def test_labels_of_a_log_that_is_not_trusted_do_not_judge(log: str) -> None:
    run = Population().campaign(np.random.default_rng(1), log=log)
    counts = run.design.labelled.copy()
    if log != "given":
        counts[: run.design.m] = False
    twin = Calibration(run.margin[counts], run.y[counts])
    assert run.calibration.chances(run.margin).tolist() == twin.chances(run.margin).tolist()
    m = run.design.m
    alone = Everyone(Design(run.design.z, run.design.q0), run.margin[:m], run.y[:m], log)
    every = Calibration(alone.margin[run.design.z], alone.y[run.design.z])
    positive = alone.calibration.chances(alone.margin)
    assert positive.tolist() == every.chances(alone.margin).tolist()


def test_doubts_are_the_chances_that_labels_are_wrong() -> None:
    everyone = of_a_log()
    rows = np.flatnonzero(everyone.design.labelled)[:40]
    positive = everyone.calibration.chances(everyone.margin)
    for i, chance in zip(rows, everyone.doubts(rows), strict=True):
        assert chance == pytest.approx(1.0 - positive[i] if everyone.y[i] > 0 else positive[i])


def test_labelled_rows_are_judged_without_their_own_label() -> None:
    design = Design(np.array([True, False, True]), np.full(3, 0.5))
    rows, y, held_out = np.array([2, 0]), np.array([1.0, -1.0]), np.array([-0.5, 0.25])
    margin = np.array([9.0, 1.5, 9.0])
    judged = Everyone.judged(design, margin, rows, y, held_out)
    assert judged.margin.tolist() == [0.25, 1.5, -0.5] and judged.y.tolist() == [-1.0, 0.0, 1.0]
    assert margin.tolist() == [9.0, 1.5, 9.0], "the model's own are left alone"


def test_the_flagged_are_those_of_the_group() -> None:
    everyone = of_a_log()
    group = everyone.margin > -1.0
    for threshold in (0.3, 0.5, 0.8):
        flags = expit(everyone.margin) >= threshold
        assert everyone.estimate(threshold=threshold).flagged == pytest.approx(flags.mean())
        of_group = everyone.estimate(threshold=threshold, where=group)
        assert of_group.flagged == pytest.approx(flags[group].mean())
        assert of_group.threshold == pytest.approx(threshold)


def test_the_flagged_are_those_of_the_source_that_counts() -> None:
    run = Population().campaign(np.random.default_rng(2), log="estimated")
    found = run.estimate()
    assert found.log_share == 0.0
    assert found.flagged == pytest.approx((run.margin[run.design.m :] >= 0.0).mean())


@pytest.mark.parametrize("recall", [0.3, 0.7, 0.95])
def test_a_wanted_recall_is_that_of_all_the_rows_that_a_log_stands_for(recall: float) -> None:
    """Labelled rows stand for two rows each, the others for five."""
    margin = RNG.normal(size=60)
    z = np.arange(60) < 20
    y = np.where(z, np.where(RNG.random(60) < expit(margin), 1.0, -1.0), np.nan)
    log = LoggedData(margin[:, None], y, q0=0.4, classes=(-1.0, 1.0), kept=Kept(40, 200))
    everyone = Everyone(Design.of(log), margin, np.where(z, y, 0.0))
    found = everyone.costs_for(recall)
    positive = everyone.calibration.chances(margin)
    times = np.where(z, 2, 5)
    copies = np.repeat(np.argsort(-margin), times[np.argsort(-margin)])
    upto = [positive[copies[: k + 1]].sum() for k in range(len(copies))]
    last = next(i for i, some in zip(copies, upto, strict=True) if some >= recall * upto[-1] - 1e-9)
    assert found.threshold == pytest.approx(expit(margin[last]), abs=1e-5)
    assert found.false_positive + found.false_negative == pytest.approx(1.0)


def test_a_pool_that_grew_leaves_the_log_behind() -> None:
    strata = Strata.at([Part(2), Part(1, since=1)], np.arange(3))
    grown = Design(np.array([True]), np.array([0.5]), 3, strata=strata)
    margin, y = np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])
    assert Everyone(grown, margin, y).log == "earlier"
    assert Everyone(grown, margin, y, "estimated").log == "estimated"
    plain = Design(np.array([True]), np.array([0.5]), 3)
    assert Everyone(plain, margin, y).log == "given"


def test_how_far_a_log_is_trusted() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 1))
    q0 = np.where(X[:, 0] > 0, 0.9, 0.1)
    y = np.where(rng.random(600) < q0, (X[:, 0] > 0.2).astype(float), np.nan)
    margin = 4.0 * X[:, 0]
    assert trust(LoggedData(X, y, q0=q0), margin) == "given"
    wrong = LoggedData(X, y, q0=np.where(X[:, 0] > 0, 0.5, 0.49))
    assert trust(wrong, margin) == "refuted" and min(balance(wrong), 1.0) < REFUTED
    assert trust(LoggedData(X, y, q0=q0, q0_estimated=True), margin) == "estimated"


def test_the_labelled_alone_count_once_each() -> None:
    everyone = of_a_log()
    alone = everyone.labelled_alone()
    known = everyone.design.labelled
    wrong = (alone.margin >= 0) != (everyone.y[known] > 0)
    assert alone.estimate().value == pytest.approx(wrong.mean(), abs=1e-9)
    assert len(alone.y) == known.sum()


def test_costs_move_the_threshold() -> None:
    plain = of_a_log()
    costs = Costs(false_positive=1.0, false_negative=3.0)
    costly = Everyone(plain.design, plain.margin, plain.y, costs=costs)
    found = costly.estimate()
    assert found.threshold == pytest.approx(0.25)
    assert found.value == pytest.approx(plain.estimate(threshold=0.25).value)
    assert costly.estimate("log_loss").value == pytest.approx(plain.estimate("log_loss").value)


@pytest.mark.parametrize(
    ("margin", "y", "told"),
    [
        ([0.0], [1.0, -1.0], r"one value for each of the 2 rows .* got shapes \(1,\), \(2,\)"),
        ([np.inf, 0.0], [1.0, -1.0], "margin must be finite; got inf at row 0"),
        ([0.0, 0.0], [1.0, 0.0], r"y must be \+1 or -1 where labelled; got 0.0 at row 1"),
    ],
)
def test_rows_that_cannot_be_judged(margin: list[float], y: list[float], told: str) -> None:
    with pytest.raises(InputError, match=told):
        Everyone(Design(np.array([True, True]), np.full(2, 0.5)), np.array(margin), np.array(y))

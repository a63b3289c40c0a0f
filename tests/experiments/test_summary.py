"""Summaries: areas, ratios and counts on examples small enough to work out by hand, and the paper's own."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from unskew.experiments import DATASETS
from unskew.experiments.paper import paper_auc
from unskew.experiments.protocols import RELEASED, TEXT
from unskew.experiments.summary import pairs_of, shown_names, stretch, summarise
from unskew.methods.registry import PAPER_METHODS
from unskew.sampling.policies import POLICIES


def record(dataset, policy, method, labels, errors, budget=10, setting=None):
    """A result; `labels` and `errors` are one curve, or one a repeat."""
    labels, errors = np.atleast_2d(labels), np.atleast_2d(errors)
    if len(errors) == 1:
        errors = np.repeat(errors, 2, axis=0)
    labels = np.broadcast_to(labels, errors.shape)
    task = {
        "dataset": dataset, "policy": policy, "method": method, "logged_fraction": 0.5, "label_budget": budget,
        "seed": 0, "protocol": asdict(replace(RELEASED, tune_repeats=4, repeats=len(errors), grid="coarse")),
    }  # fmt: skip
    return {
        "task": task,
        "setting": {"C": 0.64, "eta": 0.0256} if setting is None else setting,
        "tuned_auc": 0.0,
        "least_sum": [1.5, 5.0],
        "horizons": list(range(errors.shape[1])),
        "labels": labels.tolist(),
        "errors": errors.tolist(),
    }


def failed(dataset, policy, method):
    return {**record(dataset, policy, method, [0], [0.5]), "failed": "ValueError: no"}


def tiny():
    """Two cells of Passive, IDBAL and Best: by hand, AUCs 7.6, 5.9, 7.1 (german) and 7.6, 8.8, 7.6 (skin)."""
    return [
        record("german", "uniform", "IDBAL", [0, 10], [0.5, 0.2]),
        record("german", "uniform", "Passive", [0, 10, 40], [0.5, 0.3, 0.3]),
        record("german", "uniform", "mine:Best", [0, 5], [0.5, 0.3], setting={}),
        record("skin", "identical", "Passive", [0, 10], [0.5, 0.3]),
        record("skin", "identical", "IDBAL", [0, 10], [0.4, 0.4]),
        record("skin", "identical", "mine:Best", [0, 10], [0.5, 0.3], setting={}),
    ]


def test_cells_by_hand():
    summary = summarise(tiny())
    assert summary.datasets == ("skin", "german")
    assert summary.policies == ("identical", "uniform")
    assert summary.methods == ("Passive", "IDBAL", "Best")
    cells = {(c["dataset"], c["method"]): c for c in summary.cells.iter_rows(named=True)}
    assert [c["auc"] for c in cells.values()] == pytest.approx([7.6, 8.8, 7.6, 7.6, 5.9, 7.1])
    assert cells["german", "Passive"]["area_to_budget"] == pytest.approx(4.0)
    assert cells["german", "Best"]["area_to_budget"] == pytest.approx(3.5)
    assert all(c["auc_se"] == pytest.approx(0.0, abs=1e-12) for c in cells.values())
    least = [key for key, cell in cells.items() if cell["least"]]
    assert least == [("skin", "Passive"), ("skin", "Best"), ("german", "IDBAL")]


def test_labels_to_reach_what_passive_ends_at():
    cells = {(c["dataset"], c["method"]): c for c in summarise(tiny()).cells.iter_rows(named=True)}
    assert all(c["target_error"] == pytest.approx(0.3) for c in cells.values())
    assert cells["german", "IDBAL"]["labels_to_target"] == pytest.approx(20 / 3)
    assert cells["german", "Best"]["labels_to_target"] == pytest.approx(5.0)
    assert cells["german", "Passive"]["labels_to_target"] == pytest.approx(10.0)
    assert cells["skin", "IDBAL"]["labels_to_target"] is None


def test_pairs_by_hand():
    summary = summarise(tiny())
    pairs = {(p["method"], p["against"]): p for p in summary.pairs.iter_rows(named=True)}
    assert list(pairs) == [("Best", "Passive"), ("Best", "IDBAL"), ("IDBAL", "Passive")]
    pair = pairs["IDBAL", "Passive"]
    assert (pair["cells"], pair["won"], pair["clear_wins"], pair["clear_losses"]) == (2, 1, 1, 1)
    assert pair["mean_ratio"] == pytest.approx(np.sqrt(5.9 / 7.6 * 8.8 / 7.6))
    assert pair["low"] == pytest.approx(pair["mean_ratio"]) == pair["high"]
    paper = paper_auc()
    ratios = [paper[(*c, "IDBAL")] / paper[(*c, "Passive")] for c in (("skin", "identical"), ("german", "uniform"))]
    assert pair["paper_cells"] == 2 and pair["paper_won"] == sum(r < 1 for r in ratios)
    assert pair["paper_mean_ratio"] == pytest.approx(np.sqrt(ratios[0] * ratios[1]))
    outside = pairs["Best", "Passive"]  # equal in one cell: neither won nor lost
    assert (outside["won"], outside["clear_wins"], outside["clear_losses"]) == (1, 1, 0)
    assert outside["paper_cells"] == 0 and outside["paper_mean_ratio"] is None


def test_standings_count_shared_firsts():
    rows = {row["method"]: row for row in summarise(tiny()).standings.iter_rows(named=True)}
    assert {name: row["best"] for name, row in rows.items()} == {"Passive": 1, "IDBAL": 1, "Best": 1}
    assert rows["IDBAL"]["reached"] == 1 and rows["IDBAL"]["median_share_of_budget"] is None
    assert rows["Best"]["paper_best"] is None


def test_the_order_of_the_results_does_not_matter():
    there, back = summarise(tiny()), summarise(tiny()[::-1])
    for name in ("points", "cells", "ratios", "pairs", "by_policy", "standings"):
        assert getattr(there, name).equals(getattr(back, name))


def test_pairing_sees_through_noise_that_methods_share():
    rng = np.random.default_rng(0)
    hard = rng.normal(0.3, 0.05, (24, 1))  # some splits are harder, for all methods alike
    curve = np.array([[0.1, 0.0]])
    better = hard - 0.008 + rng.normal(0, 0.004, (24, 1))
    summary = summarise([
        record("german", "uniform", "Passive", [0, 10], hard + curve),
        record("german", "uniform", "IDBAL", [0, 10], better + curve),
        record("german", "certainty", "Passive", [0, 10], hard + curve),
        record("german", "certainty", "IDBAL", [0, 10], rng.permutation(better) + curve),
    ])  # fmt: skip
    a, b = summary.cells["auc"][:2]
    assert a - b < summary.cells["auc_se"].min()
    assert summary.ratios["call"].to_list() == ["win", "noise"]
    assert summary.ratios["area_call"].to_list() == ["win", "noise"]


def test_standard_error_of_a_mean():
    errors = np.random.default_rng(1).normal(0.3, 0.05, (64, 1)) + np.zeros((1, 2))
    se = summarise([record("german", "uniform", "IDBAL", [0, 10], errors)]).cells["auc_se"][0]
    alone = 22 * errors[:, 0].std(ddof=1) / 8  # AUC is 2 (B + 1) times the error
    assert se == pytest.approx(stretch("german", replace(RELEASED, grid="coarse")) * alone, rel=0.1)


def test_the_stretch_is_that_of_correlated_repeats():
    """Means of repeats that share a part: their spread is the stretch times what the repeats seem to say."""
    rng = np.random.default_rng(0)
    c, J = 0.2, TEXT.repeats  # one block, so every pair shares the same rows
    x = np.sqrt(c) * rng.normal(size=(40_000, 1)) + np.sqrt(1.0 - c) * rng.normal(size=(40_000, J))
    seen = np.sqrt(x.var(axis=1, ddof=1).mean() / J)
    assert x.mean(axis=1).std() / seen == pytest.approx(stretch("german", TEXT), rel=0.02)
    assert stretch("synthetic", TEXT) == stretch("german", TEXT) == pytest.approx(np.sqrt(3.5))
    assert 1.0 < stretch("synthetic", RELEASED) < stretch("skin", RELEASED) < stretch("german", RELEASED)


def test_failed_and_missing_results_are_left_out():
    records = [
        record("german", "uniform", "IDBAL", [0, 10], [0.5, 0.2]),
        failed("german", "uniform", "DBALw"),
        failed("german", "uniform", "Passive"),
    ]
    summary = summarise(records)
    assert summary.failed.rows() == [
        ("german", "uniform", "Passive", "ValueError: no"),
        ("german", "uniform", "DBALw", "ValueError: no"),
    ]
    assert summary.methods == ("Passive", "DBALw", "IDBAL")
    assert summary.pairs.is_empty() and summary.ratios.is_empty()
    assert summary.cells["target_error"].to_list() == [None]
    assert summary.standings["method"].to_list() == ["IDBAL"]


def test_nothing_but_failures():
    summary = summarise([failed("german", "uniform", "IDBAL")])
    assert summary.cells.is_empty() and summary.points.is_empty() and summary.failed.height == 1


def test_a_method_that_never_errs_has_ratio_zero():
    passive = record("german", "uniform", "Passive", [0, 10], [0.5, 0.2])
    records = [passive, record("german", "uniform", "a:Oracle", [0], [0.0])]
    assert summarise(records).pairs["mean_ratio"].to_list() == [0.0]


def test_the_papers_headline():
    """Flat curves with the printed areas: our counts must then be the paper's (protocol.md)."""
    printed = paper_auc()
    assert len(printed) == 192
    summary = summarise([
        record(*cell, [0, 100], [auc / 202] * 2, budget=100) for cell, auc in printed.items()
    ])  # fmt: skip
    assert (summary.datasets, summary.policies, summary.methods) == (DATASETS, POLICIES, PAPER_METHODS)
    expected = {
        ("IDBAL", "Passive"): (43, 0.905),
        ("IDBAL", "DBALw"): (40, 0.935),
        ("IDBAL", "DBALwm"): (35, 0.971),
        ("DBALwm", "DBALw"): (32, 0.964),
    }
    pairs = {(p["method"], p["against"]): p for p in summary.pairs.iter_rows(named=True)}
    for pair, (won, mean) in expected.items():
        row = pairs[pair]
        assert (row["cells"], row["won"], row["paper_cells"], row["paper_won"]) == (48, won, 48, won)
        assert round(row["mean_ratio"], 3) == round(row["paper_mean_ratio"], 3) == mean
    best = {row["method"]: (row["best"], row["paper_best"]) for row in summary.standings.iter_rows(named=True)}
    assert best["IDBAL"] == (29, 29)


def test_names():
    assert shown_names(["a:Same", "b:Same", "c:IDBAL", "IDBAL"]) == {
        "IDBAL": "IDBAL", "a:Same": "a:Same", "b:Same": "b:Same", "c:IDBAL": "c:IDBAL",
    }  # fmt: skip
    assert pairs_of(["Passive"]) == []

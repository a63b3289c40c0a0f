"""The two protocols: what differs between them, and that a run does what its protocol says."""

import json
from dataclasses import replace

import numpy as np
import pytest

from unskew import cli
from unskew.errors import InputError
from unskew.experiments.datasets import load
from unskew.experiments.metrics import area, area_to_budget, auc, printed_sum
from unskew.experiments.protocols import FRESH, GRIDS, PROTOCOLS, RELEASED, TEXT, protocol_named
from unskew.experiments.reproduce import Grid, reproduce
from unskew.methods.registry import PAPER_METHODS

FAST = replace(TEXT, tune_repeats=2, repeats=2, grid="coarse")


def test_the_text_as_printed():
    printed = [2.0**k for k in range(0, 20, 2)]
    assert GRIDS["text"] == ([0.01 * step for step in printed], [0.0001 * step for step in printed])
    assert TEXT.repeats == TEXT.tune_repeats == 10 and list(TEXT.reported) == list(range(10))
    assert list(RELEASED.reported) == list(range(FRESH, FRESH + 64)) and FRESH > RELEASED.tune_repeats
    assert PROTOCOLS == {"released": RELEASED, "text": TEXT}
    with pytest.raises(InputError, match="unknown protocol 'texts': did you mean 'text'?"):
        protocol_named("texts")


def test_a_run_of_the_text(tmp_path):
    grid = Grid(("synthetic",), ("uniform",), PAPER_METHODS, protocol=FAST)
    for record in reproduce(grid, tmp_path, jobs=1):
        task = record["task"]
        assert (task["logged_fraction"], task["label_budget"]) == (0.5, 2400)
        assert record["horizons"] == [0, 20, 40, 80, 160, 320, 640, 1280, 2400]
        labels, errors = (np.mean(record[what], axis=0) for what in ("labels", "errors"))
        assert record["tuned_auc"] == area_to_budget(labels, errors, 2400)  # measured where it was tuned
        least, bought = record["least_sum"]
        assert least <= printed_sum(labels[1:], errors[1:]) and bought <= 2400
        if task["method"] == "Passive":
            assert record["labels"] == [record["horizons"]] * 2 and bought == 2400


def test_one_change_at_a_time(tmp_path):
    """The sizes of log and budget, each as planned or as in the text."""
    sizes = {}
    for fraction in (None, 0.5):
        for budget in ("planned", "stream"):
            protocol = replace(FAST, data="released", logged_fraction=fraction, budget=budget)
            grid = Grid(("synthetic",), ("certainty",), ("Passive",), protocol=protocol)
            (record,) = reproduce(grid, tmp_path, jobs=1)
            sizes[fraction, budget] = (record["task"]["logged_fraction"], record["task"]["label_budget"])
    planned, B = sizes[None, "planned"]
    assert planned != 0.5 and sizes == {
        (None, "planned"): (planned, B),
        (None, "stream"): (planned, 4800 - int(planned * 4800)),
        (0.5, "planned"): (0.5, B),
        (0.5, "stream"): (0.5, 2400),
    }


def test_areas():
    labels, errors = np.array([0.0, 10.0, 20.0]), np.array([0.5, 0.3, 0.1])
    assert area(labels, errors, 10, "planned") == auc(labels, errors, 10) == pytest.approx(4.0 + 12 * 0.3)
    assert area(labels, errors, 40, "stream") == pytest.approx(4.0 + 2.0 + 20 * 0.1)
    assert printed_sum(labels, errors) == pytest.approx(6.0)
    assert printed_sum(labels[:2], errors[:2]) == pytest.approx(4.0)  # to buy less makes it smaller


def test_covtype_as_table_5_counts_it(data_dir):
    whole = load("covtype", data_dir, all_rows=True)
    assert whole.X.shape == (581_012, 54)
    assert np.count_nonzero(whole.y > 0) == 283_301
    assert len(load("covtype", data_dir).y) == 495_141


def test_the_command(tmp_path, capsys):
    tiny = ("reproduce", "--quick", "--datasets", "synthetic", "--policies", "uniform", "--methods", "Passive,IDBAL")
    assert (
        cli.main([*tiny, "--protocol", "text", "--repeats", "2", "--jobs", "1", "--json", "--out", str(tmp_path)]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert (told["protocol"], told["tune_repeats"], told["repeats"], told["budget"]) == ("text", 2, 2, "stream")
    page = (tmp_path / "report.html").read_text()
    assert "what the paper's text says" in page.replace("&#39;", "'") and "the number of rows in the stream" in page
    assert "## The sum as printed" in (tmp_path / "tables.md").read_text()
    for args, said in (
        (("--protocol", "texts"), "unknown protocol 'texts'"),
        (
            ("--protocol", "text", "--repeats", "3", "--tune-repeats", "2"),
            "must be equal; got 2 to tune and 3 to report.",
        ),
    ):
        assert cli.main([*tiny, *args, "--out", str(tmp_path / "no")]) == 2
        assert said in " ".join(capsys.readouterr().err.split()) and not (tmp_path / "no").exists()

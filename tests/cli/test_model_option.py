"""`unskew start --model`: what it says, what it refuses, and the commands after it."""

import sys
from pathlib import Path

import pytest

from commands import START, fill, out, refused, told
from unskew.campaigns.example import LOG, POOL
from unskew.campaigns.learning.own_model import FITS, OwnModel
from unskew.cli import main

BEGIN = ["start", "bank", "--log", str(LOG), "--pool", str(POOL), *START]
TREE = ["--model", "sklearn.tree:DecisionTreeClassifier", "--model-parameters", '{"max_depth": 3}']


def test_a_campaign_with_a_model_of_ones_own(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    begun = told(capsys, *BEGIN, *TREE)
    assert begun["model"]["class"] == TREE[1] and begun["model"]["parameters"] == {"max_depth": 3}
    assert begun["model"]["versions"] == {"sklearn": sys.modules["sklearn"].__version__}
    assert begun["cost"]["fits"] == FITS and begun["cost"]["seconds"] > 0.0
    out(capsys, "ask", "bank", "-n", "30", "--out", "rows.csv")
    out(capsys, "tell", "bank", str(fill(Path("rows.csv"))))
    said = out(capsys, "report", "bank")
    assert "Your model's error is" in said and "that of Unskew's own" in said
    report = told(capsys, "report", "bank")
    assert report["against_built_in"]["measure"] == "difference in error" and report["changed"] is None
    assert told(capsys, "status", "bank")["changed"] is None
    assert "no model.onnx: " in out(capsys, "export", "bank")
    assert len(out(capsys, "predict", "bank", str(POOL)).splitlines()) == 2501


def test_start_says_what_each_ask_costs_before_it_is_paid(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("unskew.campaigns.learning.own_model.time.perf_counter", iter(range(100)).__next__)
    assert main([*BEGIN, *TREE]) == 0
    printed, said = capsys.readouterr()
    words = f"each ask with new labels fits {FITS} copies of it: about "
    assert said.startswith(f"{TREE[1]}: {words}")
    assert "\nmodel       sklearn.tree:DecisionTreeClassifier, max_depth = 3; sklearn " in printed and words in printed


def test_another_version_than_that_of_the_start_is_said(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    out(capsys, *BEGIN, *TREE)
    now = sys.modules["sklearn"].__version__
    began = f"The campaign began with sklearn {now}; here is sklearn 99.0, so its model may differ."
    monkeypatch.setattr("unskew.campaigns.learning.own_model.versions", lambda record, built: {"sklearn": "99.0"})
    assert began in out(capsys, "status", "bank") and began in out(capsys, "report", "bank")
    assert told(capsys, "status", "bank")["changed"] == told(capsys, "report", "bank")["changed"] == began


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "sklearn.neighbors:KNeighborsClassifier"], "must take sample_weight in fit"),
        (["--model", "sklearn.linear_model:Ridge"], "must be a scikit-learn classifier"),
        (["--model", "nowhere:Model"], "cannot be imported: No module named 'nowhere'"),
        (["--model", "LGBMClassifier"], "must be named as module:Class"),
        ([*TREE[:3], '{"max_depth": 3'], "--model-parameters must be JSON; got"),
        ([*TREE[:3], "[3]"], "--model-parameters must be a JSON object; got '[3]'"),
        ([*TREE[:3], '{"depth": 3}'], "did you mean 'max_depth'"),
        ([*TREE[:3], '{"max_depth": -3}'], "DecisionTreeClassifier must fit 672 dense rows with weights; it says:"),
        (TREE[2:], "--model-parameters needs --model"),
    ],
)
def test_a_bad_model_is_refused_in_one_line(options, said, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    line = refused(capsys, *BEGIN, *options)
    assert said in line and line.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_its_module_all_that_needs_no_model_works(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    out(capsys, *BEGIN, *TREE)

    def gone(self: OwnModel, record: object) -> None:
        from unskew.errors import InputError

        raise InputError("model cannot be imported: No module named 'gone'. Is its folder on PYTHONPATH?")

    monkeypatch.setattr(OwnModel, "__init__", gone)
    assert "No module named 'gone'" in out(capsys, "status", "bank")
    assert "No module named 'gone'" in refused(capsys, "predict", "bank", str(POOL))

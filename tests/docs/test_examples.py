"""The examples run as docs/howto/add-a-method.md shows them, keep the contract, and work in every command."""

import json
import re
import sys
from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

from paths import ROOT
from unskew import cli
from unskew.campaigns import Campaign, example
from unskew.errors import InputError
from unskew.experiments.simulation import curve, simulate


@pytest.fixture(autouse=True)
def on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "examples"))
    for name in ("margin", "rules", "spread"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def scene(curved=False, policy="uniform", rows=900):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (rows, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0 if curved else X[:, 0] > 0, 1.0, -1.0)
    return simulate(X, y, policy, 0.3, rng)


@pytest.mark.parametrize(("file", "kind"), [("margin", "Margin"), ("spread", "SpreadOut")])
def test_each_is_at_most_thirty_lines(file, kind):
    body = (ROOT / f"examples/{file}.py").read_text().split(f"class {kind}")[1]
    assert len([line for line in body.splitlines() if line.strip()]) <= 30


def test_the_page_runs_as_printed(capsys):
    page = (ROOT / "docs/howto/add-a-method.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    included = [block.strip() for block in blocks if block.startswith("--8<--")]
    assert sorted(included) == ['--8<-- "examples/margin.py"', '--8<-- "examples/spread.py"']
    names: dict[str, object] = {}
    for block in blocks:
        if block.strip() not in included:
            exec(block, names)
    for labels, right in re.findall(r"(\d+) labels, ([\d.]+) right", capsys.readouterr().out):
        assert int(labels) <= 300 and float(right) > 0.85


def test_a_stream_method_keeps_the_contract():
    from margin import Margin

    s = scene(rows=600)
    points = curve(Margin(random_state=1), s, 1000)
    assert points == curve(Margin(random_state=1), s, 1000)
    assert points[-1][2] < 0.1 and points[-1][1] < s.n / 2
    method = Margin().start(s.log, s.n)
    method.ask(s.X[:10], s.q0[:10])
    with pytest.raises(InputError, match="twice without tell"):
        method.ask(s.X[:10], s.q0[:10])


@pytest.mark.parametrize("name", ["rules:Doubtful", "rules:AllChosen", "rules:Unweighted", "spread:SpreadOut"])
def test_rules_on_a_pool_spend_the_budget_and_learn(name):
    module, _, kind = name.partition(":")
    rule = getattr(__import__(module), kind)
    s = scene(curved=True, policy="certainty")
    points = curve(rule(random_state=1), s, 100)
    assert points == curve(rule(random_state=1), s, 100)
    assert points[-1][1] == 100 and points[-1][2] < 0.7 * points[0][2]


class TestASixthRuleEverywhere:
    """spread:SpreadOut, twenty lines, in each command that takes a method."""

    def test_curve(self, capsys):
        words = "curve --dataset synthetic --policy uniform --method spread:SpreadOut --method Unskew"
        assert cli.main([*words.split(), "--repeats", "2", "--budget", "20", "--json"]) == 0
        methods = json.loads(capsys.readouterr().out)["methods"]
        assert methods["spread:SpreadOut"][-1]["labels"] == 20 and methods["spread:SpreadOut"] != methods["Unskew"]

    def test_reproduce(self, tmp_path, capsys):
        words = "reproduce --datasets synthetic --policies uniform --methods spread:SpreadOut,Passive --quick --jobs 1"
        more = ["--repeats", "2", "--tune-repeats", "1", "--out", str(tmp_path), "--json"]
        assert cli.main([*words.split(), *more]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["methods"] == ["Passive", "SpreadOut"] and not said["failed"]

    def test_start_ask_tell_and_report(self, tmp_path, capsys):
        folder, rows = tmp_path / "bank", tmp_path / "rows.csv"
        start = ["start", str(folder), "--log", str(example.LOG), "--pool", str(example.POOL), "--label", "repaid"]
        more = ["--propensity", "granted_with", "--id", "application", "--budget", "20"]
        assert cli.main([*start, *more, "--method", "spread:SpreadOut"]) == 0
        assert cli.main(["ask", str(folder), "-n", "10", "--out", str(rows)]) == 0
        truth, frame = example.truth(), pl.read_csv(rows, infer_schema=False)
        frame.with_columns(repaid=pl.col("application").replace_strict(truth)).write_csv(rows)
        assert cli.main(["tell", str(folder), str(rows)]) == 0
        assert cli.main(["report", str(folder)]) == 0
        capsys.readouterr()
        assert cli.main(["status", str(folder), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["method"], said["spent"]) == ("spread:SpreadOut", 10)

    def test_a_campaign_in_python(self, tmp_path):
        with Campaign.create(
            tmp_path / "bank", log=example.LOG, pool=example.POOL, label="repaid", propensity="granted_with",
            id="application", budget=20, method="spread:SpreadOut",
        ) as bank:  # fmt: skip
            truth = example.truth()
            bank.tell({row.id: truth[row.id] for row in bank.ask(20, by="ann")}, by="ann")
            assert type(bank.method()).__name__ == "SpreadOut" and bank.status().spent == 20
            assert 0.0 < asdict(bank.error())["value"] < 0.5
            said = bank.error()
        with Campaign.open(tmp_path / "bank") as again:
            assert again.error() == said

"""The method shown in docs/howto/add-a-method.md runs as shown, and keeps the contract."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from unskew.errors import InputError
from unskew.experiments.simulation import curve, simulate

ROOT = Path(__file__).parents[2]


@pytest.fixture
def Margin(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.delitem(sys.modules, "margin", raising=False)
    return __import__("margin").Margin


def test_the_page_runs_as_printed(Margin, capsys):
    page = (ROOT / "docs/howto/add-a-method.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert [block.strip() for block in blocks[:1]] == ['--8<-- "examples/margin.py"']
    exec(blocks[1], {})
    labels, right = re.match(r"(\d+) labels, ([\d.]+) right", capsys.readouterr().out).groups()
    assert 200 <= int(labels) <= 300 and float(right) > 0.85


def test_it_is_about_thirty_lines(Margin):
    body = (ROOT / "examples/margin.py").read_text().split("class Margin")[1]
    assert len([line for line in body.splitlines() if line.strip()]) <= 32


def test_it_keeps_the_contract(Margin):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (600, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    s = simulate(X, y, "uniform", 0.5, rng)
    points = curve(Margin(random_state=1), s, 1000)
    assert points == curve(Margin(random_state=1), s, 1000)
    assert points[-1][2] < 0.1 and points[-1][1] < s.n / 2
    method = Margin().start(s.log, s.n)
    method.ask(s.X[:10], s.q0[:10])
    with pytest.raises(InputError, match="twice without tell"):
        method.ask(s.X[:10], s.q0[:10])


@pytest.mark.parametrize("name", ["Doubtful", "Unaudited", "Unweighted"])
def test_other_rules_spend_the_budget_and_learn(monkeypatch, name):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    rule = getattr(__import__("rules"), name)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (900, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    s = simulate(X, y, "certainty", 0.3, rng)
    points = curve(rule(random_state=1), s, 100)
    assert points == curve(rule(random_state=1), s, 100)
    assert points[-1][1] == 100 and points[-1][2] < 0.7 * points[0][2]

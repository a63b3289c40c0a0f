"""Agreement with the curves of the released program, within the tolerance stated beside them."""

import json
import math

import pytest

from unskew.experiments import mean_curve
from unskew.methods.registry import PAPER_METHODS


def disagreements(ours, theirs):
    """Points outside: |error| <= 0.012 + 3 standard errors, |labels| <= 3 % + 0.5 + 3 standard errors."""
    points = {p.horizon: p for p in ours}
    out = []
    for p in theirs:
        q = points[p["horizon"]]
        error = 0.012 + 3.0 * math.hypot(q.error_se, p["error_se"])
        labels = 0.03 * p["labels"] + 0.5 + 3.0 * math.hypot(q.labels_se, p["labels_se"])
        if abs(q.error - p["error"]) > error or abs(q.labels - p["labels"]) > labels:
            out.append((p, q))
    return out


@pytest.mark.parametrize("repeats", [30, pytest.param(120, marks=pytest.mark.slow)])
def test_every_cell(data_dir, repeats):
    path = data_dir.parent / "conformance" / "curves.json"
    if not path.is_file():
        pytest.skip(f"the curves of the released program are not at {path}")
    cells = json.loads(path.read_text())
    assert len(cells) == 12
    points, outside = 0, []
    for cell in cells:
        assert set(cell["curves"]) == set(PAPER_METHODS)
        asked = {k: cell[k] for k in ("dataset", "policy", "C", "eta", "logged_fraction", "label_budget")}
        for method, theirs in cell["curves"].items():
            ours = mean_curve(**asked, method=method, repeats=repeats, seed=0, data_dir=data_dir)
            outside += [(cell["dataset"], cell["policy"], method, *pair) for pair in disagreements(ours, theirs)]
            points += len(theirs)
    assert len(outside) <= 0.02 * points, outside

"""Campaigns with a classifier of one's own: refit bit for bit, consent, cost, and how it compares with Unskew's own."""

import multiprocessing
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from campaign_folder import make, told
from unskew.campaigns import Campaign, consent
from unskew.campaigns.exchange.export import export
from unskew.campaigns.learning.own_model import FITS, Cost
from unskew.campaigns.report.report import gather, render
from unskew.errors import InputError
from unskew.estimation.costs import Costs

SLOW = """
import time
from pathlib import Path
from sklearn.naive_bayes import GaussianNB

class Slow(GaussianNB):
    def __init__(self, folder=""):
        super().__init__()
        self.folder = folder

    def fit(self, X, y, sample_weight=None):
        print("fitting")
        if Path(self.folder, "stop").exists():
            Path(self.folder, "fits").touch()
            time.sleep(60)
        return super().fit(X, y, sample_weight)
"""


def scaled() -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression())


MODELS = {
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5),
    "pipeline": scaled,
    "lightgbm": lambda: pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=20, subsample=0.7, subsample_freq=1
    ),
    "by name": lambda: {"class": "sklearn.tree:DecisionTreeClassifier", "parameters": {"max_depth": 3}},
    "no probabilities": LinearSVC,
}


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """A model in a module of the user's own, which waits while there is a file `stop`."""
    (tmp_path / "slow_model.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "slow_model", raising=False)
    return {"class": "slow_model:Slow", "parameters": {"folder": str(tmp_path)}}


def labelled(campaign: Campaign, rounds: int = 2) -> Campaign:
    for _ in range(rounds):
        campaign.tell(told(campaign.ask(12, by="ann")), by="ann")
        campaign.close_due()
    return campaign


@pytest.fixture(scope="module", params=MODELS)
def campaign(request, tables, tmp_path_factory) -> Iterator[Campaign]:
    with make(tables, tmp_path_factory.mktemp("own") / "bank", model=MODELS[request.param]()) as campaign:
        yield labelled(campaign)


def test_it_learns_with_the_model_and_says_which(campaign: Campaign) -> None:
    named = campaign.settings.model["class"].partition(":")[2]
    assert type(campaign.model()["model"]).__name__ == named
    error = campaign.error()
    assert error.commoner is not None and error.value < error.commoner and error.labels >= 20
    facts = gather(campaign)
    page = render(facts)
    assert f"<code>{campaign.settings.model['class']}" in page
    assert facts["versions"].items() >= campaign.settings.model["versions"].items()
    assert "no parameters tuned" not in page


def test_on_another_machine_it_is_the_same_bit_for_bit(campaign: Campaign, tmp_path, monkeypatch) -> None:
    shutil.copytree(campaign.folder.path, tmp_path / "copy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Campaign.open(tmp_path / "copy") as again:
        assert again.digest() == campaign.digest()
        ours, theirs = (one.method().score(one.method().log_.X) for one in (campaign, again))
        assert ours.tobytes() == theirs.tobytes()
        assert again.predict(again.pool_frame).equals(campaign.predict(campaign.pool_frame))
        assert again.error() == campaign.error()


def test_predictions_are_those_of_the_exported_pipeline(campaign: Campaign, tmp_path) -> None:
    done = export(campaign, tmp_path / "out")
    frame = campaign.pool_frame
    pipeline, found = joblib.load(tmp_path / "out" / "model.joblib"), campaign.predict(frame)
    assert found["prediction"].to_list() == pipeline.predict(frame).tolist()
    if hasattr(pipeline, "predict_proba"):
        assert found["probability"].to_list() == pipeline.predict_proba(frame)[:, 1].tolist()
    else:  # its margins are no probabilities
        assert found["probability"].null_count() == frame.height
    assert "model.onnx" not in [path.name for path in done.files]
    assert done.no_onnx is not None and type(pipeline["model"]).__name__ in done.no_onnx
    readme = (tmp_path / "out" / "README.txt").read_text()
    assert all(f"{name} {version}" in readme for name, version in campaign.settings.model["versions"].items())


def test_the_probability_is_that_of_the_positive_class_in_whatever_order(tables, tmp_path) -> None:
    """Scikit-learn sorts the classes; a campaign's negative class comes first."""
    with make(tables, tmp_path / "bank", model=scaled(), classes=["1", "0"]) as campaign:
        found = campaign.predict(campaign.pool_frame)
        assert ((found["probability"] >= 0.5) == (found["prediction"] == "0")).all()


def test_a_wanted_recall_and_costs_decide_for_it_too(tables, tmp_path) -> None:
    for k, changed in enumerate([{"recall": 0.9}, {"costs": Costs(false_negative=10.0)}]):
        with make(tables, tmp_path / str(k), model=scaled(), **changed) as campaign:
            labelled(campaign)
            found = campaign.measuring().against_built_in()
            assert found is not None
            assert found.measure == f"difference in {('precision', 'cost')[k]}"
            assert campaign.method().costs.threshold != 0.5


# Which is better


def stripes(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.uniform(-1, 1, rows) for name in ("a", "b", "c")})
    return frame.with_columns(y=(pl.col("a") * 4).round().cast(pl.Int64) % 2 == 0)


@pytest.mark.parametrize(
    ("model", "better"),
    [("stripes", "Your model is the better one."), ("naive", "Unskew's own is the better one")],
)
def test_the_report_says_which_is_known_to_be_better(model, better, tmp_path, monkeypatch) -> None:
    (tmp_path / "striped.py").write_text(
        "from sklearn.linear_model import LogisticRegression\nfrom sklearn.naive_bayes import GaussianNB\n"
        "from sklearn.pipeline import Pipeline, make_pipeline\nfrom sklearn.preprocessing import FunctionTransformer\n"
        "def flip(X):\n    return (abs((X * 4 + 0.5) % 2) < 1)[:, :1] * 1.0\n"
        "def stripes():\n    return make_pipeline(FunctionTransformer(flip), LogisticRegression())\n"
        "def naive():\n    return GaussianNB()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "striped", raising=False)
    rng = np.random.default_rng(0)
    log, pool = stripes(600, 1), stripes(1500, 2)
    if model == "naive":  # which looks at one column at a time
        log, pool = (one.with_columns(y=pl.col("a") * pl.col("b") > 0) for one in (log, pool))
    log = log.with_columns(y=pl.when(pl.Series(rng.random(600) < 0.5)).then("y"), q0=pl.lit(0.5))
    truth = pool["y"].to_list()
    with Campaign.create(
        tmp_path / "c", log=log, pool=pool.drop("y"), label="y", propensity="q0", budget=200, model=f"striped:{model}"
    ) as campaign:
        for _ in range(2):
            rows = campaign.ask(40, by="ann")
            campaign.tell({row.id: str(truth[row.place]).lower() for row in rows}, by="ann")
        campaign.close_due()
        found = campaign.measuring().against_built_in()
        assert found is not None and found.measure == "difference in error"
        facts = gather(campaign)
        assert better in facts["rival"] and better.replace("'", "&#39;") in render(facts)
        assert facts["against_built_in"] == found


def test_without_a_model_of_ones_own_nothing_is_compared(tables, tmp_path) -> None:
    with make(tables, tmp_path / "bank") as campaign:
        assert campaign.settings.model == {} and campaign.measuring().against_built_in() is None
        facts = gather(campaign)
        assert facts["own"] is facts["rival"] is None
        assert "Your model and" not in render(facts)


# What it costs


def test_the_cost_is_told_before_it_is_paid(tables, tmp_path, slow, capsys) -> None:
    heard: list[object] = []
    with make(
        tables, tmp_path / "bank", model=slow, costing=heard.append, progress=lambda *told: heard.append(told)
    ) as campaign:
        cost, *fits = heard
        assert isinstance(cost, Cost) and cost.fits == FITS and cost.seconds > 0.0
        assert (1, FITS) in fits and len(fits) == FITS, "the cost is what it said"
        heard.clear()
        campaign.watch(lambda done, total: heard.append((done, total)))
        labelled(campaign, 1)
        assert heard == [(k, FITS) for k in range(1, FITS + 1)]
        campaign.error()
        campaign.ask(12, by="ann")
        assert len(heard) == FITS, "nothing is fitted twice"
    assert capsys.readouterr().out == "", "what a model prints would be in the way of the command's output"


def test_nothing_is_said_of_the_cost_of_unskews_own(tables, tmp_path) -> None:
    heard: list[object] = []
    make(tables, tmp_path / "bank", costing=heard.append).close()
    assert heard == []


# Versions and consent


def test_another_version_is_said_and_has_another_name(tables, tmp_path, slow) -> None:
    with make(tables, tmp_path / "bank", model=slow) as campaign:
        before = campaign.digest()
        assert gather(campaign)["changed"] == ""
    (tmp_path / "slow_model.py").write_text(SLOW + "# changed\n")
    with Campaign.open(tmp_path / "bank") as campaign:
        assert campaign.digest() != before
        facts = gather(campaign)
        assert "The campaign began with slow_model (source " in facts["changed"]
        assert facts["changed"] in render(facts)


def test_whoever_did_not_agree_runs_no_code_of_it(tables, tmp_path, slow, monkeypatch) -> None:
    with make(tables, tmp_path / "bank", model=slow) as campaign:
        name = f"{campaign.settings.model['class']}#"
    monkeypatch.setattr(consent.METHODS, "_here", set())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another"))
    monkeypatch.delitem(sys.modules, "slow_model")
    with Campaign.open(tmp_path / "bank") as campaign, pytest.raises(InputError, match=name) as caught:
        campaign.ask(2, by="bob")
    assert "slow_model" not in sys.modules
    assert f'folder = "{tmp_path}"'[:40] in str(caught.value)
    monkeypatch.setenv("UNSKEW_METHODS", str(caught.value).rpartition(" ")[2].removesuffix("."))
    with Campaign.open(tmp_path / "bank") as campaign:
        assert len(campaign.ask(2, by="bob")) == 2


def test_a_method_that_takes_no_model_is_refused(tables, tmp_path, monkeypatch) -> None:
    (tmp_path / "plain_method.py").write_text(
        "from unskew import Unskew\nclass Plain(Unskew):\n"
        "    def __init__(self, *, random_state=None):\n        super().__init__(random_state=random_state)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match="'plain_method:Plain' takes no model="):
        make(tables, tmp_path / "bank", method="plain_method:Plain", model=LogisticRegression())
    assert not (tmp_path / "bank").exists()


# Faults


def create(tables, folder, model) -> None:
    sys.path.insert(0, str(folder.parent))
    make(tables, folder, model=model).close()


def ask(tables, folder, model) -> None:
    sys.path.insert(0, str(folder.parent))
    with Campaign.open(folder) as campaign:
        campaign.ask(5, by="ann")


def test_killed_within_a_fit_nothing_is_lost(tables, tmp_path, slow) -> None:
    folder, stop, fits = (tmp_path / name for name in ("bank", "stop", "fits"))
    server = multiprocessing.get_context("forkserver")

    def killed_within_a_fit(work) -> None:
        stop.touch()
        child = server.Process(target=work, args=(tables, folder, slow))
        child.start()
        deadline = time.monotonic() + 60
        while not fits.exists() and child.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        child.kill()
        child.join()
        assert fits.exists(), "it was fitting"
        stop.unlink()
        fits.unlink()

    killed_within_a_fit(create)
    with pytest.raises(InputError, match="holds no campaign"):
        Campaign.open(folder)
    with make(tables, folder, model=slow) as campaign:
        answers = told(campaign.ask(5, by="ann"))
        campaign.tell(answers, by="ann")
    killed_within_a_fit(ask)
    with Campaign.open(folder) as campaign:
        assert {row.id: row.label for row in campaign.state.answered()} == answers
        assert len(campaign.ask(5, by="ann")) == 5

"""A campaign with more than two classes, from the log to the report."""

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier

from commands import out, told
from unskew.campaigns import Campaign
from unskew.campaigns.audit.log_audit import audit_log
from unskew.campaigns.report.report import gather, render
from unskew.campaigns.telling import Rejected
from unskew.cli import main
from unskew.errors import InputError

CLASSES = ["beech", "fir", "oak", "pine"]


def trees(rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    kind = 2 * (x[:, 0] > 0) + (x[:, 1] + 0.3 * rng.normal(size=rows) > 0)
    frame = pl.DataFrame({"tree": [f"t{seed}-{k}" for k in range(rows)], "height": x[:, 0], "girth": x[:, 1]})
    return frame.with_columns(soil=pl.Series(rng.choice(["clay", "sand"], rows))), np.array(CLASSES)[kind]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forest")
    log, kind = trees(200, 1)
    q0 = np.where(log["height"] > 0, 0.6, 0.2)
    seen = np.random.default_rng(0).random(200) < q0
    log = log.with_columns(
        q0=pl.Series(q0), kind=pl.Series([k if z else None for k, z in zip(kind, seen, strict=True)])
    )
    log.write_csv(folder / "log.csv")
    trees(300, 2)[0].write_csv(folder / "pool.csv")
    return folder


def start(files, into, **how):
    given = {"label": "kind", "propensity": "q0", "id": "tree", "budget": 60} | how
    return Campaign.create(into, log=files / "log.csv", pool=files / "pool.csv", **given)


@pytest.fixture(scope="module")
def campaign(files):
    made = start(files, files / "forest")
    truth = dict(zip(trees(300, 2)[0]["tree"], trees(300, 2)[1].tolist(), strict=True))
    for _ in range(2):
        made.tell({row.id: truth[row.id].upper() for row in made.ask(20, by="ann")}, by="ann")
    yield made
    made.close()


def test_settings_status_and_estimates(campaign):
    assert campaign.settings.classes == tuple(CLASSES) and campaign.status().decision is None
    found = campaign.error()
    assert 0.0 < found.value < 0.4 and "is wrong on" in campaign.status().told
    assert campaign.status().prospect is None
    recall = campaign.error("recall", of="Oak")
    assert recall.measure == "recall" and recall.value > 0.5
    assert campaign.error(against=0).measure == "difference in error"
    assert campaign.error(where="soil = clay").value >= 0.0
    for how, message in (
        ({"measure": "recall"}, "Name the class"),
        ({"measure": "recall", "of": "elm"}, "elm"),
        ({"against": "q0"}, "a column holds the probabilities of one class, and there are 4"),
    ):
        with pytest.raises(InputError, match=message):
            campaign.error(**how)


def test_another_classifier_is_compared_by_all_its_probabilities(campaign):
    with Campaign.open(campaign.folder.path) as again:
        assert campaign.error(against=again.model()).value == pytest.approx(0.0, abs=0.1)


def test_predictions_name_every_class(campaign):
    new, kind = trees(400, 3)
    found = campaign.predict(new)
    assert found.columns == ["tree", "prediction", "probability", *(f"probability of {name}" for name in CLASSES)]
    every = found.select(pl.col("^probability of .*$")).to_numpy()
    np.testing.assert_allclose(every.sum(axis=1), 1.0)
    assert np.array_equal(found["probability"].to_numpy(), every.max(axis=1))
    assert np.mean(found["prediction"].to_numpy() == kind) > 0.7


def test_the_report_has_every_class_and_which_is_taken_for_which(campaign):
    facts = gather(campaign)
    assert [line[0] for line in facts["classes"]] == CLASSES and facts["thresholds"] == []
    assert len(facts["matrix"]) == 4 and facts["matrix"][0][0]["right"]
    shares = [float(cell["share"]) for line in facts["matrix"] for cell in line if cell["share"] != "·"]
    assert sum(shares) == pytest.approx(100.0, abs=1.0)
    page = render(facts)
    assert "Which class is taken for which" in page and "log loss" in page and "flagged" not in page
    assert next(name for name, _, _ in facts["alone"]).startswith("Bayesian logistic regression")


def test_the_same_answers_give_the_same_model(campaign):
    with Campaign.open(campaign.folder.path) as again:
        new = trees(50, 4)[0]
        assert again.predict(new).equals(campaign.predict(new)) and again.digest() == campaign.digest()


def test_an_unknown_answer_names_the_classes(campaign):
    row = campaign.ask(1, by="bob")[0]
    with pytest.raises(Rejected, match="must be one of 'beech', 'fir', 'oak', 'pine'. Correct it"):
        campaign.tell({row.id: "elm"}, by="bob")


def test_commands(campaign, capsys):
    folder = str(campaign.folder.path)
    assert told(capsys, "error", folder, "--measure", "recall", "--class", "oak", "--json")["class"] == "oak"
    assert "recall: share of actual “oak” found" in out(
        capsys, "error", folder, "--measure", "recall", "--class", "oak"
    )
    assert "log_loss" in told(capsys, "status", folder, "--json")["measures"]


def test_an_audit_of_several_classes(files, capsys):
    found = audit_log(files / "log.csv", "kind", "q0", "tree")
    assert set(found.classes) == set(CLASSES) and 0.0 <= found.weighted.value < 0.5
    assert "commoner: the error" not in out(
        capsys, "audit", str(files / "log.csv"), "--label", "kind", "--propensity", "q0"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.when(pl.col("tree") == "t1-0").then(pl.lit("elm")).otherwise("kind"), "one row alone is 'elm'"),
        (pl.col("tree"), "must have at most 100 classes; got 200"),
    ],
)
def test_a_class_seen_once_and_hundreds_of_classes_are_refused(files, tmp_path, capsys, change, message):
    pl.read_csv(files / "log.csv").with_columns(kind=change).write_csv(tmp_path / "log.csv")
    words = ["start", str(tmp_path / "c"), "--log", str(tmp_path / "log.csv"), "--pool", str(files / "pool.csv")]
    assert main([*words, "--label", "kind", "--propensity", "q0"]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "c").exists()


def test_classes_that_the_log_does_not_show_can_be_named(files, tmp_path):
    with start(files, tmp_path / "c", classes=[*CLASSES, "elm"]) as made:
        assert made.settings.classes[-1] == "elm" and made.method().log_.K == 5


def test_costs_and_a_recall_are_for_two_classes(files, tmp_path):
    with pytest.raises(InputError, match="a recall can be given for two classes; the log has 4 classes"):
        start(files, tmp_path / "c", recall=0.9)
    assert not (tmp_path / "c").exists()


def test_ones_own_model_learns_several_classes(files, tmp_path):
    with start(files, tmp_path / "c", model=RandomForestClassifier(10), budget=20) as made:
        truth = dict(zip(trees(300, 2)[0]["tree"], trees(300, 2)[1].tolist(), strict=True))
        made.tell({row.id: truth[row.id] for row in made.ask(20, by="ann")}, by="ann")
        found = made.predict(trees(200, 3)[0])
        assert np.mean(found["prediction"].to_numpy() == trees(200, 3)[1]) > 0.7
        facts = gather(made)
        assert "RandomForestClassifier" in facts["own"] and facts["against_built_in"].measure == "difference in error"

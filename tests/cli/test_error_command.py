"""What `status`, `tell`, `report` and `error` say about the model, in words and as JSON."""

import re
import shutil
from pathlib import Path

import pytest

from commands import START, fill, out, refused, told
from unskew.campaigns.example import LOG, POOL
from unskew.cli import main
from unskew.estimation.measures import MEASURES
from web_page import begin_sorting


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign on the simulated bank with 40 of 60 labels, to be copied."""
    folder = tmp_path_factory.mktemp("answered")
    bank = str(folder / "bank")
    assert main(["start", bank, "--log", str(LOG), "--pool", str(POOL), *START, "--budget", "60"]) == 0
    for k in range(2):
        rows = str(folder / f"rows{k}.csv")
        assert main(["ask", bank, "-n", "20", "--out", rows]) == 0
        assert main(["tell", bank, str(fill(Path(rows)))]) == 0
    return folder / "bank"


@pytest.fixture
def bank(answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    shutil.copytree(answered, tmp_path / "bank")
    monkeypatch.chdir(tmp_path)
    return "bank"


def test_status_says_what_stands_beside_the_error(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "status", bank)
    assert re.search(r"the model   wrong on [\d.]+ % of everyone, 95 % interval [\d.]+ to [\d.]+ %\n", said)
    for words in (
        r"Always saying “yes” would be wrong on [\d.]+ %: the model", r"It flags [\d.]+ % of rows as “yes”\.",
        r"The drawn labels say [\d.]+ % \(.*\), the log says",
        r"The 20 labels that are left would bring the interval to about ±[\d.]+ points\.",
        r"±2 points needs",
    ):  # fmt: skip
        assert re.search(words, said), words
    found = told(capsys, "status", bank)
    assert list(found["measures"]) == list(MEASURES)
    assert all(one["low"] <= one["value"] <= one["high"] for one in found["measures"].values())
    assert found["error"]["commoner"] == pytest.approx(
        min(found["error"]["positives"], 1 - found["error"]["positives"])
    )
    assert set(found["error"]["log"]) == set(found["error"]["draw"]) == {"value", "low", "high"}
    assert found["ahead"]["left"] == 20 and [plan["half_width"] for plan in found["ahead"]["labels_for"]] == [
        0.02,
        0.01,
    ]
    assert found["unknown"] is None


def test_status_goes_on_where_the_model_may_not_be_fitted(
    bank: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from unskew.campaigns.measuring import Measuring
    from unskew.errors import InputError

    def fails(self: Measuring, left: int) -> None:
        raise InputError("this campaign learns with 'theirs:Method'")

    monkeypatch.setattr(Measuring, "ahead", fails)
    assert "What more labels would do is not known: this campaign learns with" in out(capsys, "status", bank)
    found = told(capsys, "status", bank)
    assert found["spent"] == 40 and found["ahead"] is None and "theirs:Method" in found["unknown"]


def test_tell_and_report_say_the_same(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", bank, "-n", "20", "--out", "rows.csv"]) == 0
    said = out(capsys, "tell", bank, str(fill(Path("rows.csv")))).splitlines()
    assert said[2].startswith("the model is wrong on ") and said[3].startswith("Always saying “yes” would be wrong on")
    assert said[4].startswith("The drawn labels say ")
    reported = out(capsys, "report", bank).splitlines()
    assert reported[0].lower().startswith(said[2].lower()) and reported[1:3] == said[3:5]
    assert told(capsys, "report", bank)["error"] == told(capsys, "status", bank)["measures"]["error"]


def test_an_error_on_everyone_on_a_group_and_on_each(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "error", bank).splitlines()[1].startswith("Always saying")
    said = out(capsys, "error", bank, "--where", "employment = self-employed").splitlines()
    assert said[0] == "20.8 % of all rows are like this: employment = self-employed"
    assert re.match(r"the model is wrong on [\d.]+ % of them, 95 % interval", said[1])
    assert re.search(r"It flags [\d.]+ % of them as “yes”", said[2])
    lines = out(capsys, "error", bank, "--each", "employment").splitlines()
    assert lines[0].split("  ")[0] == "employment" and lines[0].endswith("commoner class  flagged")
    assert [line.split()[0] for line in lines[1:]] == ["permanent", "temporary", "self-employed", "none"]
    found = told(capsys, "error", bank, "--each", "employment")
    assert sum(group["rows"] for group in found["groups"]) == pytest.approx(1.0)
    one = told(capsys, "error", bank, "--where", "employment is temporary")
    assert one["value"] == found["groups"][1]["value"] and one["rows"] == found["groups"][1]["rows"]


def test_another_measure_and_another_model(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(
        r"AUC: chance that a “yes” gets a higher score than a “no”: 0\.\d{3} \(0\.\d{3} to [01]\.\d{3}\)\n",
        out(capsys, "error", bank, "--measure", "auc"),
    )
    assert re.match(
        r"Its recall is [\d.]+ points (lower|higher) than that of the model after 20 labels, 95 % interval .*: chance",
        out(capsys, "error", bank, "--measure", "recall", "--against", "20"),
    )
    assert told(capsys, "error", bank, "--against", "20")["against"] == 20
    lines = out(capsys, "error", bank, "--against", "0", "--each", "homeowner").splitlines()
    assert "difference in error, 95 % interval" in lines[0] and len(lines) == 3


def test_the_precision_of_a_model_that_flags_nobody(bank: str, capsys: pytest.CaptureFixture[str]) -> None:
    """At a threshold that no row reaches there is nothing to be precise about."""
    how = ["error", bank, "--measure", "precision", "--threshold", "0.99999999"]
    assert out(capsys, *how) == "precision: none flagged\n"
    assert told(capsys, *how) == {"measure": "precision", "value": None, "why": "none flagged"}
    assert out(capsys, *how, "--each", "homeowner").count("none flagged") == 2
    assert "It flags none of the rows as “yes”." in out(capsys, "error", bank, "--threshold", "0.99999999")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "employment = x", "--each", "region"], "--where and --each exclude each other"),
        (["--where", "employmnt = x"], "unknown column 'employmnt': did you mean 'employment'?"),
        (["--each", "income"], "'income' holds a number, with too many values"),
        (["--measure", "accuracy"], "unknown measure 'accuracy'"),
        (["--against", "41"], "against must be 0 to 40"),
        (["--against", "scores"], "unknown column of the log 'scores'"),
        (["--threshold", "1"], "threshold must be in (0, 1)"),
    ],
)
def test_what_is_refused(bank: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "error", bank, *options)
    assert message in said and said.count("\n") == 1


def test_an_audit_shows_the_commoner_class_beside_each_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    columns = ["--label", "repaid", "--propensity", "granted_with", "--id", "application"]
    said = out(capsys, "audit", str(LOG), *columns, "--html", str(tmp_path / "audit.html"))
    assert "commoner  flagged" in said and "predicts to be yes." in " ".join(said.split())
    assert re.search(r"like the labelled ones +6\.2 % +4\.\d to 8\.\d % +6\.4 % +99\.6 %", said)
    page = (tmp_path / "audit.html").read_text()
    assert "always the commoner class" in page and page.count(">99.6&nbsp;%</td>") == 1


def test_more_than_two_classes_have_no_commoner_and_nothing_flagged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = str(begin_sorting(tmp_path, ("cat", "dog", "owl")))
    capsys.readouterr()
    heading, *lines = out(capsys, "error", items, "--each", "note").splitlines()
    assert heading.split() == ["note", "of", "all", "rows", "error,", "95", "%", "interval"]
    assert len(lines) == 3 and all(line.endswith(")") for line in lines)
    said = out(capsys, "error", items, "--where", "note = tall")
    assert len(said.splitlines()) == said.count("\n") == 2 and "\n\n" not in said
    assert "“" not in out(capsys, "status", items)

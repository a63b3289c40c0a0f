"""Campaigns through the command line: a whole one, and everything that can be wrong with its files."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from commands import GOOD, RUN, START, fill, out, refused, table, told
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL, truth
from unskew.campaigns.user_cache import user_cache
from unskew.cli import main
from unskew.methods.prospect import Prospect


def test_a_campaign_from_start_to_export(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "next: unskew ask bank" in out(capsys, "status", "bank")
    said = out(capsys, "ask", "bank", "-n", "20", "--out", "rows.csv")
    assert (
        "20 rows to label" in said and "20 more may be asked for" in said and "next: unskew tell bank rows.csv" in said
    )
    rows = table(Path("rows.csv"))
    assert rows[0][0] == "application" and rows[0][-1] == "repaid" and "granted_with" not in rows[0]
    assert all(row[-1] == "" for row in rows[1:])
    assert out(capsys, "ask", "bank", "-n", "20").splitlines() == Path("rows.csv").read_text().splitlines()  # the same

    fill(Path("rows.csv"), {rows[1][0]: "skip", rows[2][0]: ""})
    said = out(capsys, "tell", "bank", "rows.csv")
    assert said.startswith("18 new, 1 skipped, 1 without a label\n18 of 40 labels\n")
    fill(Path("rows.csv"), {rows[1][0]: "skip"})
    found = told(capsys, "tell", "bank", "rows.csv")
    assert (found["answered"], found["repeated"], found["spent"]) == (1, 19, 19)
    assert 0.0 <= found["error"]["low"] < found["error"]["high"] <= 1.0

    while told(capsys, "ask", "bank", "-n", "50", "--out", "rows.csv")["asked"]:
        assert main(["tell", "bank", str(fill(Path("rows.csv")))]) == 0
    status = told(capsys, "status", "bank")
    assert (status["spent"], status["skipped"], status["open"], status["left"]) == (40, 1, 0, 0)
    assert status["next"] == ["report", "bank"]
    ahead = Prospect(**status["prospect"])
    assert ahead.labels == 50 and ahead.gain > 0.0 and f"{ahead}\n" in out(capsys, "status", "bank")

    said = out(capsys, "report", "bank")
    assert "from 40 labels of 40" in said and "bank/report.html" in said
    assert "<h1>" in Path("bank/report.html").read_text()
    assert out(capsys, "predict", "bank", str(POOL)).startswith("application,prediction,probability\nA01501,")
    assert "2500 predictions" in out(capsys, "predict", "bank", str(POOL), "--out", "p.parquet")
    found_rows = pl.read_parquet("p.parquet")
    assert found_rows["probability"].is_between(0.0, 1.0).all()
    assert ((found_rows["prediction"] == "yes") == (found_rows["probability"] >= 0.5)).all()
    files = told(capsys, "export", "bank", "--out", "model")["files"]
    assert "model/model.joblib" in files and "model/ledger.parquet" in files
    assert out(capsys, "export", "bank", "--out", "again").endswith("next: unskew budget bank 90\n")  # it is spent
    ledger = pl.read_parquet("model/ledger.parquet")
    assert ledger.filter(kind="answered")["probability"].is_between(0.0, 1.0, closed="right").all()


@pytest.mark.parametrize("form", ["csv", "jsonl", "label-studio"])
def test_rows_out_and_answers_in_in_every_form(form: str, bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = truth()
    text = out(capsys, "ask", "bank", "-n", "4", "--as", form)
    if form == "csv":
        name = "a.csv"
        lines = text.splitlines()
        lines = [lines[0].replace(",", ";")] + [
            f"{line.replace(',', ';')}{known[line[:6]].upper()}" for line in lines[1:]
        ]
        answered = "\ufeff" + "\r\n".join(lines)  # as a spreadsheet writes it
    elif form == "jsonl":
        name = "a.jsonl"
        rows = [json.loads(line) for line in text.splitlines()]
        assert all(0.0 < row["probability"] <= 1.0 and row["label"] is None for row in rows)
        answered = "\n".join(json.dumps({"id": row["id"], "label": known[row["id"]]}) for row in rows)
    else:
        name = "a.json"
        tasks = json.loads(text)
        for task in tasks:
            choice = {"from_name": "label", "type": "choices", "value": {"choices": [known[task["data"]["unskew_id"]]]}}
            task["annotations"] = [{"completed_by": 1, "was_cancelled": False, "result": [choice]}]
        answered = json.dumps(tasks)
    Path(name).write_text(answered)
    assert told(capsys, "tell", "bank", name)["answered"] == 4


def test_a_file_with_problems_changes_nothing_and_lists_them_all(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = (row["id"] for row in told(capsys, "ask", "bank", "-n", "3")["rows"])
    never = next(id for id in truth() if id > "A01500" and id not in (first, second, third))
    lines = ["id,label", f"{first},yes", f"{second},perhaps", "B7,no", f"{never},no", f"{third},no,more"]
    Path("labels.csv").write_text("\n".join(lines))
    said = refused(capsys, "tell", "bank", "labels.csv").splitlines()
    assert said[0] == "4 problems, nothing was changed:" and said[4].startswith("line 6: 3 values under 2 headings")
    Path("labels.csv").write_text("\n".join(lines[:-1]))
    said = refused(capsys, "tell", "bank", "labels.csv").splitlines()
    assert said[0] == "3 problems, nothing was changed:"
    assert [line.split(":")[0] for line in said[1:]] == ["line 3", "line 4", "line 5"]
    assert "'no' or 'yes'" in said[1] and "'B7' was never asked for" in said[2] and "never asked for" in said[3]
    assert told(capsys, "status", "bank")["spent"] == 0

    Path("labels.csv").write_text(f"id,label\n{first},yes\n")
    assert main(["tell", "bank", "labels.csv"]) == 0
    Path("labels.csv").write_text(f"id,label\n{first},no\n")
    assert "--force-correct" in refused(capsys, "tell", "bank", "labels.csv")
    assert told(capsys, "tell", "bank", "labels.csv", "--force-correct", "--by", "ben")["corrected"] == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.csv", b"", "is empty"),
        ("l.csv", b"application,repaid\nA\xff,yes\n", "is not UTF-8 at byte 20"),
        ("l.csv", b"A01501,yes\nA01502,no\n", "no column of ids: its first line must name 'application' or 'id'"),
        ("l.csv", b"application\nA01501\n", "no column of labels"),
        ("l.csv", b'application,repaid\n"A01501,yes\n', "not a whole CSV file from line 2 on"),
        ("l.csv", b"application,repaid\nA01501," + b"y" * 10_000_000, "not a whole CSV file from line 2 on"),
        ("l.jsonl", b'{"id": "A01501"\n', 'line 1: \'{"id": "A01501"\' is not like'),
        ("l.json", b"[{]", "not a whole JSON file"),
        ("l.json", b'{"id": 1}', "must be a list of tasks"),
        ("l.txt", b"A01501 yes", "must end in .csv"),
        ("l.csv", None, "there is no file 'l.csv'"),
    ],
)
def test_files_of_labels_that_cannot_be_read(
    name: str, content: bytes | None, message: str, bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    said = refused(capsys, "tell", "bank", name)
    assert message in said and len(said) < 500


@pytest.mark.parametrize(
    ("log", "pool", "options", "message"),
    [
        ("", None, [], "is empty"),
        (None, None, ["--label", "paid"], "unknown label column 'paid'"),
        (None, None, ["--propensity", "age"], "must be in (0, 1]"),
        (None, None, ["--id", "region"], "every row needs an id"),
        (None, None, ["--budget", "0"], "budget must be at least 1"),
        (None, None, ["--drawn", "1.5"], "drawn must be in [0, 1]"),
        (None, None, ["--budget", "1.5"], "got '1.5'. Correct it"),
        (None, None, ["--lease", "0"], "--lease must be"),
        (None, None, ["--lease", "inf"], "got inf"),
        (None, None, ["--lease", "nan"], "got nan"),
        (None, None, ["--lease", "1e10"], "at most 525600 minutes"),
        (
            None,
            None,
            ["--method", "IDBAL"],
            "works on a stream, and a campaign needs one that works on a pool. Name one of U",
        ),
        (None, None, ["--method", "unskew.methods.streams.idbal:IDBAL"], "works on a stream, and a campaign needs one"),
        (None, None, ["--classes", "no"], "--classes must be two names"),
        (None, None, ["--cost-false-negative", "0"], "--cost-false-negative must be a number from 1e-06 to"),
        (None, None, ["--cost-false-positive", "nan"], "--cost-false-positive must be a number"),
        (None, None, ["--recall", "1"], "recall must be in (0, 1); got 1.0."),
        (None, None, ["--recall", "0.9", "--cost-false-negative", "10"], "a recall and costs exclude each other"),
        (None, None, ["--classes", "good,bad"], "must be 'good' or 'bad'"),
        (None, "application,age\nA1,30\n", [], "the pool must have the log's columns"),
        ("\n".join([*GOOD[:50], GOOD[50] + ",more"]), None, [], "51"),
        ("\n".join([GOOD[0], *(line for line in GOOD if line.endswith(","))]), None, [], "no row has one"),
    ],
)
def test_a_campaign_that_cannot_begin_leaves_nothing(
    log: str | None, pool: str | None, options: list[str], message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(LOG.read_text() if log is None else log)
    Path("pool.csv").write_text(POOL.read_text() if pool is None else pool)
    said = refused(capsys, "start", "bank", "--log", "log.csv", "--pool", "pool.csv", *START, *options)
    assert said.count("\n") == 1 and message in said
    assert sorted(os.listdir(tmp_path)) == ["log.csv", "pool.csv"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["ask", "nowhere"], "nowhere holds no campaign"),
        (["status", "nowhere"], "holds no campaign"),
        (["report", "nowhere"], "nowhere holds no campaign"),
        (["status", "bank/log.parquet"], "bank/log.parquet is a file and holds no campaign"),
        (["ask", "bank", "--out", "rows.xlsx"], "got 'rows.xlsx'. Try rows.csv"),
        (["ask", "bank", "--as", "jsonl", "--out", "j.csv"], "got 'j.csv'. Try j.jsonl"),
        (["ask", "bank", "-n", "0"], "n must be at least 1"),
        (["ask", "bank", "--as", "xml"], "unknown form 'xml'"),
        (["ask", "bank", "--by", " "], "a name begins with a letter"),
        (["ask", "bank", "--out", "no/rows.csv"], "'no' does not exist"),
        (["predict", "bank", "none.csv"], "there is no file 'none.csv'"),
        (["predict", "bank", "none.csv", "--out", "p.txt"], "must end in .csv or .parquet"),
        (["start", "bank", "--log", str(LOG), "--pool", str(POOL), *START], "holds a campaign already"),
    ],
)
def test_commands_that_cannot_be_done(
    args: list[str], message: str, bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *args)
    assert said.count("\n") == 1 and message in said
    assert os.listdir() == ["bank"]


def test_two_people_get_different_rows_in_real_processes(bank: Path) -> None:
    asking = [subprocess.Popen([*RUN, "ask", "bank", "-n", "5", "--by", who], stdout=-1, text=True) for who in "ab"]
    outputs = [process.communicate(timeout=120)[0] for process in asking]
    assert [process.returncode for process in asking] == [0, 0]
    ids = [line.split(",")[0] for output in outputs for line in output.splitlines()[1:]]
    assert len(ids) == len(set(ids)) == 10


def test_an_interrupted_ask_says_so_and_the_next_goes_on(bank: Path) -> None:
    shutil.rmtree(user_cache())  # so that there is a model to fit
    code = RUN[-1].replace("sys.exit", "print('ready', flush=True); sys.exit")
    process = subprocess.Popen([*RUN[:-1], code, "ask", "bank"], stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120) == ("", "interrupted\n")
    assert process.returncode == 130
    with Campaign.open(bank) as campaign:
        assert len(campaign.ask(20, by="ann")) == 20


def test_a_store_that_cannot_be_used_makes_no_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["start", str(tmp_path / "bank"), "--log", str(LOG), "--pool", str(POOL), *START]
    assert "mysql" in refused(capsys, *args, "--store", "mysql://x")
    assert "holds no campaign" in refused(capsys, "status", str(tmp_path / "bank"))
    assert main(args) == 0


def test_the_demo_writes_its_files_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "next: unskew audit bank/log.csv --label repaid" in out(capsys, "demo", "--files", "--out", "bank")
    assert sorted(os.listdir("bank")) == ["log.csv", "pool.csv", "truth.csv"]
    assert "exists already" in refused(capsys, "demo", "--out", "bank")


def test_each_step_leads_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that are printed can be run as they are: files, audit, start, ask."""
    monkeypatch.chdir(tmp_path)
    printed = out(capsys, "demo", "--files", "--out", "my files")
    for command in ("audit", "start", "ask"):
        words = shlex.split(printed.splitlines()[-1].removeprefix("next: unskew "))
        assert words[0] == command
        printed = out(capsys, *words)
    assert len(table(Path("rows.csv"))) == 21


def test_the_first_example_of_start_runs_on_the_packages_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--files", "--out", "."]) == 0
    text = " ".join(out(capsys, "start", "--help").split())
    example = text.split(" unskew start ")[2]  # the first is the usage
    said = out(capsys, "start", *shlex.split(example))
    assert "customer_since" in said and "given, in granted_with" in said


def test_predict_says_which_probability_it_gives(capsys: pytest.CaptureFixture[str]) -> None:
    said = " ".join(out(capsys, "predict", "--help").split())
    assert "Classify new rows, with their probabilities." in said


def test_the_demo_is_a_whole_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = told(capsys, "demo")
    assert found["audit"]["error"]["naive_on_labelled_rows"]["value"] < 0.1 < 0.2 < found["steps"][0]["truth"]
    assert found["steps"][0]["labels"] == 0 and found["steps"][-1]["labels"] == 300
    assert found["steps"][-1]["truth"] < 0.5 * found["steps"][0]["truth"]
    assert found["steps"][-1]["skipped"] > 0
    assert "from 300 labels of 300" in found["headline"]
    assert "from 300 labels of 300" in Path(found["report"]).read_text().replace("\u00a0", " ")
    with Campaign.open(found["campaign"]) as campaign:
        assert campaign.status().spent == 300


def test_start_and_status_say_from_what_probability_a_row_is_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    costs = ["--cost-false-negative", "10", "--cost-false-positive", "2"]
    decision = "costs 10, a false alarm 2: a row is flagged if its probability is at least 0.17."
    assert decision in out(capsys, "start", "bank", "--log", str(LOG), "--pool", str(POOL), *START, *costs)
    assert decision in out(capsys, "status", "bank")
    assert decision in json.loads(out(capsys, "status", "bank", "--json"))["decision"]
    told = out(capsys, "status", "bank")
    assert "the model   costs " in told and " would cost " in told and "It finds " in told and "It is wrong on " in told
    words = json.loads(out(capsys, "status", "bank", "--json"))["words"]
    assert words[0].startswith("The model costs ") and words[0].endswith(".")


def test_start_status_and_report_say_the_wanted_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    begun = out(capsys, "start", "bank", "--log", str(LOG), "--pool", str(POOL), *START, "--recall", "0.9")
    assert "90 % of all 'yes' are to be found: a row is flagged if its probability is at least 0." in begun
    assert "the model   finds " in (status := out(capsys, "status", "bank")) and "where 90 % are wanted" in status
    found = json.loads(out(capsys, "status", "bank", "--json"))
    assert (found["aim"]["measure"], found["aim"]["recall"], found["aim"]["costs"]) == ("recall", 0.9, None)
    assert found["aim"]["threshold"] == found["estimates"]["recall"]["threshold"]
    assert found["estimates"]["recall"]["value"] == pytest.approx(found["measures"]["recall"]["value"])
    report = json.loads(out(capsys, "report", "bank", "--json"))
    assert report["headline"].startswith("The model finds ") and report["decision"] == found["decision"]

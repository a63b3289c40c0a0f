"""The files that commands read and write: what is kept, what is refused, and what odd columns do."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from commands import GOOD, RUN, START, fill, out, refused, table, told
from unskew.campaigns.example import LOG, POOL
from unskew.cli import main


def test_a_file_with_labels_that_were_not_told_is_kept(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["ask", "bank", "-n", "2", "--out", "rows.csv"]
    assert main(ask) == main(ask) == 0  # nothing is filled in yet
    first, second = (row[0] for row in table(Path("rows.csv"))[1:])
    fill(Path("rows.csv"), {second: ""})
    kept = Path("rows.csv").read_text()
    assert "rows.csv has labels that were not told yet, the first in line 2. Tell it first" in refused(capsys, *ask)
    assert told(capsys, "tell", "bank", "rows.csv")["next"] == ["tell", "bank", "rows.csv"]  # one is in hand
    fill(Path("rows.csv"), {second: "skip"})
    assert "the first in line 3" in refused(capsys, *ask)
    assert told(capsys, "tell", "bank", "rows.csv")["next"][0] == "ask"
    Path("rows.csv").write_text(Path("rows.csv").read_text().replace(f"{first},", f"{first},more,"))
    assert "its line 2 cannot be read" in refused(capsys, *ask)
    Path("rows.csv").write_text("my,notes\n1,2\n")
    assert "rows.csv exists, and `unskew ask` may not have written it" in refused(capsys, *ask)
    Path("rows.csv").write_text(kept)  # all that is filled in was told
    assert main(ask) == 0


def test_a_file_that_cannot_be_read_is_kept(
    bank: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read every file, so the refusal is made up."""
    Path("rows.csv").write_text("application,repaid\nA1,yes\n")

    def unreadable(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("unskew.campaigns.exchange.asked_files.is_asked", unreadable)
    said = refused(capsys, "ask", "bank", "--out", "rows.csv")
    assert said.startswith("rows.csv exists and cannot be read: Permission denied. Name another file, or add --over")


def test_rows_in_hand_come_before_new_ones(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = told(capsys, "ask", "bank", "-n", "2", "--by", "ann")["rows"]
    assert told(capsys, "status", "bank")["next"] == ["tell", "bank", "rows.csv"]
    Path("ben.csv").write_text("id,label\n")
    assert told(capsys, "tell", "bank", "ben.csv", "--by", "ben")["next"][0] == "ask"  # they are not his
    Path("ann.csv").write_text(f"id,label\n{rows[0]['id']},yes\n")
    assert told(capsys, "tell", "bank", "ann.csv", "--by", "ann")["next"] == ["tell", "bank", "ann.csv"]
    Path("ann.csv").write_text(f"id,label\n{rows[0]['id']},yes\n{rows[1]['id']},no\n")
    assert told(capsys, "tell", "bank", "ann.csv", "--by", "ann")["next"][0] == "ask"  # none is in hand


def test_when_all_rows_are_with_others_nothing_is_written(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "ask", "bank", "-n", "99", "--by", "ann")["asked"] == 40
    said = out(capsys, "ask", "bank", "--by", "ben", "--out", "rows.csv")
    assert said == "0 rows to label: others hold 40 rows\nnext: unskew status bank\n"
    assert told(capsys, "ask", "bank", "--by", "ben", "--out", "rows.csv")["out"] is None
    assert out(capsys, "ask", "bank", "--by", "ben") == "" and not Path("rows.csv").exists()


def test_what_to_do_with_tasks_for_label_studio(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(capsys, "ask", "bank", "--as", "label-studio", "--out", "t.json")
    assert "import t.json into Label Studio" in said and said.endswith("next: unskew tell bank export.json\n")
    assert main(["ask", "bank", "--as", "label-studio", "--out", "t.json"]) == 0  # nothing is annotated in it


def test_a_label_may_be_called_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, source in (("log.csv", LOG), ("pool.csv", POOL)):
        frame = pl.read_csv(source).drop("application")
        (frame.rename({"repaid": "id"}) if name == "log.csv" else frame).write_csv(name)
    start = ["start", "bank", "--log", "log.csv", "--pool", "pool.csv", "--label", "id", "--propensity", "granted_with"]
    assert main(start) == main(["ask", "bank", "-n", "2", "--out", "rows.csv"]) == 0
    heading, *rows = table(Path("rows.csv"))
    assert (heading[0], heading[-1], len(set(heading))) == ("unskew_id", "id", len(heading))
    Path("rows.csv").write_text("\n".join([",".join(heading), *(",".join([*row[:-1], "yes"]) for row in rows)]))
    assert main(["tell", "bank", "rows.csv"]) == 0


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign whose categories look like numbers and booleans, with blanks around labels and ids."""
    folder = tmp_path_factory.mktemp("mixed")
    log = pl.read_csv(LOG).rename({"repaid": "paid"}).with_columns(
        code=pl.Series(["S", "7.50", "M", "L", "36"] * 300),
        said=pl.when(pl.col("income") > 40).then(pl.lit("True")).otherwise(pl.lit("Unknown")),
        paid=pl.when(pl.col("paid") == "yes").then(pl.lit("0.0")).when(pl.col("paid") == "no").then(pl.lit("1.0 ")),
        application=pl.col("application") + " ", note=pl.lit("none"), story=pl.format("said {}", pl.int_range(1500)),
    )  # fmt: skip
    log.write_csv(folder / "log.csv")
    log.drop("paid", "granted_with")[:60].write_csv(folder / "pool.csv")
    names = ["--label", "paid", "--propensity", "granted_with", "--id", "application", "--classes", "1.0,0.0"]
    names += ["--same-ids", "separate"]
    files = ["--log", str(folder / "log.csv"), "--pool", str(folder / "pool.csv")]
    assert main(["start", str(folder / "bank"), *files, *names]) == 0
    return folder


def test_what_is_left_out_is_said(mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = out(
        capsys, "start", str(tmp_path / "bank"), "--log", str(mixed / "log.csv"), "--pool", str(mixed / "pool.csv"),
        "--label", "paid", "--propensity", "granted_with", "--id", "application", "--same-ids", "separate",
    )  # fmt: skip
    why = "nearly every value differs; keep it with --type story=text"
    assert f"\nleft out    note (the same in every row), story ({why})\n" in said
    assert "note" not in said.partition("left out")[0] and "672 of 1500 rows have a label, 0 or 1" in said


def test_ids_and_labels_with_blanks_can_be_answered(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = str(shutil.copytree(mixed / "bank", tmp_path / "bank"))
    row = told(capsys, "ask", bank, "-n", "1")["rows"][0]
    assert row["id"] == row["id"].strip()
    (tmp_path / "a.csv").write_text(f"id,label\n{row['id']},1.0\n")
    assert told(capsys, "tell", bank, str(tmp_path / "a.csv"))["answered"] == 1
    assert told(capsys, "status", bank)["classes"] == ["1", "0"]


def test_predictions_do_not_depend_on_what_else_is_in_the_file(
    mixed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Alone, True and True are booleans, 7.50 is 7.5, and half of 36 and S are numbers."""
    whole = out(capsys, "predict", str(mixed / "bank"), str(mixed / "pool.csv")).splitlines()
    lines = (mixed / "pool.csv").read_text().splitlines()
    for some in ([1, 5], [2], [k for k, line in enumerate(lines) if k and ",True," in line]):
        (tmp_path / "new.csv").write_text("\n".join([lines[0], *(lines[k] for k in some)]))
        found = out(capsys, "predict", str(mixed / "bank"), str(tmp_path / "new.csv")).splitlines()
        probability = [[float(line.split(",")[2]) for line in part] for part in (found[1:], [whole[k] for k in some])]
        assert probability[0] == pytest.approx(probability[1], rel=1e-9)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("customer_since", ["20200309"], "column 'customer_since' must hold a date; got '20200309'"),
        ("age", ["2020-03-09"], "column 'age' must hold a number; got '2020-03-09'"),
        ("homeowner", ["7"], "column 'homeowner' must hold a boolean; got '7'"),
        ("income", ["12", "abc", "def"], "column 'income' must hold a number; got 'abc'"),
        ("income", ["12", "1e31"], "line 3: column 'income' holds 1e+31"),
    ],
)
def test_new_rows_must_hold_what_the_log_holds(
    column: str, values: list[str], message: str, bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pl.read_csv(POOL)[: len(values)].with_columns(pl.Series(column, values)).write_csv("new.csv")
    assert message in refused(capsys, "predict", "bank", "new.csv")


def test_output_that_cannot_be_written_is_one_line(bank: Path) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run([*RUN, "status", "bank"], stdout=full, stderr=-1, text=True, timeout=120, check=False)
    assert run.returncode == 1
    assert run.stderr == "No space left on device. Make room, or check where the output goes.\n"


def test_an_audit_of_one_class_names_a_remedy_that_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "log.csv").write_text("\n".join(line for line in GOOD if not line.endswith(",no")))
    said = refused(capsys, "audit", str(tmp_path / "log.csv"), "--label", "repaid", "--id", "application")
    assert (
        "all are 'yes'. Add labels of both classes, or name the classes: `unskew start` takes --classes NEG,POS."
        in said
    )


def test_an_audit_on_a_narrow_terminal_says_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    said = out(capsys, "audit", str(LOG), "--label", "repaid", "--propensity", "granted_with", "--id", "application")
    plain = " ".join(said.split())
    assert "employment is not permanent and income < 54 52.3 % of everyone, 2.4 % of the labels" in plain
    assert "labelled: 16 of 784" in plain


def test_one_label_is_not_called_labels(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "bank", "-n", "1", "--out", "rows.csv"]) == main(["tell", "bank", str(fill(Path("rows.csv")))])
    assert "from 1 label of 40." in out(capsys, "report", "bank")


def test_a_file_that_ask_wrote_can_be_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ids, a heading, categories and classes that begin like formulas come back as they were."""
    odd = [pl.format("={}", "application").alias("application"), pl.format("x;={}", "region").alias("=region")]
    log = pl.read_csv(LOG).with_columns(pl.col("repaid").replace({"yes": "@yes", "no": "-"}), *odd).drop("region")
    pool = pl.read_csv(POOL).with_columns(*odd).drop("region")
    log.write_parquet(tmp_path / "log.parquet")
    pool.write_parquet(tmp_path / "pool.parquet")
    bank, rows, few = (str(tmp_path / name) for name in ("bank", "rows.csv", "few.parquet"))
    files = ["--log", str(tmp_path / "log.parquet"), "--pool", str(tmp_path / "pool.parquet")]
    assert main(["start", bank, *files, *START, "--budget", "20", "--classes=-,@yes"]) == 0
    assert main(["ask", bank, "-n", "10", "--out", rows]) == 0
    heading, *cells = table(Path(rows))
    assert "'=region" in heading and all(row[0].startswith("'=A") and "x;'=" in row[-2] for row in cells)
    asked_for = pl.DataFrame({"application": [row[0][1:] for row in cells]})
    asked_for.join(pool, on="application", how="left", maintain_order="left").write_parquet(few)
    for name in (rows, few):
        assert main(["predict", bank, name, "--out", f"{name}.out.parquet"]) == 0
    asked, exact = (pl.read_parquet(f"{name}.out.parquet") for name in (rows, few))
    assert asked.equals(exact) and set(exact["prediction"]) <= {"@yes", "-"}
    assert main(["predict", bank, rows, "--out", f"{rows}.out.csv"]) == 0
    printed = out(capsys, "predict", bank, rows)
    assert Path(f"{rows}.out.csv").read_text() == printed and not any(",@" in line for line in printed.splitlines())
    assert all(line.startswith("'=A") for line in printed.splitlines()[1:])

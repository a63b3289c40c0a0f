"""`unskew reproduce` as a person runs it: what it writes, what it refuses, what it says."""

import json
import os
import re
import subprocess
import sys

import polars as pl
import pytest
from test_summary import failed, record, tiny

from unskew import cli
from unskew.experiments.outputs import write
from unskew.experiments.summary import summarise
from unskew.experiments.tables import latex, markdown

FRAMES = {"results.parquet", "results.csv", "summary.parquet", "summary.csv", "ratios.csv", "pairs.csv"}
OTHERS = {"tables.md", "tables.tex", "ratios.png", "ratios.pdf", "report.html"}

TINY = ("reproduce", "--datasets", "synthetic", "--tune-repeats", "1", "--repeats", "2", "--quick", "--jobs", "1")


def curves(*policies):
    return {f"curves-{policy}.{kind}" for policy in policies for kind in ("png", "pdf")}


def run(*args):
    return cli.main(list(args))


def test_markdown():
    page = markdown(summarise(tiny()))
    assert "| skin | **7.60** ± 0.00 | 8.80 ± 0.00 | **7.60** ± 0.00 |" in page
    assert "| german | 7.60 ± 0.00 | **5.90** ± 0.00 | 7.10 ± 0.00 |" in page
    assert "| german | – | – | – |" in page  # not run under that policy
    assert "| IDBAL / Passive | 1 of 2 | 1 | 1 | 0.948 (0.948 to 0.948) | 2 of 2 | 0.827 |" in page
    assert "| Best / Passive | 1 of 2 | 1 | 0 | 0.967 (0.967 to 0.967) | – | – |" in page
    assert "Best of all in 2 cells: Passive 1, IDBAL 1, Best 1. In the paper: Passive 0, IDBAL 2." in page


def test_bold_is_on_the_least_and_only_there():
    for line in markdown(summarise(tiny())).splitlines():
        areas = re.findall(r"(\*\*)?(\d+\.\d\d)(?:\*\*)? ±", line)
        assert all(bool(bold) == (area == min(a for _, a in areas)) for bold, area in areas)


def test_latex():
    page = latex(summarise([*tiny(), failed("a5a", "uniform", "my_mod:Bad_One")]))
    assert r"german & 7.60 (0.00) & \textbf{5.90} (0.00) & 7.10 (0.00) & -- \\" in page
    assert r"Bad\_One" in page
    for opened in ("table", "tabular"):
        assert page.count(rf"\begin{{{opened}}}") == page.count(rf"\end{{{opened}}}") == 3
    assert page.isascii()


def test_writes_everything_and_the_same_bytes_again(tmp_path):
    first = write(tiny(), tmp_path / "a")
    assert {path.name for path in first} == FRAMES | OTHERS | curves("identical", "uniform")
    assert {path.name for path in (tmp_path / "a").iterdir()} == {path.name for path in first}  # no part is left
    (tmp_path / "records.json").write_text(json.dumps(tiny()))
    code = (
        "import json, pathlib; from unskew.experiments.outputs import write; "
        "write(json.loads(pathlib.Path('records.json').read_text())[::-1], pathlib.Path('b'))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": "7"}, check=True)
    for path in first:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_frames_can_be_read_back(tmp_path):
    write(tiny(), tmp_path)
    points, cells = pl.read_parquet(tmp_path / "results.parquet"), pl.read_parquet(tmp_path / "summary.parquet")
    assert points.columns == ["dataset", "policy", "method", "horizon", "labels", "labels_se", "error", "error_se"]
    assert points.equals(pl.read_csv(tmp_path / "results.csv"))
    assert points.height == 13 and cells.height == 6
    assert cells.filter(pl.col("method") == "Passive")["C"].to_list() == [None, None]  # it plays no part


def test_report_stands_alone(tmp_path):
    write([*tiny(), failed("skin", "uniform", "IDBAL")], tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "http" not in page and "<script" not in page
    for target in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert target.startswith(("data:", "#"))
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{anchor}"' in page
    assert page.count("<img") == 3 == len(re.findall(r'<img [^>]*alt="[^"]{20,}"', page))
    assert not re.findall(r"<th(?! [^>]*scope=)[ >]", page)
    assert "ValueError: no" in page and "<strong>5.90</strong>" in page and "never" in page


def test_report_escapes_what_an_error_says(tmp_path):
    bad = {**failed("skin", "uniform", "IDBAL"), "failed": "ValueError: <b>&"}
    write([bad], tmp_path)
    assert "ValueError: &lt;b&gt;&amp;" in (tmp_path / "report.html").read_text()


def test_one_method_has_no_pairs(tmp_path):
    written = write([record("german", "uniform", "IDBAL", [0, 10], [0.5, 0.2])], tmp_path)
    assert {path.name for path in written} == FRAMES | OTHERS - {"ratios.png", "ratios.pdf"} | curves("uniform")


def test_a_run_a_resumed_run_and_json(tmp_path, capsys):
    out = tmp_path / "whole"
    assert run(*TINY, "--policies", "uniform,certainty", "--out", str(out)) == 0
    said = capsys.readouterr()
    assert "IDBAL / Passive" in said.out and f"Report: {out / 'report.html'}" in said.out and not said.err
    names = FRAMES | OTHERS | curves("uniform", "certainty") | {"results.jsonl"}
    assert {path.name for path in out.iterdir()} == names

    cut = tmp_path / "cut"
    cut.mkdir()
    lines = (out / "results.jsonl").read_bytes().splitlines(keepends=True)
    (cut / "results.jsonl").write_bytes(b"".join(lines[:5]) + lines[5][:40])  # killed while writing the sixth
    assert run(*TINY, "--policies", "uniform,certainty", "--out", str(cut), "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [pair["cells"] for pair in answer["pairs"]] == [2] * 6
    assert answer["failed"] == [] and answer["repeats"] == 2 and answer["datasets"] == ["synthetic"]
    assert {os.path.basename(file) for file in answer["files"]} == names - {"results.jsonl"}
    for name in names - {"results.jsonl"}:
        assert (out / name).read_bytes() == (cut / name).read_bytes(), name


def test_what_the_paper_does_not_have_stands_beside_what_it_has(tmp_path, capsys):
    args = ("--policies", "uniform,blind-spot", "--methods", "VCDBAL,IDBAL,Passive", "--out", str(tmp_path), "--json")
    assert run(*TINY, *args) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["policies"] == ["uniform", "blind-spot"] and answer["methods"] == ["Passive", "IDBAL", "VCDBAL"]
    found = {(pair["method"], pair["against"]): (pair["cells"], pair["paper_cells"]) for pair in answer["pairs"]}
    assert found == {("VCDBAL", "Passive"): (2, 0), ("VCDBAL", "IDBAL"): (2, 0), ("IDBAL", "Passive"): (2, 1)}
    assert [(row["cells"], row["paper_cells"]) for row in answer["standings"]] == [(2, 1), (2, 1), (2, None)]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--datasets", "germann"], "did you mean 'german'?"),
        (["--datasets", " , "], "--datasets must name at least one"),
        (["--policies", "certain"], "did you mean 'certainty'?"),
        (["--methods", "IDBALL"], "did you mean 'IDBAL'?"),
        (["--methods", "no.such:Class"], "cannot be imported"),
        (["--methods", "json:JSONDecoder"], "must be a subclass of StreamMethod or PoolMethod"),
        (["--repeats", "1"], "repeats must be at least 2"),
        (["--jobs", "0"], "jobs must be at least 1"),
        (["--data-dir", "no-such-folder"], "does not exist"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_folder(tmp_path, monkeypatch, capsys, args, said):
    monkeypatch.chdir(tmp_path)
    assert run("reproduce", "--quick", *args) == 2
    printed = capsys.readouterr()
    assert said in printed.err and printed.err.count("\n") == 1 and not printed.out
    assert list(tmp_path.iterdir()) == []


def test_out_must_be_a_folder(tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/inside"):
        assert run(*TINY, "--out", str(tmp_path / out)) == 2
        assert "is a file, not a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_results_of_another_version_are_kept(tmp_path, capsys):
    line = '{"key":"k","code":"older"}\n'
    (tmp_path / "results.jsonl").write_text(line)
    assert run(*TINY, "--out", str(tmp_path)) == 2
    assert "code version older" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.iterdir()] == [line]


OUTSIDE = """
from unskew.methods import Passive


class Fine(Passive):
    pass


class Broken(Passive):
    def learn(self, batch):
        raise RuntimeError("out of luck")
"""


def test_outside_methods_and_a_failed_cell(tmp_path, monkeypatch, capsys):
    (tmp_path / "outside_methods.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out"
    mine = "Passive,outside_methods:Fine,outside_methods:Broken"
    args = (*TINY, "--policies", "uniform", "--methods", mine, "--out", str(out))
    assert run(*args) == 1
    said = capsys.readouterr()
    assert "failed: synthetic, uniform, Broken: RuntimeError: out of luck (outside_methods.py, line 11)" in said.err
    assert "Fine / Passive" in said.out
    assert "| Data set | Passive | Fine | Broken |" in (out / "tables.md").read_text()
    assert "out of luck" in (out / "report.html").read_text()

    assert run(*args, "--json") == 1  # tried again
    answer = json.loads(capsys.readouterr().out)
    assert [f["method"] for f in answer["failed"]] == ["Broken"]


def test_interrupted(tmp_path, monkeypatch, capsys):
    from unskew.experiments import reproduce

    attempt, left = reproduce._attempt, [3]

    def until_interrupted(*args):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return attempt(*args)

    monkeypatch.setattr(reproduce, "_attempt", until_interrupted)
    assert run(*TINY, "--policies", "uniform", "--out", str(tmp_path)) == 130
    said = capsys.readouterr()
    assert f"3 results are kept in {tmp_path}; run the same command to continue." in said.err and not said.out
    monkeypatch.undo()
    assert run(*TINY, "--policies", "uniform", "--out", str(tmp_path)) == 0

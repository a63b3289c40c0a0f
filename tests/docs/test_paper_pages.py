"""What the pages on the paper say in numbers, held against the paper, the code and the tables."""

import re

import numpy as np
import pytest

from paths import ROOT
from unskew.experiments.datasets import FILES, ROWS_USED, SPLICE_TEST
from unskew.sampling.policies import FLOOR

NUMBERED = {
    "thm:Convergence": "Theorem 1 (consistency)",
    "thm:Label-Complexity": "Theorem 3 (labels)",
    "prop:quad-ineq": "Proposition 4",
    "lem:Q": "Lemma 5 (largest weight)",
    "lem:l-diff-S-S_tilde": "Lemma 6 (inferred labels)",
    "fact:independence": "Fact 8",
    "thm:gen": "Theorem 13",
    "thm:gen-rho": "Theorem 14",
    "cor:gen": "Corollary 15",
    "lem:h_star_in": "Lemma 16",
    "lem:dis-radius": "Lemma 17",
    "lem:Dk-DISk": "Lemma 18",
}
"""Labels in the paper's source, and what the pages call them."""

KINDS = {
    "thm": "Theorem",
    "defn": "Definition",
    "prop": "Proposition",
    "lem": "Lemma",
    "cor": "Corollary",
    "fact": "Fact",
}


def page(name):
    return " ".join((ROOT / "docs" / name).read_text().split())


def test_results_are_numbered_as_in_the_paper(data_dir):
    paper = data_dir.parent / "paper.tex"
    if not paper.is_file():
        pytest.skip(f"the paper is not at {paper}")
    found = {}
    begun = re.finditer(rf"\\begin\{{({'|'.join(KINDS)})\}}\s*(?:\\label\{{(.*?)\}})?", paper.read_text())
    for number, (kind, label) in enumerate((match.groups() for match in begun), 1):
        found[label] = f"{KINDS[kind]} {number}"
    assert {label: name.split(" (")[0] for label, name in NUMBERED.items()} == {
        label: found[label] for label in NUMBERED
    }


def test_theory_and_notation_name_them_so():
    theory, notation = page("theory.md"), page("notation.md")
    for name in list(NUMBERED.values())[:6]:
        assert name in theory
    assert "Theorems 13 and 14 (deviations), Corollary 15, Lemmas 16 to 18" in theory
    assert re.search(r"bound of Theorem 1 \| `Analysis.consistency`", notation)
    assert re.search(r"bound of Theorem 3, .*? \| `Analysis.labels`", notation)


def test_theory_quotes_the_table_of_gamma_0():
    theory, lines = page("theory.md"), (ROOT / "docs/tables/gamma_0.md").read_text().splitlines()
    assert '--8<-- "docs/tables/gamma_0.md"' in theory
    rows = [re.findall(r"[\d.]+", line) for line in lines if re.match(r"\| \d", line)]
    kept = {row[0]: tuple(map(float, row[1:3])) for row in rows}
    removed = {row[0]: tuple(map(float, row[3:5])) for row in rows}
    assert f"at least {kept['0.3'][0]:.0f} % of the runs" in theory and kept["0.3"][0] > 90
    assert np.round(np.divide(removed["0.3"], 20)).tolist() == [2, 4], "two to four fifths"
    assert kept["0.1"][0] < 90, "lost too often"
    assert removed["7.83"] == (0.0, 0.0)


def test_choose_variant_counts_rows_as_the_files_do():
    text = page("howto/choose-variant.md")
    covtype, splice = FILES["covtype"], FILES["splice"]
    assert f"covtype has {covtype.rows:,} rows" in text and f"which are {covtype.used:,} rows" in text
    assert f"all {splice.rows} rows" in text and f"{splice.rows - SPLICE_TEST.start} rows" in text
    assert f"at most {ROWS_USED} rows" in text and f"below {FLOOR}" in text


def test_nothing_but_the_exact_method_claims_to_be_line_by_line():
    claims = [
        path.relative_to(ROOT).as_posix()
        for folder, kind in (("src", "*.py"), ("docs", "*.md"), (".", "README.md"))
        for path in (ROOT / folder).glob(kind if folder == "." else f"**/{kind}")
        if re.search(r"Algorithm\s+1\b[^.]{0,80}line\s+by\s+line", path.read_text())
    ]
    assert sorted(claims) == ["docs/howto/choose-variant.md", "src/unskew/methods/streams/exact.py"]
    assert "`ExactIDBAL`](../reference/methods-streams.md) is Algorithm 1 line by line" in page(
        "howto/choose-variant.md"
    )

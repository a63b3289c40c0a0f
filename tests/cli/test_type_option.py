"""`--type`: what columns hold, as `start` and `audit` take, show and refuse it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commands import out, refused, told

NAMES = ["--label", "paid", "--propensity", "q0"]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({
        "zip": rng.choice([1067, 20095, 50667], 300), "size": rng.choice(["S", "M", "L"], 300),
        "x": rng.normal(size=300), "photo": [f"https://example.org/{k}.png" for k in range(300)],
    })  # fmt: skip
    paid = [int(x > 0) if k % 3 else None for k, x in enumerate(rows["x"])]
    rows.with_columns(pl.Series("paid", paid), q0=pl.lit(0.67)).write_csv("log.csv")
    rows.with_columns(pl.col("x") + 1.0).write_csv("pool.csv")
    return tmp_path


def test_types_are_taken_shown_and_recorded(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    types = ["--type", "zip=category", "--type", "size=ordinal:S,M,L"]
    start = ["start", "shop", "--log", "log.csv", "--pool", "pool.csv", *NAMES]
    said = out(capsys, *start, *types)
    assert "\ncategory    zip\nordinal     size (S,M,L)\nnumber      x\n" in said
    assert "\nleft out    photo (nearly every value differs; keep it with --type photo=text)\n" in said
    again = told(capsys, "start", "again", *start[2:], *types, "--type", "photo=ignore")
    assert again["columns"] == {"zip": "category", "size": "ordinal:S,M,L", "x": "number"}
    assert again["types"] == {"zip": "category", "size": "ordinal:S,M,L", "photo": "ignore"}
    assert again["left_out"] == {"photo": "by the type given"}
    found = told(capsys, "audit", "log.csv", *NAMES, *types)
    assert found["columns"] == again["columns"] and found["next"][-4:] == types
    assert "Learnt from: zip (category), size (ordinal:S,M,L), x (number)." in out(
        capsys, "audit", "log.csv", *NAMES, *types
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("size=number", "log.csv line 2: column 'size' must hold numbers, by the type given; got "),
        ("size=ordinal", "Give the order: --type size=ordinal:low,medium,high"),
        ("zip=categorical", "unknown type of column 'zip' 'categorical': did you mean 'category'"),
        ("zpi=category", "unknown column of --type 'zpi': did you mean 'zip'"),
        ("paid=category", "column 'paid' is the label"),
        ("zip", "--type is like age=number; got 'zip'"),
    ],
)
def test_a_type_that_does_not_fit(files: Path, capsys: pytest.CaptureFixture[str], given: str, why: str) -> None:
    said = refused(capsys, "start", "shop", "--log", "log.csv", "--pool", "pool.csv", *NAMES, "--type", given)
    assert why in said and said.count("\n") == 1 and not (files / "shop").exists()
    assert why in refused(capsys, "audit", "log.csv", *NAMES, "--type", given)

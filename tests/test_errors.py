"""Messages: no long value in them, and every digit of a number that was refused."""

import io
import json
from pathlib import Path

import httpx
import polars as pl
import pytest

from unskew.campaigns import Campaign
from unskew.campaigns.tables.given_types import as_given
from unskew.cli import main
from unskew.data import propensities
from unskew.errors import InputError, UnskewError, brief, exact, unknown
from web_page import begin, serving

LONG = 800_000
VALUES = ["x" * LONG, "two words " * (LONG // 10), 'it\'s "both" ' * (LONG // 12), "/a/b" * (LONG // 4)]


@pytest.mark.parametrize("value", VALUES)
def test_a_long_value_is_cut_and_its_length_shown(value: str) -> None:
    message = str(InputError(f"label {value!r} is not a class; got it in row 7 of 'labels'. Correct it."))
    assert len(message) < 250 and "…" in message
    assert message.startswith("label ") and message.endswith("row 7 of 'labels'. Correct it.")
    assert f" ({len(repr(value)) - 2:,} characters) is not a class" in message


def test_half_a_character_can_be_printed() -> None:
    assert str(InputError("no \ud800 here")) == "no \\ud800 here"
    assert str(InputError(f"no {chr(0xDCFF) * LONG!s} here")).encode()


def test_a_long_cell_is_between_quotes_and_has_its_length() -> None:
    rows = pl.DataFrame({"x": ["1"] * 9 + ["a b " * (LONG // 4)]})
    with pytest.raises(InputError) as caught:
        as_given("log.csv", rows["x"], "number", lambda row: f"row {row + 1}")
    assert "…" in str(caught.value) and "' (800,000 characters)" in str(caught.value)


def test_a_long_word_without_quotes_is_cut() -> None:
    assert brief(f"line 3: {'x' * LONG} is odd.").endswith("xxx (800,000 characters) is odd.")


@pytest.mark.parametrize(
    "message",
    [
        "half of this machine's memory holds the rows' values, and the log's columns must be those of 'pool'; "
        "Polars' and pandas' frames have them. Name 'id'.",
        f"there is no file {'/tmp/' + 'folder/' * 20 + 'log.csv'!r}. Check the name.",
        "Save it as CSV, or convert it: python -c \"import polars; polars.read_excel('applications of 2026.xlsx')"
        ".write_parquet('applications of 2026.parquet')\"",
    ],
)
def test_prose_paths_and_commands_stay_whole(message: str) -> None:
    assert str(InputError(message)) == message


def test_an_unknown_name_among_very_many() -> None:
    message = str(unknown("column", "x" * LONG, [f"{k}" * 500 for k in range(2000)]))
    assert len(message) < 10_000 and message.endswith("and 1,950 more.")


def test_a_refused_number_has_all_its_digits() -> None:
    assert [exact(x) for x in (1.0000001, 2.0, 1e30, 1.0000001e30)] == ["1.0000001", "2", "1e+30", "1.0000001e+30"]
    assert exact(float("nan")) == "nan"


def campaign_files(folder: Path) -> tuple[Path, Path, pl.DataFrame]:
    begin(folder)
    return folder / "log.parquet", folder / "pool.csv", pl.read_parquet(folder / "log.parquet")


@pytest.mark.parametrize("value", ["x" * LONG, "two words " * (LONG // 10)])
@pytest.mark.parametrize("column", ["repaid", "application", "q0", "income_eur", "customer_since"])
def test_a_long_cell_in_a_log(column: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, log = campaign_files(tmp_path)
    texts = log.cast(dict.fromkeys(log.columns, pl.String))
    longs = [value if k in (3, 5) else text for k, text in enumerate(texts[column])]
    texts.with_columns(pl.Series(column, longs)).write_csv(tmp_path / "long.csv")
    words = [
        "--classes",
        "no,yes",
        "--label",
        "repaid",
        "--propensity",
        "q0",
        "--id",
        "application",
        "--pool",
        str(tmp_path / "pool.parquet"),
    ]
    status = main(["start", str(tmp_path / "new"), "--log", str(tmp_path / "long.csv"), *words, "--budget", "9"])
    error = capsys.readouterr().err
    assert status == 2 and error.count("\n") == 1
    assert len(error) < 2_000 and "Traceback" not in error


def test_a_long_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, log = campaign_files(tmp_path)
    log.rename({"income_eur": "x" * LONG}).write_csv(tmp_path / "long.csv")
    words = ["start", str(tmp_path / "new"), "--log", str(tmp_path / "long.csv"), "--label", "repaid"]
    assert main([*words, "--pool", str(tmp_path / "pool.parquet"), "--budget", "9"]) == 2
    assert len(capsys.readouterr().err) < 2_000
    assert main([*words, "--pool", "x" * LONG, "--budget", "y" * LONG]) == 2
    assert len(capsys.readouterr().err) < 2_000


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("place", ["id", "label"])
def test_a_long_answer(kind: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = begin(tmp_path)
    with Campaign.open(folder) as campaign:
        row = campaign.ask(1, by="ada")[0].id
    answer = {"application": row, "repaid": "yes"}
    answer["application" if place == "id" else "repaid"] = "x" * LONG
    told = tmp_path / f"told.{kind}"
    if kind == "csv":
        pl.DataFrame([answer]).write_csv(told)
    else:
        told.write_text(json.dumps({"id": answer["application"], "label": answer["repaid"]}) + "\n")
    assert main(["tell", str(folder), str(told), "--by", "ada"]) == 2
    assert len(capsys.readouterr().err) < 2_000
    with Campaign.open(folder) as campaign, pytest.raises(UnskewError) as refused:
        campaign.tell({answer["application"]: answer["repaid"]}, by="ada")
    assert len(str(refused.value)) < 2_000


@pytest.mark.parametrize("place", ["id", "label", "field"])
def test_a_long_answer_on_the_page(place: str, tmp_path: Path) -> None:
    with serving(begin(tmp_path)) as page:
        page.link("ada")
        answer = {"id": "A", "label": "yes"} | {place: "x" * LONG} if place != "field" else {"x" * LONG: 1}
        headers = {"Authorization": f"Bearer {page.tokens['ada']}"}
        reply = httpx.post(f"{page.address}/api/tell", json={"answers": [answer]}, headers=headers)
        assert 400 <= reply.status_code < 500
        assert len(reply.content) < 2_000


def test_a_propensity_just_above_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"got 1\.0000001 at row 0"):
        propensities([1.0000001], 1)
    _, _, log = campaign_files(tmp_path)
    file = io.StringIO()
    log.with_columns(q0=pl.lit(1.0000001)).write_csv(file)
    (tmp_path / "high.csv").write_text(file.getvalue())
    assert main(["audit", str(tmp_path / "high.csv"), "--label", "repaid", "--propensity", "q0"]) == 2
    assert "got 1.0000001 in row 1" in capsys.readouterr().err

"""The audit of a log: its numbers, its words, its page, its command."""

import json
import re
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

from unskew.campaigns.audit import log_audit
from unskew.campaigns.audit.log_audit import LogAudit, audit_log
from unskew.campaigns.report import audit_page
from unskew.cli.audit import audit
from unskew.errors import InputError
from unskew.estimation.everyone import Everyone
from unskew.rows import Floats


def loans(rows: int = 1500, seed: int = 0, *, even: bool = False) -> tuple[pl.DataFrame, Floats]:
    """Labels mostly of the rich, whose debt tells; of the others nothing does. And everyone's outcome."""
    rng = np.random.default_rng(seed)
    income, debt = rng.uniform(0, 5000, rows).round(), rng.uniform(0, 100, rows).round(1)
    rich = income > 2500
    y = np.where(rich, (debt > 50) ^ (rng.random(rows) < 0.05), rng.random(rows) < 0.5)
    q0 = np.full(rows, 0.4) if even else np.where(rich, 0.8, 0.05)
    outcome = [("repaid" if a else "lost") if b else None for a, b in zip(y, rng.random(rows) < q0, strict=True)]
    frame = pl.DataFrame({
        "id": range(rows), "income": income, "debt": debt, "region": rng.choice(["north", "south"], rows),
        "bank": ["ours"] * rows, "letter": [f"letter {k}" for k in range(rows)], "q0": q0, "outcome": outcome,
    })  # fmt: skip
    return frame, np.where(y, 1.0, -1.0)


@pytest.fixture(scope="module")
def found() -> LogAudit:
    return audit_log(loans()[0], "outcome", "q0", "id")


def test_counts_columns_and_blind_spots(found: LogAudit) -> None:
    frame, _ = loans()
    assert found.rows == 1500 and found.labels == frame["outcome"].count() == sum(found.classes.values())
    assert list(found.classes) == ["lost", "repaid"]
    assert found.columns == {"income": "number", "debt": "number", "region": "category"}
    assert found.left_out == {
        "letter": "nearly every value differs; keep it with --type letter=text",
        "bank": "the same in every row",
    }
    (spot,) = found.blind_spots
    assert re.fullmatch(r"income < 2[45]\d\d", str(spot.rule))
    assert spot.population_share == pytest.approx(0.5, abs=0.05) and spot.label_share < 0.1


def test_the_naive_model_is_seen_through(found: LogAudit) -> None:
    """It looks right on nine rows in ten, and is wrong on more than a fifth of everyone."""
    assert found.apparent.high < 0.13 < found.naive.low < 0.28 < found.naive.high
    assert any("looks better than it is" in warning for warning in found.warnings)
    assert found.diagnostics.one_inside and not found.diagnostics.q0_estimated


def test_the_interval_holds_the_error_a_fresh_population_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {}
    fit = log_audit._everyone

    def spy(data: object, v: Floats, seed: int) -> Everyone:
        everyone = fit(data, v, seed)  # type: ignore[arg-type]
        kept.setdefault("naive", everyone.margin)
        return everyone

    monkeypatch.setattr(log_audit, "_everyone", spy)
    inside = 0
    for seed in range(5):
        kept.clear()
        frame, y = loans(600, seed)
        estimate = audit_log(frame, "outcome", "q0", "id").naive
        inside += estimate.low <= float(((kept["naive"] >= 0) != (y > 0)).mean()) <= estimate.high
    assert inside >= 4


def test_without_propensities_they_are_estimated_and_that_is_said() -> None:
    frame, _ = loans(800)
    found = audit_log(frame.drop("q0"), "outcome", id="id")
    assert found.diagnostics.q0_estimated and found.naive.q0_estimated
    assert "were estimated" in found.warnings[0]
    assert found.naive.value > found.apparent.value


def test_an_even_log_is_called_even() -> None:
    found = audit_log(loans(even=True)[0], "outcome", "q0", "id")
    assert found.blind_spots == () and found.warnings == ()
    assert found.naive.low <= found.apparent.value <= found.naive.high


def test_wrong_propensities_are_noticed() -> None:
    frame, _ = loans()
    found = audit_log(frame.with_columns(q0=pl.lit(0.9)), "outcome", "q0", "id")
    assert any("should be 1" in warning for warning in found.warnings)
    assert any("points on average" in warning for warning in found.warnings)


def test_equal_propensities_for_unequal_chances_are_noticed(found: LogAudit) -> None:
    """Their mean is right, so the mean of z/q0 is 1."""
    frame, _ = loans()
    share = frame["outcome"].is_not_null().mean()
    even = audit_log(frame.with_columns(q0=pl.lit(share)), "outcome", "q0", "id")
    assert even.diagnostics is not None and even.diagnostics.one_inside
    assert even.weighted is not None and even.weighted.q0_refuted
    assert any("do not fit which of its rows are labelled" in warning for warning in even.warnings)
    assert found.weighted is not None and not found.weighted.q0_refuted


def test_large_logs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_audit, "MOST_ROWS", 700)
    found = audit_log(loans()[0], "outcome", "q0", "id")
    assert found.rows == 1500 and found.modelled_rows == 700
    assert any("700 of 1,500 rows" in warning for warning in found.warnings)


def test_json_and_reproducible(found: LogAudit) -> None:
    told = json.dumps(found.as_dict(), allow_nan=False)
    assert json.loads(told)["error"]["naive_on_everyone"]["value"] == found.naive.value
    assert json.dumps(audit_log(loans()[0], "outcome", "q0", "id").as_dict()) == told


def test_refusals() -> None:
    frame, _ = loans(200)
    few = frame.with_columns(outcome=pl.when(pl.int_range(200) < 5).then(pl.lit("lost")).otherwise(pl.lit("repaid")))
    with pytest.raises(InputError, match="10 labels of each class; got 5 of 'lost'"):
        audit_log(few, "outcome", "q0", "id")
    with pytest.raises(InputError, match="did you mean 'outcome'"):
        audit_log(frame, "outcom", "q0", "id")


def test_every_finding_says_what_to_do(found: LogAudit) -> None:
    frame, _ = loans()
    wrong = audit_log(frame.with_columns(q0=pl.lit(0.9)), "outcome", "q0", "id")
    estimated = audit_log(frame.drop("q0"), "outcome", id="id")
    for audited in (found, wrong, estimated):
        assert audited.findings and all(finding.remedy.endswith(".") for finding in audited.findings)
        assert audited.as_dict()["findings"][0]["says"] == audited.warnings[0]
        page = audit_page.html(audited, "loans.csv", "unskew start campaign")
        assert all(escape(finding.remedy).replace("&#x27;", "&#39;") in page for finding in audited.findings)
        assert "unskew start campaign" in re.sub("</?span>", "", page)
    refuted = [one for one in wrong.findings if "mean of z/q0" in one.says or "points on average" in one.says]
    assert len(refuted) == 2 and all("leave --propensity out" in one.remedy for one in refuted)
    assert any("in a blind spot" in one.says and "Get labels there" in one.remedy for one in found.findings)
    assert [step.title for step in audit_page.next_steps(found, None)] == ["Start a campaign on this log"]
    assert audit_page.next_steps(wrong, None)[0].title == "Put the propensities right"
    right, report = audit_page.next_steps(wrong, None, "my bank")
    assert right.text.endswith("That needs a new campaign.") and report.commands == ("unskew report 'my bank'",)
    assert "Start a campaign on this log" not in audit_page.html(found, "the log of bank", campaign="bank")


def test_the_page_stands_alone(found: LogAudit) -> None:
    odd = replace(found, classes={"<b>": 1, "$x$": 2})
    page = audit_page.html(odd, "loans <2024>.csv")
    assert "loans &lt;2024&gt;.csv" in page and "“&lt;b&gt;”" in page and "“<b>”" not in page
    assert "http" not in page and "<img" not in page and page.count('class="bar ') == 2
    assert str(found.blind_spots[0].rule).replace("<", "&lt;") in page
    assert "None: no region" in audit_page.html(replace(found, blind_spots=()), "x")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.chdir(tmp_path)
    loans()[0].write_csv("loans.csv")
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(audit)
    return app


OPTIONS = ["loans.csv", "--label", "outcome", "--propensity", "q0", "--id", "id"]


def test_the_command_prints_and_writes_a_page(run: typer.Typer, capsys: pytest.CaptureFixture[str]) -> None:
    run(args=[*OPTIONS, "--html", "audit.html"], standalone_mode=False)
    out = capsys.readouterr().out
    assert "1,500 rows" in out and "naive model, on everyone" in out and "income < 2" in out
    *_, page, step = out.splitlines()
    assert page == f"Page: {Path('audit.html').resolve()}"
    assert step == (
        "next: unskew start campaign --log loans.csv --pool pool.csv --label outcome --propensity q0 --id id"
    )
    assert Path("audit.html").read_text().rstrip().endswith("</html>")
    assert [path.name for path in Path().iterdir() if "part" in path.name] == []


def test_the_command_as_json(run: typer.Typer, capsys: pytest.CaptureFixture[str]) -> None:
    run(args=[*OPTIONS, "--json"], standalone_mode=False)
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 1500 and told["page"] is None and told["blind_spots"][0]["rule"]["text"].startswith("income")
    assert told["next"][:4] == ["start", "campaign", "--log", "loans.csv"]


@pytest.mark.parametrize(("page", "told"), [("audit.pdf", "must end in .html"), ("none/audit.html", "does not exist")])
def test_a_page_that_cannot_be_written_is_refused_first(run: typer.Typer, page: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        run(args=["absent.csv", "--label", "y", "--html", page], standalone_mode=False)

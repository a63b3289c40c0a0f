"""A campaign on posts: an id, a text and nothing else, from the audit to predictions."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from commands import out, told
from unskew.campaigns import Campaign
from unskew.campaigns.exchange.export import export
from unskew.campaigns.report.report import gather, render

SUBJECTS = ("the parcel", "my order", "this lamp", "your service", "the food")
SAYS = {"praise": ("is great", "was lovely"), "complaint": ("is broken", "was awful"), "question": ("when", "how much")}


def posts(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.choice(list(SAYS), rows)
    text = [f"{rng.choice(SUBJECTS)} {rng.choice(SAYS[one])}, number {rng.integers(10**6)}" for one in kind]
    return pl.DataFrame({"post": [f"{seed}-{k}" for k in range(rows)], "text": text, "kind": kind})


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("posts")
    seen = pl.Series(np.random.default_rng(2).random(300) < 0.4)
    posts(300, 0).with_columns(kind=pl.when(seen).then("kind"), q0=pl.lit(0.4)).write_csv(folder / "log.csv")
    posts(300, 1).drop("kind").write_csv(folder / "pool.csv")
    return folder


def test_from_audit_to_predictions(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["--label", "kind", "--propensity", "q0", "--id", "post"]
    assert "Learnt from: text (text)." in out(capsys, "audit", str(files / "log.csv"), *names)
    bank, pool = str(files / "campaign"), str(files / "pool.csv")
    began = told(capsys, "start", bank, "--log", str(files / "log.csv"), "--pool", pool, *names, "--budget", "40")
    assert began["columns"] == {"text": "text"} and began["classes"] == sorted(SAYS)
    truth = dict(posts(300, 1).select("post", "kind").rows())
    with Campaign.open(bank) as campaign:
        for _ in range(2):
            campaign.tell({row.id: truth[row.id] for row in campaign.ask(20, by="ann")}, by="ann")
        campaign.close_due()
        assert campaign.error().high < 0.2
        predictions = campaign.predict(pool)
        assert np.mean([truth[id] == one for id, one in predictions.select("post", "prediction").rows()]) > 0.95
        page = render(gather(campaign))
        assert "question" in page and campaign.why("1-7").effects[0].column == "text"
        done = export(campaign, files / "model")
        assert done.no_onnx is not None and "'text'" in done.no_onnx

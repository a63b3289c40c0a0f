"""An annotator reaches only rows that were handed to that annotator, and learns nothing of the others."""

from collections.abc import Callable

import httpx
import polars as pl
import pytest

from unskew.campaigns import Campaign
from unskew.web import limits
from web_page import Page, rows, tell


def everything(page: Page) -> list[str]:
    return [*pl.read_parquet(page.campaign.folder.pool)["application"], "no such row", " A3-0001 "]


def test_one_token_that_tries_every_id_gets_one_and_the_same_refusal(
    page: Page, client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MINUTE", 0.0)  # so that all of them are tried
    bob, eve = client("bob"), client("eve")
    answered, skipped, held = (row["id"] for row in rows(bob, 3)["rows"])
    tell(bob, answered, "yes").raise_for_status()
    tell(bob, skipped, None).raise_for_status()
    mine = rows(eve)["rows"][0]["id"]
    before = page.campaign.ledger.events(page.campaign.id)
    seen = set()
    others = [id for id in everything(page) if id != mine]
    assert {answered, skipped, held} < {*others} and len(others) == 201
    ways = [("yes", 0), ("no", 1), (None, 0), ("maybe", 0)]
    for k, id in enumerate(others):
        for label, ask in ways if id in (answered, skipped, held) else [ways[k % 4]]:
            told = tell(eve, id, label, ask)
            seen.add((told.status_code, told.text.replace(repr(id), "ID")))
        undone = eve.post("/api/undo", json={"id": id})
        seen.add((undone.status_code, undone.text.replace(repr(id), "ID")))
    refusal = "row ID was never given to you. Answer only rows that were."
    undo = "only your last answer can be taken back; ID is not it. Answer the next row."
    assert seen == {
        (409, f'{{"detail":"{refusal}","problems":["{refusal}"],"lasting":false}}'),
        (409, f'{{"detail":"{undo}","problems":[],"lasting":false}}'),
    }
    leases = [e for e in page.campaign.ledger.events(page.campaign.id)[len(before) :] if e.actor == "eve"]
    assert leases == []
    assert tell(eve, mine, "yes").json()["answered"] == 1


def test_a_row_that_somebody_else_answered_meanwhile_is_refused_whatever_is_sent(
    page: Page, client: Callable[..., httpx.Client]
) -> None:
    ada = client("ada")
    first, second = (row["id"] for row in rows(ada, 2)["rows"])
    page.campaign.answer(first, "yes", by="bob")  # who has the folder, and may answer any row
    refused = [tell(ada, first, label) for label in ("yes", "no", None)]
    assert {(one.status_code, one.json()["detail"]) for one in refused} == {
        (409, f"row {first!r} was answered meanwhile. Go on with the next.")
    }
    both = [{"id": second, "label": "yes"}, {"id": first, "label": "yes"}]
    assert ada.post("/api/tell", json={"answers": both, "ask": 1}).status_code == 409
    assert page.campaign.row(first).by == "bob" and page.campaign.state.spent == 1
    assert tell(ada, second, "yes").json()["answered"] == 1
    assert tell(ada, f" {second} ", "yes").json()["repeated"] == 1  # one's own answer, sent again


def test_a_row_handed_out_earlier_can_still_be_answered(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada, bob = client("ada"), client("bob")
    id = rows(ada)["rows"][0]["id"]
    page.campaign.revoke("ada")  # her rows go to others
    del page.tokens["ada"]
    ada = client("ada")
    assert id in {row["id"] for row in rows(bob, 10)["rows"]}
    assert tell(ada, id, None).json()["repeated"] == 1  # the skip of a row that another holds changes nothing
    assert tell(ada, id, "no").json()["answered"] == 1
    refused = tell(bob, id, "yes").json()["detail"]
    assert refused == f"row {id!r} was answered meanwhile. Go on with the next."


def test_a_label_overrides_anothers_skip_while_the_budget_has_room(
    page: Page, client: Callable[..., httpx.Client]
) -> None:
    ada = client("ada")
    first, second = (row["id"] for row in rows(ada, 2)["rows"])
    page.campaign.revoke("ada")  # her rows go to others
    del page.tokens["ada"]
    ada = client("ada")
    page.campaign.tell({first: None, second: None}, by="bob")
    assert tell(ada, second, None).json()["repeated"] == 1
    assert tell(ada, first, "yes").json()["answered"] == 1
    with Campaign.open(page.campaign.folder.path) as campaign:
        while campaign.plan(10):
            pass
    assert tell(ada, second, "yes").json()["detail"].endswith("was answered meanwhile. Go on with the next.")

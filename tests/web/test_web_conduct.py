"""The JSON interface around labelling: history, corrections, comments, conflicts, guidelines, pauses, sign-out."""

import contextlib
from collections.abc import Callable, Iterator

import httpx
import pytest

from unskew.campaigns.ledger.state import SKIPS
from unskew.campaigns.ledger.store import Writer
from unskew.errors import LedgerUnsure
from web_page import Page, rows, tell

Client = Callable[..., httpx.Client]


def answer(client: httpx.Client, n: int, label: str | None) -> list[str]:
    """Label the next n rows; their ids."""
    ids = []
    for _ in range(n):
        (row, *_) = rows(client)["rows"]
        tell(client, row["id"], label).raise_for_status()
        ids.append(row["id"])
    return ids


def test_people_see_and_change_their_own_answers_alone(page: Page, client: Client) -> None:
    ada, bob, grace = client("ada"), client("bob"), client(link=page.link())
    (mine,) = answer(ada, 1, "yes")
    (theirs,) = answer(bob, 1, "no")
    found = ada.get("/api/answers").json()
    assert [one["id"] for one in found["answers"]] == [mine] and found["people"] == []
    assert ada.get("/api/answers", params={"by": "bob"}).json()["answers"][0]["by"] == "ada"
    assert ada.post("/api/correct", json={"id": mine, "label": "no"}).json() == {
        "id": mine,
        "label": "no",
        "conflict": False,
    }
    refused = ada.post("/api/correct", json={"id": theirs, "label": "yes"})
    assert refused.status_code == 409 and "never given to you" in refused.json()["detail"]
    assert page.campaign.row(theirs).label == "no" and page.campaign.row(mine).label == "no"
    everything = grace.get("/api/answers").json()
    assert {one["by"] for one in everything["answers"]} == {"ada", "bob"} == set(everything["people"])
    silent = grace.post("/api/correct", json={"id": theirs, "label": "yes"})
    assert silent.status_code == 409 and "Say why you change somebody else's answer." in silent.json()["detail"]
    grace.post("/api/correct", json={"id": theirs, "label": "yes", "reason": "see the note"}).raise_for_status()
    assert page.campaign.row(theirs).settled
    assert bob.get("/api/answers").json()["answers"][0]["mine"] is False
    assert bob.post("/api/correct", json={"id": theirs, "label": "no"}).status_code == 409


def test_answers_are_filtered(page: Page, client: Client) -> None:
    ada, grace = client("ada"), client(link=page.link())
    yes = answer(ada, 2, "yes")
    (skipped,) = answer(ada, 1, None)
    for wanted, ids in (
        ({"label": "yes"}, yes[::-1]),
        ({"label": ""}, [skipped]),
        ({"search": yes[0]}, [yes[0]]),
        ({"since": "2100-01-01T00:00:00Z"}, []),
        ({"until": "2000-01-01T00:00:00Z"}, []),
    ):
        found = grace.get("/api/answers", params=wanted).json()
        assert [one["id"] for one in found["answers"]] == ids and found["found"] == len(ids), wanted
    unknown = grace.get("/api/answers", params={"by": "nobody"})
    assert unknown.status_code == 409 and "nobody" in unknown.json()["detail"]
    assert grace.get("/api/answers", params={"since": "2026-01-01"}).status_code == 422
    assert grace.get("/api/answers", params={"colour": "red"}).status_code == 422


def test_doubt_comes_with_the_model(page: Page, client: Client) -> None:
    ada, grace = client("ada"), client(link=page.link())
    answer(ada, 10, "yes")
    rows(ada)
    for _ in range(200):
        found = grace.get("/api/answers").json()["answers"]
        if all(one["doubt"] is not None for one in found):
            break
    assert {round(one["doubt"], 3) for one in found} != {0.0}
    most = max(one["doubt"] for one in found)
    some = grace.get("/api/answers", params={"doubt": most}).json()
    assert [one["doubt"] for one in some["answers"]] == [most]
    assert ada.get("/api/answers", params={"doubt": 1}).json()["found"] == 10, "annotators are not told"
    assert all(one["doubt"] is None for one in ada.get("/api/answers").json()["answers"])


def test_a_comment_that_is_sent_again_is_kept_once(page: Page, client: Client) -> None:
    ada = client("ada")
    id = rows(ada)["rows"][0]["id"]
    for key in ("k1", "k1", "k2"):
        made = ada.post("/api/comment", json={"id": id, "text": "hard to say", "key": key})
        assert made.status_code == 201 and made.json().keys() == {"by", "at", "text"}
    assert len(page.campaign.refresh().comments[id]) == 2


def test_an_outcome_that_is_not_known_is_said_to_be_so(
    page: Page, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = client("ada")
    id = rows(ada)["rows"][0]["id"]
    campaign = page.app.state.desk.campaign
    writing = campaign.ledger.writing

    @contextlib.contextmanager
    def broken(name: str) -> Iterator[Writer]:
        with writing(name) as write:
            yield write
        raise LedgerUnsure("the connection broke")

    monkeypatch.setattr(campaign.ledger, "writing", broken)
    refused = tell(ada, id, "yes")
    assert refused.status_code == 503 and int(refused.headers["retry-after"]) > 0
    detail = refused.json()["detail"]
    assert "not known whether this was written. Send it again" in detail and "Nothing was" not in detail
    monkeypatch.undo()
    assert tell(ada, id, "yes").json()["repeated"] == 1 and page.campaign.state.spent == 1


def test_comments(page: Page, client: Client) -> None:
    ada, bob, grace = client("ada"), client("bob"), client(link=page.link())
    (id,) = answer(ada, 1, "yes")
    assert ada.post("/api/comment", json={"id": id, "text": "hard to say"}).status_code == 201
    assert bob.post("/api/comment", json={"id": id, "text": "mine?"}).status_code == 409
    grace.post("/api/comment", json={"id": id, "text": "ask me"}).raise_for_status()
    (seen,) = ada.get("/api/answers").json()["answers"]
    assert [one["text"] for one in seen["comments"]] == ["hard to say"], "what others write may give answers away"
    (seen,) = grace.get("/api/answers").json()["answers"]
    assert [one["text"] for one in seen["comments"]] == ["hard to say", "ask me"]


def test_one_person_writes_only_so_much_in_a_minute(page: Page, client: Client) -> None:
    ada, bob, grace = client("ada"), client("bob"), client(link=page.link())
    now = [0.0]
    for minutes in page.app.state.minutes.values():
        minutes._clock = lambda: now[0]
    ids = answer(ada, 2, "yes")
    said = {"id": ids[0], "text": 2000 * "\U0001f600"}
    for k in range(20):
        now[0] = float(k)
        assert ada.post("/api/comment", json=said).status_code == 201
    refused = ada.post("/api/comment", json={"id": ids[1], "text": "x"})
    assert refused.status_code == 429 and refused.headers["Retry-After"] == "41"
    assert refused.json()["detail"] == "20 comments a minute are the most. Go on in 41 seconds."
    mine = {"id": answer(bob, 1, "no")[0], "text": "others go on"}
    assert bob.post("/api/comment", json=mine).status_code == 201
    for _ in range(20):
        assert grace.post("/api/comment", json={"id": ids[1], "text": "x"}).status_code == 201
    enough = grace.post("/api/comment", json={"id": ids[1], "text": "x"})
    assert enough.status_code == 409, "by the limit of the row, not that of the minute"
    now[0] = 60.0
    assert ada.post("/api/comment", json={"id": ids[1], "text": "x"}).status_code == 201
    for k in range(30):
        corrected = ada.post("/api/correct", json={"id": ids[k % 2], "label": ("no", "yes")[k // 2 % 2]})
        assert corrected.status_code == 200
    for path, body in (("correct", {"id": ids[0], "label": "no"}), ("undo", {"id": ids[1], "ask": 1})):
        refused = ada.post(f"/api/{path}", json=body)
        assert refused.status_code == 429 and "30 changes a minute are the most" in refused.json()["detail"]


def test_conflicts_are_settled(page: Page, client: Client) -> None:
    ada, bob, grace = client("ada"), client("bob"), client(link=page.link())
    grace.patch("/api/campaign", json={"overlap": 1.0}).raise_for_status()
    before = set(answer(ada, 10, "yes"))  # the first round was planned before
    doubled = answer(ada, 2, "yes")
    for _ in doubled:
        row = rows(bob)["rows"][0]
        assert row["id"] in doubled and row["id"] not in before
        tell(bob, row["id"], "no").raise_for_status()
    found = grace.get("/api/conflicts").json()
    assert [one["id"] for one in found["conflicts"]] == doubled and found["found"] == 2 and found["waiting"] == 2
    assert [(one["by"], one["label"]) for one in found["conflicts"][0]["said"]] == [("ada", "yes"), ("bob", "no")]
    assert ada.get("/api/conflicts").status_code == 403
    assert not any(one["conflict"] for one in ada.get("/api/answers").json()["answers"]), "nobody is told of others"
    grace.post("/api/correct", json={"id": doubled[0], "label": "no"}).raise_for_status()
    status = grace.get("/api/status").json()
    assert status["two_people"]["conflicts"] == 1 and status["two_people"]["all"]["raw"] == 0.0
    assert status["spent"] == 12


def test_the_campaign_is_arranged(page: Page, client: Client) -> None:
    ada, grace = client("ada"), client(link=page.link())
    changed = grace.patch(
        "/api/campaign",
        json={
            "budget": 15, "question": "Paid <b>back</b>?", "guidelines": "Be *fair* to <i>all</i>.",
            "explained": {"yes": "all of it"}, "columns": [["debt_ratio", "Debts"], ["purpose", ""]],
            "highlighted": ["car"],
        },
    ).raise_for_status().json()  # fmt: skip
    assert changed["rendered"] == "<p>Be <em>fair</em> to &lt;i&gt;all&lt;/i&gt;.</p>\n"
    assert changed["budget"] == 15 and changed == grace.get("/api/campaign").json()
    row = rows(ada)["rows"][0]
    assert [field["name"] for field in row["fields"]] == ["Debts", "Purpose"]
    assert list(row["values"]) == ["debt_ratio", "purpose"], "other columns do not leave the server"
    html = client(link=page.link("ada")).get("/label").text
    assert "Paid &lt;b&gt;back&lt;/b&gt;?" in html and "<p>Be <em>fair</em> to &lt;i&gt;all&lt;/i&gt;.</p>" in html
    refused = grace.patch("/api/campaign", json={"budget": 5, "question": "x"})
    assert refused.status_code == 409 and "budget must be at least 10" in refused.json()["detail"]
    assert grace.get("/api/campaign").json()["question"] == "Paid <b>back</b>?"
    assert ada.patch("/api/campaign", json={"budget": 20}).status_code == 403
    grace.patch("/api/campaign", json={"ended": True}).raise_for_status()
    assert ada.post("/api/ask", json={}).json()["stand"] == "ended"
    grace.patch("/api/campaign", json={"ended": False}).raise_for_status()
    assert ada.post("/api/ask", json={}).json()["stand"] == "rows"


def test_people_are_paused_and_those_who_skip_everything_noticed(page: Page, client: Client) -> None:
    ada, grace = client("ada"), client(link=page.link())
    rows(ada)
    grace.post("/api/pause", json={"name": "ada"}).raise_for_status()
    assert ada.post("/api/ask", json={}).json()["stand"] == "paused"
    grace.post("/api/resume", json={"name": "ada"}).raise_for_status()
    answer(ada, SKIPS, None)
    assert ada.post("/api/ask", json={}).json()["stand"] == "skips"
    (person,) = grace.get("/api/status").json()["people"]
    assert (person["barred"], person["skips"]) == ("skips", SKIPS)
    grace.post("/api/resume", json={"name": "ada"}).raise_for_status()
    assert rows(ada)["stand"] == "rows"
    assert ada.post("/api/pause", json={"name": "grace"}).status_code == 403
    for deed in ("pause", "resume"):
        ghost = grace.post(f"/api/{deed}", json={"name": "nobody"})
        assert ghost.status_code == 409 and "unknown person 'nobody'" in ghost.json()["detail"].lower()
    assert len(grace.get("/api/status").json()["people"]) == 1


def test_advice_and_the_next_labels(page: Page, client: Client) -> None:
    grace = client(link=page.link())
    for _ in range(400):
        advice = grace.get("/api/status").json()["advice"]
        if advice["half_width"] is not None:
            break
    assert advice["stop"] is None and advice["words"].endswith("Go on.") and 0.0 < advice["half_width"] < 0.5


def test_signing_out_and_in_as_somebody_else(page: Page, client: Client) -> None:
    grace = client(link=page.link())
    code = page.link("ada").partition("#")[2]
    asked = grace.post("/api/enter", json={"code": code}).json()
    assert (asked["name"], asked["instead_of"]) == ("ada", "grace")
    assert grace.get("/api/status").status_code == 200, "nothing was changed"
    grace.post("/api/enter", json={"code": code, "switch": True}).raise_for_status()
    html = grace.get("/label").text
    assert 'data-person="ada"' in html
    grace.headers["X-CSRF-Token"] = html.partition('name="csrf" content="')[2].partition('"')[0]
    assert grace.post("/api/leave").status_code == 204
    html = grace.get("/label").text
    assert 'data-person="grace"' in html, "the administrator is back"
    grace.headers["X-CSRF-Token"] = html.partition('name="csrf" content="')[2].partition('"')[0]
    more = grace.post("/api/admin-link").json()["link"]
    assert grace.post("/api/leave").status_code == 204
    assert grace.get("/label").status_code == 401
    assert client(link=more).get("/api/status").status_code == 200


@pytest.mark.parametrize("path", ["history", "conflicts", "campaign"])
def test_pages_are_for_those_who_may(page: Page, client: Client, path: str) -> None:
    assert client().get(f"/{path}").status_code == 401
    assert client(link=page.link()).get(f"/{path}").status_code == 200
    assert client(link=page.link("ada")).get(f"/{path}").status_code == (200 if path == "history" else 401)

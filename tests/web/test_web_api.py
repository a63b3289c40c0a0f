"""The page's JSON interface: what it does, and who may do it."""

import contextlib
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from unskew.campaigns import Campaign
from unskew.campaigns.ledger.events import Closed
from unskew.campaigns.ledger.people import LONGEST_SHOWN, NAME_RULE
from unskew.errors import StoreError
from unskew.methods.prospect import Prospect
from unskew.web import connections, show
from unskew.web.limits import Limits
from unskew.web.turns import AGAIN
from web_page import Page, connect, rows, serving, tell


def test_a_script_labels_with_its_token(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client("ada")
    work, seen = rows(ada), []
    while work["stand"] != "done":
        seen.append(work["rows"][0]["id"])
        tell(ada, seen[-1], "yes").raise_for_status()
        work = rows(ada)
    assert len(seen) == len(set(seen)) == 12 == page.campaign.state.spent
    assert work["left"] == {"budget": 0, "total": 12, "round": 0, "mine": 12}


def test_asking_again_gives_the_same_rows_and_others_get_others(client: Callable[..., httpx.Client]) -> None:
    ada, bob = client("ada"), client("bob")
    mine = [row["id"] for row in rows(ada, 3)["rows"]]
    assert [row["id"] for row in rows(ada, 3)["rows"]] == mine
    assert {row["id"] for row in rows(bob, 3)["rows"]}.isdisjoint(mine)


def test_rows_do_not_say_why_they_were_chosen(client: Callable[..., httpx.Client]) -> None:
    row = rows(client("ada"))["rows"][0]
    assert set(row) == {"id", "round", "values", "fields"}
    assert [field["name"] for field in row["fields"]] == [
        "Income",
        "Debt ratio",
        "Customer since",
        "Has job",
        "Purpose",
    ]


def test_long_texts_are_cut_wherever_they_are_sent(
    client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "MOST", 2)
    row = rows(client("ada"))["rows"][0]
    assert row["values"]["purpose"] == row["fields"][-1]["text"]
    assert len(row["values"]["purpose"].partition("…")[0]) == 2 and "more characters" in row["values"]["purpose"]


def test_an_answer_sent_twice_counts_once(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client("ada")
    id = rows(ada)["rows"][0]["id"]
    assert tell(ada, id, "yes").json()["answered"] == 1
    again = tell(ada, id, "yes", ask=2).json()
    assert (again["answered"], again["repeated"]) == (0, 1) and len(again["work"]["rows"]) == 2
    assert page.campaign.state.spent == 1


def test_answers_that_contradict_are_refused_together(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client("ada")
    first, second = (row["id"] for row in rows(ada, 2)["rows"])
    tell(ada, first, "yes").raise_for_status()
    answers = [{"id": second, "label": "no"}, {"id": first, "label": "no"}, {"id": "X", "label": "no"}]
    refused = ada.post("/api/tell", json={"answers": answers})
    assert refused.status_code == 409 and len(refused.json()["problems"]) == 2
    assert page.campaign.state.spent == 1
    own = tell(ada, first, "no").json()["detail"]
    assert own == f"row {first!r} already has your other answer, 'yes'. To change it, open History."
    tell(ada, second, None).raise_for_status()
    assert (
        tell(ada, second, "yes").json()["detail"] == f"row {second!r} was skipped by you. To change it, open History."
    )
    assert tell(ada, second, "maybe").status_code == 409


def test_undo_takes_back_the_last_answer_once(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client("ada")
    first, second = (row["id"] for row in rows(ada, 2)["rows"])
    for id in (first, second):
        work = tell(ada, id, "yes", ask=1).json()["work"]
    assert work["last"] == second
    for _ in range(2):  # the second time changes nothing
        undone = ada.post("/api/undo", json={"id": second, "ask": 2})
        assert undone.status_code == 200 and undone.json()["rows"][0]["id"] == second
        assert undone.json()["last"] == first and page.campaign.state.spent == 1
    refused = client("bob").post("/api/undo", json={"id": first})
    assert refused.status_code == 409


def test_a_skip_gives_its_place_back(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client("ada")
    done = tell(ada, rows(ada)["rows"][0]["id"], None, ask=1).json()
    assert done["skipped"] == 1 and done["work"]["left"]["budget"] == 12


def test_an_annotator_can_do_nothing_but_label(page: Page, client: Callable[..., httpx.Client]) -> None:
    for ada in (client("ada"), client(link=page.link("ada"))):
        assert ada.post("/api/ask", json={}).status_code == 200
        assert ada.get("/api/status").status_code == 403
        assert ada.post("/api/annotators", json={"name": "eve"}).status_code == 403
        assert ada.delete("/api/annotators/ada").status_code == 403
        assert ada.get("/progress").status_code == 401
    assert client(link=page.link("ada")).get("/label").status_code == 200


def test_nobody_can_do_nothing(client: Callable[..., httpx.Client]) -> None:
    nobody = client()
    assert nobody.post("/api/ask", json={}).status_code == nobody.get("/api/status").status_code == 401
    assert nobody.post("/api/tell", json={"answers": [{"id": "1", "label": "yes"}]}).status_code == 401
    assert nobody.get("/label").status_code == nobody.get("/progress").status_code == 401
    assert nobody.post("/api/enter", json={"code": "guess"}).status_code == 401
    nobody.headers["Authorization"] = "Bearer guess"
    assert nobody.post("/api/ask", json={}).status_code == 401


def test_the_administrators_link_works_once(page: Page, client: Callable[..., httpx.Client]) -> None:
    link = page.link()
    grace = client(link=link)
    assert grace.get("/api/status").json()["budget"] == 12 and grace.get("/progress").status_code == 200
    assert client().post("/api/enter", json={"code": link.partition("#")[2]}).status_code == 401


def test_a_link_that_opens_nothing_says_why_if_it_was_ever_made(
    page: Page, client: Callable[..., httpx.Client]
) -> None:
    def said(code: str) -> str:
        answer = client().post("/api/enter", json={"code": code})
        assert answer.status_code == 401
        return str(answer.json()["detail"])

    admin, first = page.link().partition("#")[2], page.campaign.invite("ada")
    client().post("/api/enter", json={"code": admin}).raise_for_status()
    assert said(admin).startswith("This link was used already, and it works only once.")
    second = page.campaign.invite("ada")
    assert said(first).startswith("Your link was replaced by a newer one.")
    page.campaign.revoke("ada")
    revoked = "Your link was revoked. Ask the person who runs the campaign for a new one."
    assert said(first) == said(second) == revoked
    script = client()
    script.headers["Authorization"] = f"Bearer {second}"
    assert script.post("/api/ask", json={}).json()["detail"] == revoked
    for code in ("x", "0" * 43, second[:-1]):
        assert said(code).startswith("This link is not known here. Check that you copied all of it.")


def test_leaving_ends_an_administrators_session(page: Page, client: Callable[..., httpx.Client]) -> None:
    grace, thief = client(link=page.link()), client()
    thief.cookies.update(grace.cookies)
    assert thief.get("/api/status").status_code == 200
    assert grace.post("/api/leave", headers={"X-CSRF-Token": "0" * 64}).status_code == 401
    assert grace.post("/api/leave", headers={"Origin": "https://evil.example"}).status_code == 403
    assert grace.post("/api/leave").status_code == 204
    assert thief.get("/api/status").status_code == 401
    assert client().post("/api/leave").status_code == 401


def test_inviting_and_revoking(page: Page, client: Callable[..., httpx.Client]) -> None:
    grace, eve = client(link=page.link()), client()
    invited = grace.post("/api/annotators", json={"name": "eve"})
    assert invited.status_code == 201 and invited.json()["link"].startswith(f"{page.address}/enter#")
    eve.headers["Authorization"] = f"Bearer {invited.json()['token']}"
    id = rows(eve)["rows"][0]["id"]
    tell(eve, id, "yes").raise_for_status()
    person = next(p for p in grace.get("/api/status").json()["people"] if p["name"] == "eve")
    assert (person["labels"], person["by_class"], person["invited"]) == (1, {"yes": 1}, True)
    assert person["median_seconds"] > 0
    assert grace.delete("/api/annotators/eve").status_code == 204
    assert eve.post("/api/ask", json={}).status_code == 401
    assert grace.delete("/api/annotators/eve").status_code == 404
    assert page.campaign.state.spent == 1
    assert grace.post("/api/annotators", json={"name": "grace"}).status_code == 409
    for name in ("<b>", "+x", " x", "a\n", "\u202ex", "\u3000", "x" * 101):
        refused = grace.post("/api/annotators", json={"name": name})
        assert refused.status_code == 422
        shown = name if len(name) < 60 else f"{name[:LONGEST_SHOWN]}..."
        assert refused.json()["detail"] == f"{NAME_RULE}; got {shown!r}. Choose another."
    for name in ("Zoë", "Ольга", "李雷", "ada+bob", "x" * 100):
        assert grace.post("/api/annotators", json={"name": name}).status_code == 201


def test_a_name_with_a_slash_can_be_revoked(page: Page, client: Callable[..., httpx.Client]) -> None:
    page.campaign.invite("ada/bob")
    assert client(link=page.link()).delete("/api/annotators/ada%2Fbob").status_code == 204
    assert "ada/bob" not in page.campaign.state.people


def test_an_error_counted_from_labels_since_taken_back_is_not_the_latest(
    page: Page, client: Callable[..., httpx.Client]
) -> None:
    grace = client(link=page.link())
    rows(grace)
    first = page.campaign.history()[0][1]
    with page.campaign.ledger.writing(page.campaign.id) as write:
        write.append(Closed(1, 10, replace(first, value=0.5)), Closed(1, 6, replace(first, value=0.25)))
    assert [(e["labels"], e["value"]) for e in grace.get("/api/status").json()["error"]][1:] == [(6, 0.25)]


def test_what_the_next_labels_are_expected_to_gain(page: Page, client: Callable[..., httpx.Client]) -> None:
    grace = client(link=page.link())
    rows(grace)
    assert grace.get("/api/status").json()["prospect"] is None
    with page.campaign.ledger.writing(page.campaign.id) as write:
        write.append(Closed(1, 10, None, Prospect(50, 0.012, 0.004)))
    words = "The next 50 labels are expected to lower the error by about 1.2 points."
    assert grace.get("/api/status").json()["prospect"] == {
        "labels": 50,
        "gain": 0.012,
        "least": 0.004,
        "measure": "error",
        "words": words,
    }


def test_beside_the_error_stands_the_commoner_class(page: Page, client: Callable[..., httpx.Client]) -> None:
    first = page.campaign.history()[0][1]
    found = client(link=page.link()).get("/api/status").json()
    assert (found["error"][0]["commoner"], found["error"][0]["flagged"]) == (first.commoner, first.flagged)
    assert [sentence[:14] for sentence in found["words"]] == ["Always saying ", "The number res"]


def test_a_lost_store_is_not_described_to_strangers(
    client: Callable[..., httpx.Client], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> None:
        raise StoreError("postgresql://unskew@db.example/loans cannot be reached")

    monkeypatch.setattr(Campaign, "who", away)
    answer = client().post("/api/enter", json={"code": "guess"})
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) in AGAIN
    assert answer.json()["detail"] == "the ledger cannot be reached. Nothing was changed; try again."
    assert "db.example" in caplog.text


def test_the_schema_does_not_name_the_campaign(page: Page, client: Callable[..., httpx.Client]) -> None:
    schema = client().get("/openapi.json")
    assert schema.json()["info"]["title"] == "unskew" and "Loans" not in schema.text
    assert "<title>Label · Loans</title>" in client(link=page.link("ada")).get("/label").text


def test_a_cookie_needs_the_pages_own_token_and_origin(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client(link=page.link("ada"))
    assert ada.post("/api/ask", json={}).status_code == 200
    assert ada.post("/api/ask", json={}, headers={"X-CSRF-Token": "0" * 64}).status_code == 403
    others = [{"Origin": origin} for origin in ("https://evil.example", "null", "http://[")]
    for headers in (*others, {"Sec-Fetch-Site": "cross-site"}):
        assert ada.post("/api/ask", json={}, headers=headers).status_code == 403
    assert ada.post("/api/ask", json={}, headers={"Origin": page.address}).status_code == 200
    enter = {"code": page.link("ada").partition("#")[2]}
    assert client().post("/api/enter", json=enter, headers={"Origin": "https://evil.example"}).status_code == 403


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(page: Page, client: Callable[..., httpx.Client]) -> None:
    for name in ("ada", None):
        for scheme in ("http", "https"):
            code = {"code": page.link(name).partition("#")[2]}
            entered = client().post("/api/enter", json=code, headers={"X-Forwarded-Proto": scheme})
            flags = {flag.strip() for flag in entered.headers["set-cookie"].split(";")}
            assert {"HttpOnly", "SameSite=strict", "Path=/"} <= flags
            assert ("Secure" in flags) == (scheme == "https")


def test_every_answer_carries_the_security_headers(page: Page, client: Callable[..., httpx.Client]) -> None:
    grace = client(link=page.link())
    static = grace.get("/label").text.partition('rel="stylesheet" href="')[2].partition('"')[0]
    for path in ("/", "/enter", "/label", "/progress", "/nothing", "/api/status", "/openapi.json", static):
        headers = grace.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert "no-store" in grace.get("/label").headers["cache-control"]
    assert "immutable" in grace.get(static).headers["cache-control"]


def test_nothing_comes_from_elsewhere(page: Page, client: Callable[..., httpx.Client]) -> None:
    grace = client(link=page.link())
    for path in ("/enter", "/label", "/progress"):
        html = grace.get(path).text
        assert "http://" not in html and "https://" not in html
        assert "<style" not in html and " style=" not in html and "onclick" not in html


def test_large_requests_are_refused(page: Page, client: Callable[..., httpx.Client]) -> None:
    ada = client("ada")
    assert ada.post("/api/tell", content=b"x" * (1 << 21)).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * (1 << 16)

    with contextlib.suppress(httpx.WriteError):  # the server may hang up before all of it is sent
        assert ada.post("/api/tell", content=endless()).status_code == 413
    many = [{"id": str(k), "label": "yes"} for k in range(1001)]
    assert ada.post("/api/tell", json={"answers": many}).status_code == 422


def test_too_many_requests_are_refused_for_a_while(folder: Path) -> None:
    few = Limits(person_rate=0.5, person_burst=3, address_rate=0.5, address_burst=3)
    with serving(folder, few) as page, httpx.Client(base_url=page.address) as client:
        guesses = [client.post("/api/enter", json={"code": str(k)}) for k in range(4)]
        assert [answer.status_code for answer in guesses] == [401, 401, 401, 429]
        assert 1 <= int(guesses[-1].headers["retry-after"]) <= 2
        assert guesses[-1].json()["detail"].startswith("too many requests")


def test_strangers_behind_a_proxy_are_counted_apart(folder: Path) -> None:
    few = Limits(address_rate=0.01, address_burst=2)
    with serving(folder, few) as page, httpx.Client(base_url=page.address) as client:
        for address in ("203.0.113.1", "203.0.113.2"):
            sent = {"X-Forwarded-For": address}
            guesses = [client.post("/api/enter", json={"code": "x"}, headers=sent).status_code for _ in range(3)]
            assert guesses == [401, 401, 429]


def test_a_body_that_does_not_come_is_not_waited_for(folder: Path) -> None:
    with serving(folder, Limits(seconds=0.2)) as page, connect(page) as slow:
        slow.sendall(b"POST /api/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        answer = b"".join(iter(lambda: slow.recv(4096), b""))  # until the server hangs up
        assert answer.startswith(b"HTTP/1.1 408 ") and b"in 0.2 seconds. Send it again." in answer


@pytest.mark.parametrize("before", [b"", b"GET /enter HTTP/1.1\r\nHost: x\r\n\r\n"], ids=["at once", "later"])
def test_headers_that_only_drip_are_not_waited_for(page: Page, monkeypatch: pytest.MonkeyPatch, before: bytes) -> None:
    monkeypatch.setattr(connections, "HEADERS", 0.3)
    with connect(page) as slow:
        slow.sendall(before)
        if before:
            assert slow.recv(65536).startswith(b"HTTP/1.1 200 ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):  # noqa: PT012
            for _ in range(200):
                slow.sendall(b"G")
                time.sleep(0.05)


def test_a_request_whose_headers_came_is_not_hurried(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADERS", 0.2)
    with connect(page) as slow:
        slow.sendall(b"POST /api/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
        time.sleep(0.5)
        slow.sendall(b"{}")
        assert slow.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_one_address_cannot_take_all_connections(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "OF_ONE_ADDRESS", 3)
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(connect(page)) for _ in range(4)]
        with contextlib.suppress(ConnectionResetError):
            assert opened[3].recv(1) == b""
        opened[0].sendall(b"GET /enter HTTP/1.1\r\nHost: x\r\n\r\n")
        assert opened[0].recv(65536).startswith(b"HTTP/1.1 200 ")


def steadily(call: Callable[[], Any]) -> Any:
    """Call it again if parsing Python failed because other threads run beside it: python/cpython#106905.

    Schemathesis loads its modules only when they are needed, and Hypothesis names lambdas by ast.parse.
    """
    for _ in range(2):
        try:
            return call()
        except Exception as error:
            if "AST constructor recursion depth" not in "".join(traceback.format_exception(error)):
                raise
    return call()


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_the_interface_keeps_to_its_schema(page: Page, mode: GenerationMode) -> None:
    """What the schema allows, and what it does not: no crash, and only answers that are declared."""
    token = page.campaign.invite("script", "admin")
    tried = 0
    schema = steadily(lambda: schemathesis.openapi.from_url(f"{page.address}/openapi.json"))
    for found in steadily(lambda: list(schema.get_all_operations())):
        operation = found.ok()
        if mode.is_negative and not operation.body and not operation.path_parameters:
            continue  # nothing that could be wrong

        @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=steadily(partial(operation.as_strategy, generation_mode=mode)))
        def holds(case: schemathesis.Case) -> None:
            case.call_and_validate(headers={"Authorization": f"Bearer {token}"})

        steadily(holds)
        tried += 1
    assert tried >= 5

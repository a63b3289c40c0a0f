"""Odd requests to every route of the page: each is refused in words, and none makes the server stumble."""

import json
from collections.abc import Callable

import httpx
import pytest

from web_page import Page, rows

HALF = "\ud800"
"""Half of a character: JSON can say it, and no text can hold it."""
NESTED = [b"[" * deep + b"]" * deep for deep in (900, 100_000, 500_000)] + [b'{"a":' * 50_000 + b"1" + b"}" * 50_000]
ODD = [
    "", HALF, "\udfff\ud800", "\x00", "\u202e", "x" * 100_000, "é" * 999, " ", "../..", "%00", "\\", "'\"<b>",
    10**400, -1, 2**63, 1e308, True, None, [], {}, [[]], {"id": HALF}, {HALF: HALF}, [None], ["x"] * 2000,
]  # fmt: skip
RAW = [
    *NESTED, b"", b"null", b"NaN", b"[NaN]", b"1e999", b"-Infinity", b"9" * 5000, b"\xff\xfe", b"\xed\xa0\x80",
    b'"\\ud800"', b'{"\\ud800": 1}', b'{"n": NaN}', b'{"n": 1e999}', b'{"n": -Infinity}',
    b'{"n": ' + b"9" * 5000 + b"}", b'{"n": 1.5}', b'{"n": 1, "n": 2}', b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"{",
]  # fmt: skip


def bodies(id: str) -> list[tuple[str, dict[str, object]]]:
    """Every route that takes a body, with an odd value in each of its places, and with an odd key."""
    places: list[tuple[str, Callable[[object], dict[str, object]]]] = [
        ("enter", lambda odd: {"code": odd}),
        ("ask", lambda odd: {"n": odd}),
        ("tell", lambda odd: {"answers": odd}),
        ("tell", lambda odd: {"answers": [odd]}),
        ("tell", lambda odd: {"answers": [{"id": odd, "label": "yes"}]}),
        ("tell", lambda odd: {"answers": [{"id": "x", "label": odd}], "ask": 1}),
        ("tell", lambda odd: {"answers": [{"id": id, "label": odd}]}),
        ("tell", lambda odd: {"answers": [{"id": id, "label": "yes"}], "ask": odd}),
        ("undo", lambda odd: {"id": odd}),
        ("undo", lambda odd: {"id": id, "ask": odd}),
        ("annotators", lambda odd: {"name": odd}),
    ]
    found = [(to, body(odd)) for to, body in places for odd in ODD]
    return found + [(to, {**body(1), HALF: HALF}) for to, body in places]


def check(answer: httpx.Response) -> None:
    assert answer.status_code < 500, (answer.request.url, answer.request.content[:200], answer.text)
    if answer.status_code >= 400:
        said = answer.json()
        assert "\n" not in said["detail"] and "Traceback" not in answer.text


def test_no_body_makes_the_server_stumble(
    page: Page, client: Callable[..., httpx.Client], caplog: pytest.LogCaptureFixture
) -> None:
    grace = client(link=page.link())
    grace.headers["Content-Type"] = "application/json"
    id = rows(grace)["rows"][0]["id"]
    tried = 0
    for to, body in bodies(id):
        check(grace.post(f"/api/{to}", content=json.dumps(body)))
        tried += 1
    for to in ("enter", "ask", "tell", "undo", "annotators"):
        for raw in RAW:
            check(grace.post(f"/api/{to}", content=raw))
            tried += 1
    assert tried > 350
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("odd", ["%00", "%ED%A0%80", "%FF", "..%2F..", "a" * 5000, "%0A", "%F0%9F%98%80", ".", "%25s"])
def test_no_path_or_secret_makes_the_server_stumble(
    page: Page, client: Callable[..., httpx.Client], caplog: pytest.LogCaptureFixture, odd: str
) -> None:
    grace = client(link=page.link())
    check(grace.delete(f"/api/annotators/{odd}"))
    nobody = client()
    for path in (f"/{odd}", f"/static/{odd}/label.js", f"/static/x/{odd}", f"/label?{odd}={odd}", f"/api/{odd}"):
        assert nobody.get(path).status_code < 500
    raw = odd.encode() + b"\xff\xe9"
    cookies = b"; ".join(name.encode() + b"=" + raw for name in page.app.state.access.cookies.values())
    for headers in ({b"Authorization": b"Bearer " + raw}, {b"Cookie": cookies}, {b"Cookie": raw}):
        for path in ("/", "/label", "/progress", "/api/status"):
            assert nobody.get(path, headers=headers).status_code < 500
        assert nobody.post("/api/ask", headers=headers, json={}).status_code == 401
    assert grace.post("/api/ask", json={}, headers={b"X-CSRF-Token": raw}).status_code == 403
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []

"""Results on demand: who may have them, what is refused, files to predict, and new rows for the pool."""

import re
from collections.abc import Callable
from typing import Any

import httpx

from web_page import Page, applicants, wait_for

Client = Callable[..., httpx.Client]


def made(client: httpx.Client, what: str) -> dict[str, Any]:
    """The result, once nobody works on it any more."""

    def ended() -> dict[str, Any] | None:
        (found,) = [one for one in client.get("/api/results").raise_for_status().json() if one["what"] == what]
        return None if found["state"] == "running" else found

    return wait_for(ended, f"the {what} is made")


def csv(rows: int, seed: int) -> bytes:
    return applicants(rows, seed).drop("repaid").write_csv().encode()


def test_results_are_the_administrators(page: Page, client: Client) -> None:
    ada, grace, nobody = client("ada"), client(link=page.link()), client()
    for method, path in (
        ("GET", "/api/results"),
        ("POST", "/api/results/report"),
        ("PUT", "/api/predictions?name=a.csv"),
    ):
        assert ada.request(method, path, content=b"x").status_code == 403
        assert nobody.request(method, path, content=b"x").status_code == 401
    assert grace.post("/api/results/report").json()["state"] == "running"
    again = grace.post("/api/results/report")
    assert again.status_code == 409 and again.json()["detail"] == "this is being made already. Wait for it."
    assert made(grace, "report") == {
        "what": "report", "state": "done", "done": 0, "total": 0, "problem": "", "files": ["report.html"],
    }  # fmt: skip
    answer = grace.get("/results/report.html")
    assert "<h1>" in answer.text and "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert grace.post("/api/results/audit").status_code == 202
    assert made(grace, "audit")["state"] == "done"
    audit = re.sub("<.*?>", "", grace.get("/results/audit.html").text)
    assert "unskew report loans" in audit and "Start a campaign on this log" not in audit
    assert nobody.get("/results/report.html").status_code == 404
    assert client(link=page.link("ada")).get("/results/report.html").status_code == 404
    assert grace.get("/results/model.zip").status_code == 404 and grace.get("/results/..%2Fledger").status_code == 404
    assert grace.post("/api/results/colour").status_code == 422


def test_files_to_predict(page: Page, client: Client) -> None:
    grace = client(link=page.link())
    refused = grace.put("/api/predictions?name=rows.exe", content=b"x")
    assert refused.status_code == 409 and "must end in .csv" in refused.json()["detail"]
    assert grace.put("/api/predictions?name=rows.csv", content=b"colour\nred\n").status_code == 202
    failed = made(grace, "predictions")
    assert failed["state"] == "failed" and failed["files"] == []
    assert "income_eur" in failed["problem"] and "/tmp" not in failed["problem"] and "\n" not in failed["problem"]
    body = b"x\n" * (1 << 20)  # more than any other request may have
    assert grace.put("/api/predictions?name=rows.csv", content=csv(40, 7)).status_code == 202
    assert made(grace, "predictions")["files"] == ["predictions.csv"]
    lines = grace.get("/results/predictions.csv").text.splitlines()
    assert lines[0] == "application,prediction,probability" and len(lines) == 41
    assert grace.post("/api/comment", content=body).status_code == 413
    assert grace.put("/api/predictions?name=rows.csv", content=body).status_code == 202
    assert made(grace, "predictions")["state"] == "failed"


def test_new_rows_for_the_pool(page: Page, client: Client) -> None:
    grace = client(link=page.link())
    assert grace.put("/api/extension?name=more.csv", content=csv(30, 8)).status_code == 202
    assert made(grace, "extension")["state"] == "done"
    assert page.campaign.status().pool_rows == 230
    assert grace.put("/api/extension?name=more.csv", content=csv(30, 8)).status_code == 202
    refused = made(grace, "extension")
    assert refused["state"] == "failed" and "in the pool already" in refused["problem"]
    assert page.campaign.status().pool_rows == 230

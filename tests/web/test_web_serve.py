"""`unskew serve` as a person runs it, and rows as the page words them."""

import getpass
import signal
import socket
from pathlib import Path

import httpx
import pytest

from unskew.campaigns import Campaign
from unskew.cli import main
from unskew.errors import InputError
from unskew.web.server import serve
from unskew.web.show import fields
from web_page import PATIENCE, begin, links_of, serve_process, wait_for


def test_serve_prints_links_that_work_and_stops_cleanly(tmp_path: Path) -> None:
    folder = begin(tmp_path, budget=3)
    with serve_process(str(folder), "--annotator", "ada", "--port", "0", "--json") as process:
        links = links_of(process)
        with httpx.Client(base_url=links["address"], timeout=30) as client:
            code = links["admin"].partition("#")[2]
            assert client.post("/api/enter", json={"code": code}).json()["page"] == "/progress"
            client.headers["Authorization"] = f"Bearer {links['annotators']['ada'].partition('#')[2]}"

            def labelled() -> bool:
                """Rows are chosen and rounds closed by the planner's own process."""
                work = client.post("/api/ask", json={"n": 2}).raise_for_status().json()
                if work["rows"]:
                    answers = [{"id": row["id"], "label": "yes"} for row in work["rows"]]
                    client.post("/api/tell", json={"answers": answers}).raise_for_status()
                return bool(work["stand"] == "done")

            wait_for(labelled, "every row is labelled")
            del client.headers["Authorization"]
            wait_for(lambda: client.get("/api/status").json()["error"][-1]["labels"] == 3, "the last round closes")
            status = client.get("/api/status").json()
            assert status["spent"] == 3 and status["trouble"] is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == "Stopped. Every answer is in the ledger.\n"


def test_links_survive_a_restart_by_the_same_command(tmp_path: Path) -> None:
    command = (str(begin(tmp_path)), "--annotator", "ada", "--port", "0")
    with serve_process(*command, "--json") as process:
        links = links_of(process)
        assert links["known"] == []
        token = links["annotators"]["ada"].partition("#")[2]
    with serve_process(*command, "--annotator", "bob") as process:
        assert process.stdout is not None
        address, _, _you, bob, ada = (process.stdout.readline().split() for _ in range(5))
        assert bob[0] == "bob" and "/enter#" in bob[1]
        assert " ".join(ada) == "ada has a link, which still works; invite ada on your page to make another"
        ask = httpx.post(f"{address[2]}/api/ask", json={}, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        assert ask.status_code == 200


def test_serve_refuses_names_that_the_page_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: pytest.fail("served all the same"))
    folder = begin(tmp_path)
    rule = "a name begins with a letter, digit or underscore and has 1 to 100 characters on one line; got"
    you = f"--annotator {getpass.getuser()!r} is you"
    for name, why in (("+ada", rule), ("x" * 101, rule), ("a\tb", rule), (getpass.getuser(), you)):
        assert main(["serve", str(folder), "--port", "0", "--annotator", "eve", "--annotator", name]) == 2
        said = capsys.readouterr().err
        assert said.startswith(why) and said.count("\n") == 1
    with Campaign.open(folder) as campaign:
        assert not campaign.state.people


def test_serve_warns_when_others_can_reach_it(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    with serve_process(str(folder), "--host", "0.0.0.0", "--port", "0") as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(f"Serving at http://{socket.gethostname()}:")
        assert "http is not encrypted" in process.stderr.readline()


def test_serve_refuses_what_it_cannot_listen_on(tmp_path: Path) -> None:
    folder = begin(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for host, port in (("127.0.0.1", taken.getsockname()[1]), ("no.such.host.invalid", 0), ("127.0.0.1", 70_000)):
            with pytest.raises(InputError, match=r"port"):
                serve(folder, host=host, port=port, annotators=[], ready=print)
    with pytest.raises(InputError, match="no campaign"):
        serve(tmp_path / "no" / "such", host="127.0.0.1", port=0, annotators=[], ready=print)


@pytest.mark.parametrize(
    ("column", "value", "kind", "text"),
    [
        ("photo", "https://example.org/a.jpg?size=2", "image", "https://example.org/a.jpg?size=2"),
        ("photo", "data:image/png;base64,iVBORw0KGgo=", "image", "a picture in the data"),
        ("photo", "http://example.org/a.jpg", "link", "http://example.org/a.jpg"),
        ("page", "https://example.org/", "link", "https://example.org/"),
        ("page", "https://example.org/?of=a.png", "link", "https://example.org/?of=a.png"),
        ("page", "https://[", "text", "https://["),
        ("page", "https://example.org/a b.png", "text", "https://example.org/a b.png"),
        ("page", "https://a/" + "b" * 2034 + ".png", "image", "https://a/" + "b" * 2034 + ".png"),
        ("page", "https://a/" + "b" * 2035 + ".png", "text", "https://a/" + "b" * 2035 + ".png"),
        ("page", "javascript:alert(1)", "text", "javascript:alert(1)"),
        ("page", "data:text/html,<script>", "text", "data:text/html,<script>"),
        ("seen", "2026-02-30", "text", "2026-02-30"),
        ("seen", "2026-02-03T04:05:06", "date", "3 February 2026, 04:05"),
        ("share_pct", 12.5, "number", "12.5 %"),
        ("year_built", 1987, "number", "1987"),
        ("ratio", float("nan"), "missing", "missing"),
        ("alive", False, "boolean", "No"),
    ],
)
def test_values_as_a_person_reads_them(column: str, value: object, kind: str, text: str) -> None:
    (field,) = fields({column: value})
    assert (field.kind, field.text) == (kind, text)


def test_no_text_takes_long_to_look_at() -> None:
    (field,) = fields({"post": "https://a" + ".png?" * 200_000 + " x"})  # in quadratic time, hours
    assert field.kind == "text"


def test_ten_megabytes_in_a_cell_do_not_reach_the_page() -> None:
    (field,) = fields({"note": "x" * 10_000_000})
    assert len(field.text) < 21_000 and field.text.endswith("9,980,000 more characters")

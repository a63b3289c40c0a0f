"""Several campaigns on one server, and new ones that are begun there: its JSON interface, as a script uses it."""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from campaign_folder import write_tables
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL
from unskew.errors import InputError
from unskew.web import drafts, uploads
from unskew.web.limits import Limits
from unskew.web.server import serve
from web_house import House, begun, csrf, drafted, finished, invited, serving_house, understood
from web_page import links_of, serve_process, tell, wait_for


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    (tmp_path / "house").mkdir()
    with serving_house(tmp_path / "house") as house:
        yield house


@pytest.fixture
def admin(house: House) -> Iterator[httpx.Client]:
    with house.signed_in() as client:
        yield client


def names(client: httpx.Client) -> list[str]:
    return [one["name"] for one in client.get("/api/campaigns").raise_for_status().json()]


def given(client: httpx.Client) -> dict[str, Any]:
    """A row to label, once the planner, in a process of its own, has chosen some."""

    def row() -> dict[str, Any] | None:
        found = client.post("/api/ask", json={}).raise_for_status().json()["rows"]
        return found[0] if found else None

    return wait_for(row, "rows are chosen")


def left(house: House) -> list[str]:
    return sorted(str(path.relative_to(house.folder)) for path in house.folder.rglob("*"))


def test_two_campaigns_at_once_each_with_its_own_people(house: House, admin: httpx.Client) -> None:
    first, second = begun(admin, "loans 2026"), begun(admin, "50% more & co", drawn=1.0)
    assert (first, second) == ("/c/loans%202026", "/c/50%25%20more%20%26%20co")
    links = [invited(admin, path, "ada") for path in (first, second)]
    assert links[0].startswith(f"{house.address}{first}/enter#")
    tokens = [link.partition("#")[2] for link in links]
    for path, own, other in ((first, tokens[0], tokens[1]), (second, tokens[1], tokens[0])):
        with httpx.Client(base_url=f"{house.address}{path}", timeout=30) as ada:
            ada.headers["Authorization"] = f"Bearer {other}"
            assert ada.post("/api/ask", json={}).status_code == 401
            ada.headers["Authorization"] = f"Bearer {own}"
            row = given(ada)
            assert tell(ada, row["id"], "yes").status_code == 200
            assert ada.get("/api/status").status_code == 403
            assert httpx.get(f"{house.address}/api/campaigns", headers=ada.headers).status_code == 401
    stands = admin.get("/api/campaigns").json()
    assert [(one["name"], one["spent"], one["budget"]) for one in stands] == [
        ("50% more & co", 1, 12),
        ("loans 2026", 1, 12),
    ]
    assert all(one["people"] == ["ada"] and one["estimate"]["low"] < one["estimate"]["high"] for one in stands)
    page = admin.get("/").text
    assert "50% more &amp; co" in page and f'href="{second}/progress"' in page and "1 <small>of 12" in page
    assert left(house) and not (house.folder / ".uploads").exists()


def test_the_administrator_signs_in_once_for_all(house: House, admin: httpx.Client) -> None:
    path = begun(admin, "loans")
    assert admin.get(f"{path}/").headers["location"] == f"{path}/progress"
    page = admin.get(f"{path}/progress").text
    assert 'href="/">All campaigns' in page and f'src="{path}/static/' in page
    assert admin.get(f"{path}/api/status").status_code == 200
    admin.post("/api/leave").raise_for_status()
    assert admin.get(f"{path}/api/status").status_code == 401
    assert admin.get("/").status_code == 401 and "loans" not in admin.get("/").text


def test_campaigns_appear_and_go_with_their_folders(house: House, admin: httpx.Client, made: Path) -> None:
    assert names(admin) == []
    for name in ("one", "two"):
        shutil.copytree(made, house.folder / name)
    (house.folder / "notes").mkdir()
    assert names(admin) == ["one", "two"]
    (house.folder / "two" / "ledger.sqlite").write_bytes(b"not a database")
    (house.folder / "three").mkdir()
    (house.folder / "three" / "campaign.json").write_text("{")
    found = {one["name"]: one["problem"] for one in admin.get("/api/campaigns").json()}
    assert found["one"] is None and "damaged" in found["three"]
    page = admin.get("/c/three/label")
    assert page.status_code == 503 and "cannot be opened at the moment" in page.text
    shutil.rmtree(house.folder / "one")
    assert names(admin) == ["three", "two"]
    gone = admin.get("/c/one/label")
    assert gone.status_code == 404 and gone.headers["content-type"].startswith("text/html")
    assert admin.post("/c/one/api/ask", json={}).json()["detail"].startswith("there is no campaign 'one'")
    assert admin.get("/c/..%2f..%2fetc/label").status_code == 404


def test_nobody_else_reaches_anything(house: House, admin: httpx.Client) -> None:
    draft = drafted(admin, "loans")
    files = f"{draft}/files/log"
    ways = [
        ("GET", "/api/campaigns"), ("POST", "/api/drafts"), ("GET", draft), ("DELETE", draft),
        ("DELETE", f"{draft}/job"), ("PUT", f"{draft}/paths"), ("PUT", f"{files}?name=a.csv"),
        ("DELETE", f"{files}?name=log.csv"), ("POST", f"{draft}/understand"),
        ("POST", f"{draft}/audit"), ("POST", f"{draft}/begin"),
    ]  # fmt: skip
    before = left(house)
    for method, path in ways:
        assert httpx.request(method, house.address + path, json={}).status_code == 401, (method, path)
        if method != "GET":  # signed in, but the request does not come from the page
            with httpx.Client(base_url=house.address, cookies=admin.cookies) as other:
                assert other.request(method, path, json={}).status_code == 403, (method, path)
    for page in ("/", draft.replace("/api/drafts", "/start"), f"{draft.replace('/api/drafts', '/start')}/audit"):
        assert httpx.get(house.address + page).status_code == 401
    assert left(house) == before


def test_a_stranger_is_refused_before_the_body_is_read(house: House, admin: httpx.Client) -> None:
    draft = drafted(admin, "loans")
    host, _, port = house.address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as opened:
        head = f"PUT {draft}/files/log?name=a.csv HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 1000000000\r\n\r\n"
        opened.sendall(head.encode())
        assert opened.recv(12) == b"HTTP/1.1 401"  # and not a byte of the body was sent


def test_uploads_come_in_pieces_and_half_of_one_is_nothing(
    house: House, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = admin.post("/api/drafts", json={"name": "loans"}).json()
    path, folder = f"/api/drafts/{draft['id']}", house.folder / ".uploads" / draft["id"]
    content = LOG.read_bytes()
    pieces = (content[k : k + 10_000] for k in range(0, len(content), 10_000))
    sent = admin.put(f"{path}/files/log?name=..%2F..%2Fmy%20log.CSV", content=pieces)
    assert sent.json()["log"] == [{"name": "my log.CSV", "bytes": len(content)}]
    assert (folder / "log" / "my-log.csv").read_bytes() == content
    again = admin.put(f"{path}/files/log?name=my-log.csv", content=b"other")
    assert (folder / "log" / "my-log-2.csv").read_bytes() == b"other" and len(again.json()["log"]) == 2
    assert len(admin.delete(f"{path}/files/log?name=my-log.csv").json()["log"]) == 1
    assert not (folder / "log" / "my-log-2.csv").exists()
    refused = admin.put(f"{path}/files/pool?name=pool.xlsx", content=b"x")
    assert refused.status_code == 409 and "must end in .csv" in refused.json()["detail"]

    host, _, port = house.address.removeprefix("http://").partition(":")
    cookie = "; ".join(f"{name}={value}" for name, value in admin.cookies.items())
    head = (
        f"PUT {path}/files/pool?name=half.csv HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookie}\r\n"
        f"X-CSRF-Token: {admin.headers['X-CSRF-Token']}\r\nContent-Length: 1000\r\n\r\na,b\n1,2\n"
    )
    with socket.create_connection((host, int(port)), timeout=30) as opened:
        opened.sendall(head.encode())
        wait_for(lambda: list((folder / "pool").iterdir()), "the upload begins")
    wait_for(lambda: not list((folder / "pool").iterdir()), "what came of it is removed")
    assert admin.get(path).json()["pool"] == []

    monkeypatch.setattr(uploads, "LARGEST", 100)
    for body in (b"x" * 101, (b"x" * 50 for _ in range(3))):
        large = admin.put(f"{path}/files/pool?name=large.csv", content=body)
        assert large.status_code == 413 and "name its path" in large.json()["detail"]
    assert list((folder / "pool").iterdir()) == []
    admin.delete(path).raise_for_status()
    assert left(house) == [] and admin.get(path).status_code == 404


def test_other_requests_are_as_small_as_ever(tmp_path: Path) -> None:
    with serving_house(tmp_path, Limits(body=1000)) as house, house.signed_in() as admin:
        path = f"/api/drafts/{admin.post('/api/drafts', json={'name': 'a'}).json()['id']}"
        assert admin.put(f"{path}/files/log?name=log.csv", content=b"x" * 5000).status_code == 201
        assert admin.post(f"{path}/files/log?name=log.csv", content=b"x" * 5000).status_code == 413
        assert admin.put(f"{path}/paths", json={"name": "b", "pool": "x" * 2000}).status_code == 413


def test_columns_are_understood_and_changed(admin: httpx.Client) -> None:
    draft = drafted(admin, "loans")
    found = understood(admin, draft)
    columns = {column["name"]: column for column in found["columns"]["columns"]}
    assert (found["choices"]["label"], found["choices"]["id"], found["choices"]["propensity"]) == (
        "repaid", "application", "granted_with",
    )  # fmt: skip
    assert found["columns"]["classes"] == {"no": 43, "yes": 629}
    assert columns["region"]["kind"] == "category" and columns["region"]["missing"] == 83
    assert columns["repaid"]["pool_missing"] is None and columns["age"]["examples"] == ["31", "53", "50"]
    choices = {**found["choices"], "types": {"region": "number", "repaid": "text"}, "classes": ["yes", "no"]}
    changed = understood(admin, draft, **choices)
    problem = changed["columns"]["problem"]
    assert problem.startswith("log.csv line 2: column 'region' must hold numbers") and "--" not in problem
    refused = admin.post(f"{draft}/begin", json={})
    assert refused.status_code == 409 and refused.json()["detail"] == problem
    choices["types"] = {"age": "category"}
    changed = understood(admin, draft, **choices)
    assert list(changed["columns"]["classes"]) == ["yes", "no"]
    assert changed["columns"]["columns"][1] | {"examples": []} == {
        **columns["age"], "kind": "category", "given": True, "examples": []
    }  # fmt: skip


def test_bad_tables_are_one_line_without_paths_or_options(house: House, admin: httpx.Client) -> None:
    for log, told in (
        (b"a,b\n1,2,3\n", "log.csv line 2 has 3 cells"),
        (b"", "log.csv is empty. "),
        (b"\xff\xfe\x00", "log.csv "),
    ):
        draft = drafted(admin, "loans", log)
        found = understood(admin, draft)
        assert found["job"]["state"] == "failed" and found["columns"] is None
        said = found["job"]["problem"]
        assert said.startswith(told) and "\n" not in said and str(house.folder) not in said and "--" not in said
        admin.delete(draft).raise_for_status()
    draft = f"/api/drafts/{admin.post('/api/drafts', json={'name': 'loans'}).json()['id']}"
    assert "no log yet" in admin.post(f"{draft}/understand", json={}).json()["detail"]
    admin.put(f"{draft}/paths", json={"name": "loans", "log": ["/no/such.csv"], "pool": str(POOL)}).raise_for_status()
    assert "/no/such.csv" in understood(admin, draft)["job"]["problem"]


def test_tables_may_be_paths_on_the_server(admin: httpx.Client, tmp_path: Path) -> None:
    tables = write_tables(tmp_path)
    files = sorted(path.name for path in tables.iterdir())
    assert files
    draft = f"/api/drafts/{admin.post('/api/drafts', json={'name': 'loans'}).json()['id']}"
    admin.put(f"{draft}/paths", json={"name": "loans", "log": [str(LOG)], "pool": str(POOL.parent / "poo*.csv")})
    found = understood(admin, draft)
    assert found["columns"]["pool_rows"] == 2500 and found["columns"]["problem"] == ""


def test_the_audit_is_a_page_in_which_no_script_runs(admin: httpx.Client) -> None:
    draft = drafted(admin, "loans")
    page = f"{draft.replace('/api/drafts', '/start')}/audit"
    assert admin.post(f"{draft}/audit").status_code == 409
    understood(admin, draft)
    assert admin.get(page).status_code == 404
    admin.post(f"{draft}/audit").raise_for_status()
    assert finished(admin, draft)["audited"]
    found = admin.get(page)
    policy = found.headers["content-security-policy"]
    assert "log.csv" in found.text and policy.startswith("sandbox") and "script-src" not in policy
    assert "allow-scripts" not in policy and "default-src 'none'" in policy


def test_work_can_be_cancelled_and_leaves_nothing(house: House, admin: httpx.Client) -> None:
    draft = drafted(admin, "loans")
    understood(admin, draft)
    admin.post(f"{draft}/begin", json={}).raise_for_status()
    assert admin.post(f"{draft}/audit").status_code == 409  # one thing at a time
    found = admin.delete(f"{draft}/job").json()
    assert found["job"]["state"] == "cancelled" and found["begun"] is None
    assert not (house.folder / "loans").exists()
    admin.post(f"{draft}/begin", json={"budget": 7}).raise_for_status()
    assert finished(admin, draft)["begun"] == "/c/loans"
    with Campaign.open(house.folder / "loans") as campaign:
        assert campaign.settings.budget == 7


def test_a_server_that_stops_ends_the_work_and_removes_uploads(tmp_path: Path) -> None:
    with serving_house(tmp_path) as house, house.signed_in() as admin:
        draft = drafted(admin, "loans")
        understood(admin, draft)
        admin.post(f"{draft}/begin", json={}).raise_for_status()
        job = next(iter(house.app.state.drafts._drafts.values())).job
    assert not job.running and left(house) == []


def test_nothing_that_is_there_is_replaced(house: House, admin: httpx.Client, made: Path) -> None:
    shutil.copytree(made, house.folder / "loans")
    before = (house.folder / "loans" / "campaign.json").read_bytes()
    for name, why in (
        ("loans", "a folder 'loans' already"),
        ("../x", "begins with a letter"),
        ("a/b", "slash"),
        ("", "begins"),
    ):
        refused = admin.post("/api/drafts", json={"name": name})
        assert refused.status_code == 409 and why in refused.json()["detail"]
    draft = drafted(admin, "others")
    understood(admin, draft)
    shutil.copytree(made, house.folder / "others")  # meanwhile
    refused = admin.post(f"{draft}/begin", json={})
    assert refused.status_code == 409 and "a folder 'others' already" in refused.json()["detail"]
    admin.delete(draft).raise_for_status()
    assert (house.folder / "loans" / "campaign.json").read_bytes() == before and (house.folder / "others").exists()


def test_an_uploaded_pool_that_stays_in_its_files_is_kept_with_the_campaign(house: House, admin: httpx.Client) -> None:
    heading, *lines = POOL.read_text().splitlines()
    draft = f"/api/drafts/{admin.post('/api/drafts', json={'name': 'loans'}).json()['id']}"
    admin.put(f"{draft}/files/log?name=log.csv", content=LOG.read_bytes()).raise_for_status()
    for k, some in enumerate((lines[:1200], lines[1200:])):
        admin.put(
            f"{draft}/files/pool?name=part%20{k}.csv", content="\n".join([heading, *some]).encode()
        ).raise_for_status()
    assert understood(admin, draft)["columns"]["pool_rows"] == 2500
    admin.post(f"{draft}/begin", json={"budget": 12}).raise_for_status()
    assert finished(admin, draft)["begun"] == "/c/loans"
    assert sorted(path.name for path in (house.folder / "loans" / "pool").iterdir()) == ["part-0.csv", "part-1.csv"]
    assert not (house.folder / ".uploads").exists()
    with Campaign.open(house.folder / "loans") as campaign:
        assert len(campaign.ask(5, by="ada")) == 5


def test_old_uploads_of_a_killed_server_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".uploads" / "abc").mkdir(parents=True)
    with serving_house(tmp_path):
        assert (tmp_path / ".uploads" / "abc").exists()  # another server may be at work on it
    monkeypatch.setattr(drafts, "OLD", -1)
    with serving_house(tmp_path):
        assert not (tmp_path / ".uploads" / "abc").exists()


def test_nothing_is_removed_or_uploaded_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    (tmp_path / "mine" / "old").mkdir(parents=True)
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / ".uploads").symlink_to(tmp_path / "mine")
    monkeypatch.setattr(drafts, "OLD", -1)
    with serving_house(tmp_path / "house") as house, house.signed_in() as admin:
        answer = admin.post("/api/drafts", json={"name": "loans"})
        assert answer.status_code == 409 and ".uploads is a link" in answer.json()["detail"]
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["old"]


def test_a_ledger_elsewhere_that_nobody_agreed_to(
    house: House, admin: httpx.Client, made: Path
) -> None:  # fmt: skip
    """An anonymous visitor learns nothing of it, the administrator what to do; nobody connects."""
    folder = shutil.copytree(made, house.folder / "theirs")
    marker = json.loads((folder / "campaign.json").read_text())
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        theirs.settimeout(0.2)
        store = f"postgresql://127.0.0.1:{theirs.getsockname()[1]}/bank"
        (folder / "campaign.json").write_text(json.dumps({**marker, "store": store}))
        for page in ("enter", "label", "api/status"):
            answer = httpx.get(f"{house.address}/c/theirs/{page}")
            assert answer.status_code == 403 and "cannot be opened at the moment" in answer.text
            assert "postgresql" not in answer.text
        (stand,) = admin.get("/api/campaigns").json()
        assert f"set UNSKEW_ADDRESSES to {store} and try again" in stand["problem"]
        with pytest.raises(TimeoutError):
            theirs.accept()


def test_serve_makes_a_house_and_finds_its_campaigns_again(tmp_path: Path, made: Path) -> None:
    command = (str(tmp_path / "house"), "--port", "0", "--json")
    with serve_process(*command) as process:
        links = links_of(process)
        assert links["annotators"] == {} and (tmp_path / "house").is_dir()
        shutil.copytree(made, tmp_path / "house" / "loans")
        with httpx.Client(base_url=links["address"], timeout=60) as client:
            client.post("/api/enter", json={"code": links["admin"].partition("#")[2]}).raise_for_status()
            client.headers["X-CSRF-Token"] = csrf(client.get("/").text)
            token = invited(client, "/c/loans", "ada").partition("#")[2]
    with serve_process(*command) as process:
        links = links_of(process)
        with httpx.Client(base_url=f"{links['address']}/c/loans", timeout=60) as ada:
            ada.headers["Authorization"] = f"Bearer {token}"
            assert given(ada)
    with pytest.raises(InputError, match="is a folder for several. Invite people on a campaign's page"):
        serve(tmp_path / "house", host="127.0.0.1", port=0, annotators=["ada"], ready=print)


def test_an_older_copy_that_is_put_over_a_campaign_at_work_takes_no_answer(
    house: House, admin: httpx.Client, made: Path, tmp_path: Path
) -> None:
    """It is a whole ledger. Only the page that is open knows that there was more."""
    folder, copy = house.folder / "loans", tmp_path / "copy"
    shutil.copytree(made, folder)
    with Campaign.open(folder) as campaign:
        campaign.ask(30, by="grace")
    rows = admin.post("/c/loans/api/ask", json={"n": 6}).raise_for_status().json()["rows"]
    first, second, third = ({"answers": [{"id": row["id"], "label": "1"}]} for row in rows[:3])
    assert admin.post("/c/loans/api/tell", json=first).status_code == 200
    shutil.copytree(folder, copy)
    assert admin.post("/c/loans/api/tell", json=second).status_code == 200
    for path in copy.iterdir():  # written over in place, as `cp -r copy/. loans` does
        subprocess.run(["cp", path, folder], check=True)
    for _ in range(3):
        assert names(admin) == ["loans"]
        refused = admin.post("/c/loans/api/tell", json=third)
        assert refused.status_code == 503 and "Nothing more is taken" in refused.json()["detail"]

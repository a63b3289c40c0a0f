"""A round trip through the real Label Studio. `make test-label-studio` installs it in an environment of its own."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from unskew.campaigns import Campaign, Rejected, Told
from unskew.campaigns.exchange.label_studio import answers, labeling_config, tasks
from web_page import begin_sorting

pytestmark = pytest.mark.label_studio

PROGRAM = Path(os.environ.get("LABEL_STUDIO", Path(__file__).parents[3] / ".venv-label-studio/bin/label-studio"))
PATIENCE = 300
"""Seconds for the server to make its database and answer."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server of its own with an empty SQLite database, which speaks to nobody else, and a client for it."""
    if not PROGRAM.exists():
        pytest.fail(f"{PROGRAM} is not there. Run `make test-label-studio`, or name another in LABEL_STUDIO.")
    home = tmp_path_factory.mktemp("label-studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(20)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LABEL_STUDIO_BASE_DATA_DIR": str(home / "data"),
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",  # off by default: only these can be given at the start
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    command = [PROGRAM, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    user = ["--username", "ann@example.com", "--password", secrets.token_hex(8), "--user-token", token]
    with open(home / "log", "wb") as log:
        process = subprocess.Popen([*command, *user], env=environment, cwd=home, stdout=log, stderr=log)
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Token {token}"},
            timeout=60,
            trust_env=False,
        ) as client:
            _wait(client, process, home / "log")
            yield client
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            if client.get("/api/projects").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(f"Label Studio did not come up:\n{log.read_text()[-3000:]}")


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    seen = rng.random(200) < 0.5
    frame = pl.DataFrame(
        {
            "x": x,
            "note, for $people": [f"<b>row</b> {k} & more" for k in range(200)],
            "open": rng.random(200) < 0.5,
            "id": [None if k % 7 == 0 else "a" for k in range(200)],
            "outcome": [
                None if not z else 'repaid "in full"' if v > 0 else "<late>" for v, z in zip(x, seen, strict=True)
            ],
            "q0": 0.5,
        }
    )
    frame.write_parquet(tmp_path / "log.parquet")
    frame.drop("outcome", "q0").write_parquet(tmp_path / "pool.parquet")
    with Campaign.create(
        tmp_path / "loans", log=tmp_path / "log.parquet", pool=tmp_path / "pool.parquet", label="outcome",
        propensity="q0", classes=("<late>", 'repaid "in full"'), budget=20, drawn=0.3, same_ids="separate",
    ) as made:  # fmt: skip
        yield made


def call(server: httpx.Client, method: str, path: str, **options: Any) -> Any:
    answer = server.request(method, path, **options)
    assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:1000]}"
    return answer.json()


def annotate(server: httpx.Client, task: int, label: str | None, *, cancelled: bool = False) -> None:
    chosen = {"from_name": "label", "to_name": "row", "type": "choices", "value": {"choices": [label]}}
    said = {"result": [] if label is None else [chosen], "was_cancelled": cancelled, "lead_time": 1.5}
    call(server, "POST", f"/api/tasks/{task}/annotations/", json=said)


def test_round_trip(server: httpx.Client, campaign: Campaign) -> None:
    late, repaid = campaign.settings.classes
    asked = campaign.ask(8, by="label-studio")
    config = labeling_config(campaign.settings)
    project = call(
        server,
        "POST",
        "/api/projects",
        json={"title": "Loans", "label_config": config, "sampling": "Sequential sampling"},
    )
    assert project["sampling"] == "Sequential sampling" and project["show_skip_button"]
    number = project["id"]
    sent = tasks(asked)
    imported = call(server, "POST", f"/api/projects/{number}/import?return_task_ids=true", json=sent)["task_ids"]
    first = call(server, "GET", f"/api/projects/{number}/next")
    assert (first["id"], first["data"]) == (imported[0], sent[0]["data"])  # in our order

    annotate(server, imported[0], late)
    annotate(server, imported[1], repaid)
    annotate(server, imported[2], repaid, cancelled=True)  # ticked, then skipped
    annotate(server, imported[3], None, cancelled=True)
    annotate(server, imported[4], late)
    annotate(server, imported[4], repaid)  # by the same person, who changed her mind
    annotate(server, imported[5], late, cancelled=True)
    annotate(server, imported[5], late)
    ids = [row.id for row in asked]
    said = [(ids[0], late), (ids[1], repaid), (ids[4], repaid), (ids[5], late)]
    skips = [(ids[2], None), (ids[3], None)]

    exports = {
        (kind, every): call(
            server, "GET", f"/api/projects/{number}/export?exportType={kind}&download_all_tasks={every}"
        )
        for kind in ("JSON", "JSON_MIN")
        for every in ("false", "true")
    }
    for (kind, every), export in exports.items():
        expected = [*said, *skips] if kind == "JSON" else said  # the short export drops cancelled annotations
        assert sorted((id, label or "") for _, id, label in answers(export)) == sorted(
            (i, v or "") for i, v in expected
        )
        for task in export:
            data = task["data"] if kind == "JSON" else task
            row = asked[ids.index(data["unskew_id"])]
            assert (data["unskew_round"], data["unskew_probability"]) == (row.round, row.probability)
            assert data["row"] == sent[ids.index(row.id)]["data"]["row"]
        assert len({task["id"] for task in export}) == (6 if kind == "JSON" else 4) + 2 * (every == "true")
    assert any(row.probability < 1.0 for row in asked)

    assert campaign.tell_lines(answers(exports["JSON_MIN", "false"]), by="label-studio") == Told(answered=4)
    assert campaign.tell_lines(answers(exports["JSON", "true"]), by="label-studio") == Told(skipped=2, repeated=4)
    assert {row.id: row.label for row in campaign.state.answered()} == dict(said)

    annotate(server, imported[6], None)  # submitted without a class, which only the API allows
    blank = call(server, "GET", f"/api/projects/{number}/export?exportType=JSON")
    with pytest.raises(Rejected, match=f"row '{ids[6]}' was submitted without a class"):
        campaign.tell_lines(answers(blank), by="label-studio")


@pytest.mark.parametrize("names", [("<none>", 'a "few"', "many"), tuple(f"kind {k}" for k in range(12))])
def test_many_classes(server: httpx.Client, tmp_path: Path, names: tuple[str, ...]) -> None:
    with Campaign.open(begin_sorting(tmp_path, names)) as campaign:
        asked = campaign.ask(len(names), by="label-studio")
        config = {"title": "Items", "label_config": labeling_config(campaign.settings)}
        number = call(server, "POST", "/api/projects", json=config)["id"]
        sent = tasks(asked)
        imported = call(server, "POST", f"/api/projects/{number}/import?return_task_ids=true", json=sent)["task_ids"]
        for task, name in zip(imported, names, strict=True):
            annotate(server, task, name)
        for kind in ("JSON", "JSON_MIN"):
            export = call(server, "GET", f"/api/projects/{number}/export?exportType={kind}")
            campaign.tell_lines(answers(export), by="label-studio")
        assert [campaign.row(row.id).label for row in asked] == list(names)

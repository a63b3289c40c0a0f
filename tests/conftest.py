"""What several tests share."""

import os

# Fits here are small: threads that wait for each other would take most of the time. Set before NumPy is loaded, and
# for the processes that tests start.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from playwright.sync_api import Browser, sync_playwright

from campaign_folder import STORES, Clock, make, move_to, write_tables
from commands import START
from paths import ROOT
from unskew.campaigns import Campaign
from unskew.campaigns.example import LOG, POOL
from unskew.campaigns.learning import prepared
from unskew.campaigns.tables import parquet
from unskew.cli import main

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory) -> Iterator[Path]:
    """A cache and a configuration of the tests' own, for this process and those it starts."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(folder / name.lower()))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def each_table_tried_once() -> Iterator[None]:
    """A Parquet file is first tried in a process of its own, which takes long. Here one is tried only once."""
    tried, check = set(), parquet.check_parquet

    def once(path: Path, rows: int = 0) -> None:
        content = sha256(path.read_bytes()).digest()
        if content not in tried:
            check(path, rows)
            tried.add(content)

    with pytest.MonkeyPatch.context() as patch:
        for module in (parquet, prepared):
            patch.setattr(module, "check_parquet", once)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the paper's data files; tests that need it skip where there is none."""
    named = os.environ.get("UNSKEW_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(
            f"the paper's data files (magic.data.xz and others) are not in {folder}: "
            "set UNSKEW_DATA to the folder that holds them"
        )
    return folder


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """A real PostgreSQL: the one named in UNSKEW_TEST_POSTGRESQL, or a private one of Debian's packages."""
    named = os.environ.get("UNSKEW_TEST_POSTGRESQL")
    if named:
        yield named
        return
    servers = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not servers:
        why = "no PostgreSQL in /usr/lib/postgresql: install Debian's postgresql or set UNSKEW_TEST_POSTGRESQL to a URL"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    # Not in pytest's own folder: nobody but its owner may enter that, and the server refuses to run as root.
    folder = Path(tempfile.mkdtemp(prefix="unskew-postgresql-", dir="/tmp"))
    as_owner: list[str] = []
    if os.geteuid() == 0:
        as_owner = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")

    def run(*command: str | Path) -> None:
        done = subprocess.run([*as_owner, *map(str, command)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    bin = servers[-1].parent
    data = folder / "data"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c max_connections=200"
    run(bin / "initdb", "-D", data, "-U", "unskew", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
    run(bin / "pg_ctl", "-D", data, "-o", options, "-l", folder / "log", "-w", "start")
    try:
        yield f"postgresql://unskew@/postgres?host={folder}"
    finally:
        run(bin / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder)


@pytest.fixture
def postgresql_database(postgresql_url: str) -> Iterator[str]:
    """An empty database, for one test."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgresql_url.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgresql_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty store of each kind, for one test."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/ledger.sqlite"
    found: str = request.getfixturevalue("postgresql_database")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser. It goes with its file of tests: Playwright allows one at a time in a process."""
    if not CHROMIUM.exists():
        missing = f"{CHROMIUM} is not installed (Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log and a pool."""
    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="session")
def made(tables: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small campaign in which nobody was asked yet, to be copied: fitting its first model once is enough."""
    folder = tmp_path_factory.mktemp("made") / "campaign"
    make(tables, folder).close()
    return folder


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=STORES)
def folder(request: pytest.FixtureRequest, made: Path, tmp_path: Path) -> Path:
    """The folder of a small campaign in which nobody was asked yet, with each kind of store."""
    copied = tmp_path / "campaign"
    shutil.copytree(made, copied)
    if request.param == "postgresql":
        move_to(request.getfixturevalue("postgresql_url"), copied)
    return copied


@pytest.fixture
def campaign(folder: Path, clock: Clock) -> Iterator[Campaign]:
    """That campaign, open."""
    with Campaign.open(folder, now=clock) as opened:
        yield opened


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of 40 labels on the simulated bank, in which nobody was asked yet, to be copied."""
    folder = tmp_path_factory.mktemp("begun") / "bank"
    assert main(["start", str(folder), "--log", str(LOG), "--pool", str(POOL), *START, "--budget", "40"]) == 0
    return folder


@pytest.fixture
def bank(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(begun, tmp_path / "bank")
    return Path("bank")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings are errors, but not beside a server's threads: `catch_warnings` in one thread resets filters in another.

    Libraries that silence a warning of their own (as FastAPI does with one of pydantic's, about an alias) would then
    raise it by chance. Python 3.14 has filters for each thread; until then, the tests of the page only show warnings,
    and that one not even so.
    """
    for item in items:
        if item.path.name.startswith("test_web_"):
            item.add_marker(pytest.mark.filterwarnings("default", "ignore:The 'alias' attribute"))

"""Addresses that a campaign's folder names are connected to only if this user agreed to them, for this campaign."""

import json
import os
import shutil
import socket
import threading

import polars as pl
import pytest

from campaign_folder import forge, make, told
from commands import refused
from many_files import told as answers
from many_files import whole_pool, write_log, write_pool
from object_store import object_store
from unskew.campaigns import Campaign, consent
from unskew.campaigns.consent import ADDRESSES, agree_to_reach, check_agreed, check_reach
from unskew.campaigns.folder import digest
from unskew.campaigns.ledger.engines import place
from unskew.campaigns.ledger.events import Extended
from unskew.campaigns.tables.pool_files import read_list, write_list
from unskew.errors import InputError, NotAgreed, StoreError
from unskew.pools.files import PoolFile, find_files

OTHERS = "and you did not agree to connect to it. If you trust it, set UNSKEW_ADDRESSES to"


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """From now on, this is another user: without consents, and without a cache."""

    def become():
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            monkeypatch.setenv(name, str(tmp_path / f"stranger-{name}"))
        for agreed in (consent.METHODS, ADDRESSES):
            monkeypatch.setattr(agreed, "_here", set())

    return become


@pytest.fixture
def store(tmp_path):
    """An object store with the pool's files, and a log beside it."""
    write_log(tmp_path / "log.parquet")
    with object_store() as found:
        for path in write_pool(tmp_path / "pool", whole_pool(3000), files=2).iterdir():
            found.files.pipe(f"/shop/{path.name}", path.read_bytes())
        yield found


def create(tmp_path, pool="s3://shop"):
    columns = {"label": "paid", "propensity": "q0", "id": "loan", "budget": 40}
    return Campaign.create(tmp_path / "bank", log=tmp_path / "log.parquet", pool=pool, **columns)


def use(folder, by="bob"):
    """The number of rows that somebody gets, for whom a round must be planned."""
    with Campaign.open(folder) as campaign:
        return len(campaign.ask(5, by=by))


# Consent


def test_consent_holds_for_one_purpose(stranger):
    stranger()
    agree_to_reach(["s3://shop/", "gs://box/"], "this")
    check_reach(["s3://shop/", "gs://box/"], "this", "it")
    for addresses, purpose in ((["s3://shop/"], "that"), (["s3://other/"], "this"), (["s3://shop/x"], "this")):
        with pytest.raises(NotAgreed, match=OTHERS):
            check_reach(addresses, purpose, "it")
    kept = ADDRESSES.path.read_text()
    agree_to_reach(["s3://shop/"], "this")
    assert ADDRESSES.path.read_text() == kept == "this gs://box/\nthis s3://shop/\n"
    assert os.stat(ADDRESSES.path.parent).st_mode & 0o77 == 0


def test_another_process_of_the_same_user_knows_it(stranger, monkeypatch):
    stranger()
    agree_to_reach(["s3://shop/"], "this")
    monkeypatch.setattr(ADDRESSES, "_here", set())
    check_reach(["s3://shop/"], "this", "it")


def test_without_a_home_consent_holds_in_this_process(stranger, monkeypatch):
    stranger()
    monkeypatch.setenv("XDG_CONFIG_HOME", "/proc/none")
    agree_to_reach(["s3://shop/"], "this")
    check_reach(["s3://shop/"], "this", "it")


def test_the_variable_agrees_to_an_address_alone(stranger, monkeypatch):
    stranger()
    monkeypatch.setenv("UNSKEW_ADDRESSES", "s3://shop, gs://box/")
    check_reach(["s3://shop/", "gs://box/"], "this", "it")
    for other in ("s3://shopping/", "s3://sho/", "gs://shop/", "http://shop/"):
        with pytest.raises(NotAgreed, match=f"it is at {other}, {OTHERS} s3://shop, gs://box/, {other} and"):
            check_reach([other], "this", "it")


def test_many_addresses_are_one_line(stranger, monkeypatch):
    stranger()
    with pytest.raises(NotAgreed) as caught:
        check_reach([f"s3://b{k}/" for k in range(2000)], "this", "it")
    assert "it is at s3://b0/ and 1,999 more" in str(caught.value)
    assert "\n" not in str(caught.value) and "…" not in str(caught.value)
    monkeypatch.setenv("UNSKEW_ADDRESSES", to_set(caught.value))
    check_reach([f"s3://b{k}/" for k in range(2000)], "this", "it")


def to_set(error):
    """What a message says that the variable is to be set to."""
    return str(error).partition("UNSKEW_ADDRESSES to ")[2].removesuffix(" and try again.")


def test_what_was_agreed_to_before_is_in_what_to_set(stranger, monkeypatch):
    """Otherwise whoever follows the messages of a pool and of a ledger goes round in a circle."""
    stranger()
    pool, ledger = ["s3://b/", "s3://c/"], ["postgresql://ann@db/bank"]
    monkeypatch.setenv("UNSKEW_ADDRESSES", "gs://mine/,")
    for addresses in (ledger, pool):
        with pytest.raises(NotAgreed) as caught:
            check_reach(addresses, "this", "it")
        monkeypatch.setenv("UNSKEW_ADDRESSES", to_set(caught.value))
    assert to_set(caught.value) == "gs://mine/, postgresql://ann@db/bank, s3://b/, s3://c/"
    check_reach([*pool, *ledger, "gs://mine/"], "this", "it")


def test_a_method_is_agreed_to_beside_others(stranger, monkeypatch):
    stranger()
    monkeypatch.setenv("UNSKEW_METHODS", "mine:Method")
    with pytest.raises(InputError, match="set UNSKEW_METHODS to mine:Method, theirs:Model#1\\.$"):
        check_agreed("theirs:Model#1", "theirs:Model with {}")


# Lists of files


@pytest.mark.parametrize("rows", [3000, 60_000], ids=["few", "many"])
def test_a_pool_in_a_store_is_for_those_who_named_it(store, tmp_path, stranger, monkeypatch, rows):
    if rows > 3000:
        whole_pool(rows).write_parquet(tmp_path / "more.parquet", row_group_size=3000)
        store.files.pipe("/shop/part-9.parquet", (tmp_path / "more.parquet").read_bytes())
    with create(tmp_path, "s3://shop" if rows == 3000 else "s3://shop/part-9.parquet") as campaign:
        campaign.tell(answers(campaign.ask(20, by="ann")), by="ann")
    assert use(tmp_path / "bank") == 5
    stranger()
    store.asked.clear()
    with pytest.raises(NotAgreed, match=f"the pool of this campaign is at s3://shop/, {OTHERS}"):
        use(tmp_path / "bank", "eve")
    assert store.asked == []
    monkeypatch.setenv("UNSKEW_ADDRESSES", "s3://shop/")
    assert use(tmp_path / "bank", "eve") == 5 and store.asked


def test_rows_that_come_later_from_elsewhere(store, tmp_path, stranger, monkeypatch):
    monkeypatch.setattr("unskew.campaigns.learning.prepared.JUDGE", 2000)
    monkeypatch.setattr("unskew.methods.pool.JUDGE", 2000)
    new = whole_pool(3500)[3000:]
    new.write_parquet(tmp_path / "new.parquet")
    store.files.pipe("/new/part.parquet", (tmp_path / "new.parquet").read_bytes())
    with create(tmp_path, tmp_path / "pool") as campaign:
        assert campaign.extend("s3://new") == 500
    assert use(tmp_path / "bank") == 5
    stranger()
    with pytest.raises(NotAgreed, match=f"the pool of this campaign is at s3://new/, {OTHERS}"):
        use(tmp_path / "bank", "eve")


def test_another_list_needs_another_consent(store, tmp_path, stranger):
    """What was agreed to is this very list: nobody can put other files of the same store into it."""
    files = find_files("s3://shop")
    write_list(tmp_path / "list", files)
    assert read_list(tmp_path / "list") == files
    shutil.copy(tmp_path / "list", tmp_path / "copy")
    assert read_list(tmp_path / "copy") == files
    (tmp_path / "copy").write_text(json.dumps([files[0]._asdict()]))
    with pytest.raises(NotAgreed, match=OTHERS):
        read_list(tmp_path / "copy")


GOOD = PoolFile("/data/x.parquet", 10, 5, 3, (1, 2), "f")
TEXT = GOOD._replace(path="/data/x.csv", groups=(3,), edges=(5, 10))


def test_a_list_is_read_as_it_was_written(tmp_path):
    for file in (GOOD, TEXT, TEXT._replace(rows=0, groups=(), edges=(5,)), GOOD._replace(path="/a::b/*?.parquet")):
        write_list(tmp_path / "list", [file])
        assert read_list(tmp_path / "list") == [file]


@pytest.mark.parametrize(
    "changed",
    [
        {"path": 5}, {"path": "/data/x.txt"}, {"path": "/data/x"}, {"path": ["/data/x.parquet"]}, {"size": "10"},
        {"size": -1}, {"rows": 4}, {"rows": True}, {"modified": None}, {"groups": [1, -1, 3]}, {"groups": "12"},
        {"groups": None}, {"groups": [[1], 2]}, {"footer": 7}, {"sha256": None}, {"edges": [1, 2, 3]}, {"other": 1},
        {"path": "/data/x.csv"}, {"path": "/data/x.csv", "edges": [9, 5, 3]}, {"path": "/data/x.csv", "edges": [1, 2]},
        {"rows": 10**10 + 1, "groups": [10**10 + 1]}, {"rows": 10**18, "groups": [10**18]},
        {"path": "/data/x.csv", "groups": [3], "edges": [5, 12]},
        {"path": "/data/x.csv", "groups": [3], "edges": [5, 7]},
        {"path": "/data/x.csv", "rows": 10**9, "groups": [10**9], "edges": [5, 10]},
    ],
)  # fmt: skip
def test_a_list_of_anything_else_is_damaged(tmp_path, changed):
    (tmp_path / "list").write_text(json.dumps([{**GOOD._asdict(), **changed}]))
    with pytest.raises(StoreError, match="list is damaged. Restore it from a copy"):
        read_list(tmp_path / "list")


@pytest.mark.parametrize("text", ["", "[]", "{}", "7", "null", "[7]", "[[]]", "[null]", '["x"]', "[" * 9000])
def test_a_list_that_is_none_is_damaged(tmp_path, text):
    (tmp_path / "list").write_text(text)
    with pytest.raises(StoreError, match="list is damaged"):
        read_list(tmp_path / "list")


def test_files_of_two_kinds_are_damaged(tmp_path):
    (tmp_path / "list").write_text(json.dumps([GOOD._asdict(), TEXT._asdict()]))
    with pytest.raises(StoreError, match="list is damaged"):
        read_list(tmp_path / "list")


@pytest.mark.parametrize(
    "path",
    [
        "x.parquet", "./x.parquet", "../x.parquet", "~/x.parquet", "/data/../x.parquet", "/data//x.parquet",
        "/data/./x.parquet", "/http://host/x.parquet", "http:/host/x.parquet", "file:/etc/x.parquet",
        "file:///etc/x.parquet", "file://host/x.parquet", "\\\\host\\x.parquet", "", "s3:x.parquet", "/a\nb.parquet",
        "/a\x1b[2Jb.parquet", "s3://bucket/../x.parquet", "dask://host:1/x::file:///x.parquet",
        "/a\ud800.parquet", "/a\u202eb.parquet", "/a\u200bb.parquet", "/a\x9bb.parquet",
        "/a\u2028b.parquet", "s3://bucket/\ud800.parquet", "s3://bucket/\u202e.parquet",
    ],
)  # fmt: skip
def test_a_path_that_somebody_could_take_for_an_address(tmp_path, path):
    (tmp_path / "list").write_text(json.dumps([{**GOOD._asdict(), "path": path}]))
    with pytest.raises(StoreError) as caught:
        read_list(tmp_path / "list")
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
    assert "damaged" in str(caught.value) if not path else "is neither a whole path" in str(caught.value)
    assert str(caught.value).isprintable() and (not path or f"names {path!r}," in str(caught.value))


@pytest.mark.parametrize("command", ["status", "report", "ask", "why"])
def test_a_local_file_that_the_list_does_not_describe_is_not_read(tables, tmp_path, stranger, capsys, command):
    """The list of a foreign folder may name any file here. Its rows are not read unless it is the one described."""
    mine = tmp_path / "mine.csv"
    mine.write_text("x0,x1\nsecret,1\n")
    folder = forged(tables, tmp_path, [TEXT._replace(path=str(mine), size=15, edges=(6, 15)), TEXT])
    stranger()
    more = ["1000"] if command == "why" else []
    said = refused(capsys, command, str(folder), *more)
    assert said.endswith(f"{mine} is not the file the campaign began with. Restore it from a copy.\n")
    assert "secret" not in said


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
@pytest.mark.parametrize("groups", [(10**10,), (400, 1), (399,), (200, 200), (0, 400), ()])
def test_rows_that_are_not_in_the_file(tables, tmp_path, monkeypatch, capsys, ending, groups):
    """A list may claim any number of rows; nothing is made of it before the file was asked."""
    rows = pl.read_parquet(tables / "pool.parquet")
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / f"x{ending}"
    rows.write_parquet(path) if ending == ".parquet" else rows.write_ipc(path)
    (file,) = find_files(path)
    assert file.rows == 400 and file.groups == (400,)
    folder = forged(tables, tmp_path, [file._replace(rows=sum(groups), groups=groups)])
    with monkeypatch.context() as patch:
        patch.setattr("unskew.pools.files.cut", None)
        for command in ("status", "ask", "report"):
            said = refused(capsys, command, str(folder))
            assert f"{path} is not the file the campaign began with. Restore it" in said


@pytest.mark.parametrize("name", ["a\udc80.csv", "a\u202eb.csv", "a\x1bb.csv"])
def test_no_campaign_begins_with_a_name_that_a_list_may_not_have(tmp_path, name):
    (tmp_path / name).write_text("x\n1\n")
    with pytest.raises(InputError, match="has a control character or half") as caught:
        find_files(tmp_path)
    assert str(caught.value).isprintable()


def test_a_footer_that_claims_too_many_rows(tmp_path, monkeypatch):
    pl.DataFrame({"x": range(30)}).write_parquet(tmp_path / "x.parquet")
    monkeypatch.setattr("unskew.pools.fingerprints.MOST_ROWS", 29)
    with pytest.raises(InputError, match=r"claims 30 rows; the most is 29\. Name fewer files"):
        find_files(tmp_path / "x.parquet")


def forged(tables, tmp_path, files):
    """A campaign as a stranger could make it, with that list of files, all digests of which are right."""
    pl.read_parquet(tables / "pool.parquet").write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "rows").mkdir()
    shutil.move(tmp_path / "rows.parquet", tmp_path / "rows" / "rows.parquet")
    with make(tables, tmp_path / "bank", pool=tmp_path / "rows") as campaign:
        campaign.tell(told(campaign.ask(4, by="ann")), by="ann")
        campaign.close_due()
    listing = tmp_path / "bank" / "pool.files.json"
    listing.write_text(json.dumps([file._asdict() for file in files]))
    forge(tmp_path / "bank", pool_sha256=digest(listing))
    return tmp_path / "bank"


# Ledgers


def test_a_ledger_elsewhere_is_for_those_who_named_it(tables, tmp_path, stranger, postgresql_database, monkeypatch):
    with make(tables, tmp_path / "bank", store=postgresql_database) as campaign:
        campaign.ask(2, by="ann")
    stranger()
    with pytest.raises(NotAgreed, match="the ledger of this campaign is at postgresql://unskew@/test_") as caught:
        Campaign.open(tmp_path / "bank")
    assert "\n" not in str(caught.value)
    named = str(caught.value).partition("UNSKEW_ADDRESSES to ")[2].removesuffix(" and try again.")
    monkeypatch.setenv("UNSKEW_ADDRESSES", named)
    assert use(tmp_path / "bank") == 5


@pytest.mark.parametrize(
    "store",
    [
        "postgresql://ann:pw@127.0.0.1:{port}/bank", "postgresql:///bank?host=127.0.0.1&port={port}",
        "postgresql://db.example/bank?hostaddr=127.0.0.1&port={port}", "postgres://127.0.0.1:{port}/bank",
        "postgresql+psycopg://127.0.0.1:{port}/bank?sslpassword=pw",
        "postgresql:///bank?host=127.0.0.1,127.0.0.1&port={port},{port}",
    ],
)  # fmt: skip
def test_no_server_that_a_folder_names_is_connected_to(tables, tmp_path, stranger, store, monkeypatch, capsys):
    make(tables, tmp_path / "bank").close()
    stranger()
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        theirs.settimeout(0.2)
        said = json.loads((tmp_path / "bank" / "campaign.json").read_text())
        url = store.format(port=theirs.getsockname()[1])
        (tmp_path / "bank" / "campaign.json").write_text(json.dumps({**said, "store": url}))
        line = refused(capsys, "status", str(tmp_path / "bank"))
        assert line.count("\n") == 1 and "UNSKEW_ADDRESSES" in line and "pw" not in line
        with pytest.raises(TimeoutError):
            theirs.accept()
        named = line.partition("UNSKEW_ADDRESSES to ")[2].removesuffix(" and try again.\n")
        monkeypatch.setenv("UNSKEW_ADDRESSES", named)
        monkeypatch.setattr("unskew.campaigns.ledger.store.PATIENCE", 1)
        theirs.settimeout(20)
        waiting = threading.Thread(target=lambda: theirs.accept()[0].close())
        waiting.start()
        refused(capsys, "status", str(tmp_path / "bank"))
        waiting.join()


def test_another_password_needs_no_other_consent():
    one, two = (f"postgresql://ann:{secret}@db/bank?sslpassword={secret}" for secret in ("a", "b"))
    assert place(one) == place(two) == "postgresql://ann@db/bank"
    for other in ("postgresql://bob@db/bank", "postgresql://ann@db2/bank", "postgresql://ann@db/bank?host=db2"):
        assert place(other) != place(one)
    assert place("postgresql:///b?host=a,b&x= ,") == "postgresql:///b?host=a%2Cb&x=+%2C"


# Events


@pytest.mark.parametrize("name", ["../theirs.parquet", "/etc/theirs.parquet", "dask://h/x", "pool.parquet", ""])
def test_the_file_of_an_event_leads_nowhere(tables, tmp_path, name):
    """New rows are in pool-2.parquet, whatever the event says."""
    make(tables, tmp_path / "bank").close()
    theirs = tmp_path / "theirs.parquet"
    shutil.copy(tables / "pool.parquet", theirs)
    forge(tmp_path / "bank", Extended(400, digest(theirs), name, 0))
    with pytest.raises(StoreError, match=r"pool-2.parquet is missing"):
        use(tmp_path / "bank")


# Tables that a user names


def test_a_chained_address_at_start_is_one_line(tables, tmp_path, capsys):
    names = ["--label", "paid", "--propensity", "q0", "--id", "loan"]
    for pool in ("dask://127.0.0.1:1/x::file:///x.parquet", "simplecache::http://127.0.0.1:1/x.parquet"):
        args = ["start", str(tmp_path / "bank"), "--log", str(tables / "log.parquet"), "--pool", pool, *names]
        said = refused(capsys, *args)
        assert said.count("\n") == 1 and f"'{pool}' cannot be opened: an address begins with" in said
    assert not (tmp_path / "bank").exists()

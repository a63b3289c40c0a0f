"""A whole campaign on a pool in an object store: a real server that speaks S3, on this machine."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import polars as pl
import pytest

from commands import refused
from many_files import paid, whole_pool, write_log
from unskew.cli import main

s3fs = pytest.importorskip("s3fs", reason="s3fs opens s3:// addresses: pip install s3fs")
pytest.importorskip("moto.server", reason="moto serves them: pip install 'moto[server]'")

WRITE = {"parquet": pl.DataFrame.write_parquet, "arrow": pl.DataFrame.write_ipc, "csv": pl.DataFrame.write_csv}


@contextmanager
def server(log):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with open(log, "wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            for _ in range(300):
                with socket.socket() as line:
                    if not line.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The rows as Parquet, Arrow and CSV, and a client with which others write to the store."""
    folder = tmp_path_factory.mktemp("store")
    rows = whole_pool().with_columns(pl.col("x2").cast(pl.Float64))
    with server(folder / "server.txt") as address, pytest.MonkeyPatch.context() as patch:
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
            patch.setenv(f"AWS_{name}", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_ALLOW_HTTP", "true")  # for Polars
        others = s3fs.S3FileSystem(skip_instance_cache=True)
        others.mkdir("shop")
        for kind, write in WRITE.items():
            for k in range(3):
                write(rows[20_000 * k : 20_000 * (k + 1)], folder / "part")
                others.put(str(folder / "part"), f"shop/{kind}/part-{k}.{kind}")
        write_log(folder / "log.parquet")
        yield folder, others


@pytest.mark.parametrize("kind", list(WRITE))
def test_a_campaign_from_start_to_predictions(kind, store, tmp_path, monkeypatch, capsys):
    folder, others = store
    monkeypatch.chdir(tmp_path)
    names = ["--label", "paid", "--propensity", "q0", "--id", "loan", "--budget", "40", "--hash"]
    assert main(["start", "bank", "--log", str(folder / "log.parquet"), "--pool", f"s3://shop/{kind}", *names]) == 0
    asked = []
    for _ in range(2):
        assert main(["ask", "bank", "-n", "15", "--out", "rows.csv"]) == 0
        rows = pl.read_csv("rows.csv").with_columns(pl.col("x0").map_elements(paid, pl.Int64).alias("paid"))
        asked += rows["loan"].to_list()
        rows.write_csv("rows.csv")
        assert main(["tell", "bank", "rows.csv"]) == 0
    expected = folder / "asked"
    expected.write_text(" ".join(asked)) if not expected.exists() else None
    assert expected.read_text().split() == asked and len(set(asked)) == 30  # the same for every kind
    assert main(["predict", "bank", f"s3://shop/{kind}/*.{kind}", "--out", "found.parquet"]) == 0
    assert pl.read_parquet("found.parquet")["loan"].equals(whole_pool()["loan"])
    assert main(["status", "bank", "--hash"]) == 0
    one, content = f"shop/{kind}/part-1.{kind}", others.cat_file(f"shop/{kind}/part-1.{kind}")
    others.pipe(one, content.replace(b"A020001", b"B020001"))
    assert f"s3://{one} is not the file the campaign began with" in refused(capsys, "ask", "bank", "-n", "5")
    others.rm(one)
    assert f"s3://{one} is gone" in refused(capsys, "ask", "bank", "-n", "5")


def test_a_bucket_that_is_not_there_and_one_without_data(store, tmp_path, capsys):
    folder, others = store
    names = ["--log", str(folder / "log.parquet"), "--label", "paid", "--id", "loan"]
    for pool in ("s3://nowhere/rows", "s3://shop/none"):
        assert pool in refused(capsys, "start", str(tmp_path / "bank"), "--pool", pool, *names)
    others.pipe("shop/packed/1.csv.gz", b"x")
    told = refused(capsys, "start", str(tmp_path / "bank"), "--pool", "s3://shop/packed", *names)
    assert "s3://shop/packed/1.csv.gz is packed" in told
    assert os.listdir(tmp_path) == []

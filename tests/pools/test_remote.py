"""Which addresses a pool may have. All others are refused before anything is connected to."""

import pytest

from file_pools import refused
from unskew.errors import InputError
from unskew.pools.files import find_files
from unskew.pools.remote import content_of, opening, place_of

REFUSED = [
    "dask://host:8786/x.parquet", "dask://host:8786/x::file:///etc/passwd.csv",
    "filecache::http://host/x.parquet", "simplecache::s3://bucket/x.parquet",
    "blockcache::http://host/x.parquet", "reference://::http://host/x.parquet",
    "zip://x.parquet::http://host/x.zip", "tar://x.csv::s3://bucket/x.tar", "memory://x.parquet",
    "ftp://host/x.csv", "sftp://host/x.csv", "ssh://host/x.csv", "smb://host/x.csv",
    "hdfs://host/x.parquet", "github://ann:repo@main/x.csv", "git://x.csv", "jupyter://host/x.csv",
    "webhdfs://host/x.csv", "arrow_hdfs://host/x.csv", "data://x.csv", "local:///etc/x.csv",
    "HTTP://host/x.parquet", "S3://bucket/x.parquet", "Dask://host/x.parquet",
    "s3://bucket/x.parquet::http://host/x.parquet", "http://[::1]:80/x.parquet",
    "s3:///x.parquet", "s3://", "s3://bucket@host/x.parquet", "https://s3.amazonaws.com@host/x.csv",
    "https://ann:secret@host/x.csv", "https://host\\@other/x.csv", "https://host other/x.csv",
    "https://host#@other/x.csv", "https://host?@other/x.csv", "https://h%6fst/x.csv",
    "https://höst/x.csv", "s3://bucket/../other/x.csv", "s3://bucket/%2E%2e/other/x.csv",
    "s3://bucket/a/..%2F..%2fother/x.csv", "s3://bucket/x\n.csv", " s3://bucket/x.csv",
    "s3://*/x.csv",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED)
def test_other_addresses_are_refused_before_a_file_system_is_made(url, monkeypatch):
    import fsspec

    def made(*_, **__):
        raise AssertionError("a file system was made")

    monkeypatch.setattr(fsspec.core, "url_to_fs", made)
    monkeypatch.setattr(fsspec, "filesystem", made)
    for use in (find_files, lambda path: content_of(path, 0, 1), lambda path: opening(path).__enter__()):
        refused(InputError, lambda use=use: use(url), "cannot be opened: an address begins with")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://bucket", "s3://bucket/"), ("s3a://bucket/a/b*.csv", "s3a://bucket/"),
        ("gs://a.b_c-d/x:y.csv", "gs://a.b_c-d/"),
        ("http://127.0.0.1:8000/x.csv?a=b", "http://127.0.0.1:8000/"),
        ("abfss://box@account.dfs.core.windows.net/x.csv", "abfss://box@account.dfs.core.windows.net/"),
        ("hf://datasets/ann/loans/2026/x.csv", "hf://datasets/ann/loans/"),
        ("hf://datasets/ann", "hf://datasets/ann/"), ("s3://bucket/a..b/x.csv", "s3://bucket/"),
        ("https://host//x.csv", "https://host/"),
    ],
)  # fmt: skip
def test_the_place_is_the_host_or_bucket(url, place):
    assert place_of(url) == place
    assert url.startswith(place.removesuffix("/"))

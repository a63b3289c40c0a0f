"""Bad pools are refused in one line that names the file, before anything is done with them."""

import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from file_pools import merged, pool, refused, summary, table, write
from object_store import object_store
from paths import ROOT
from unskew.errors import InputError, StoreError
from unskew.pools import ids
from unskew.pools.files import FilePool, PoolFile, check_files, check_ids, find_files
from unskew.pools.footers import footer_length, rows_of_groups
from unskew.pools.trying import try_files

FIXTURES = ROOT / "tests" / "fixtures"


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "pool", table())


def as_it_is(raw):
    return raw


class TestFind:
    def test_a_file_a_folder_and_a_pattern_name_the_same_files(self, folder):
        shutil.copytree(folder, folder / "2024" / "05")
        for name in ("_SUCCESS", "notes.txt", ".hidden.parquet", "_temporary/0.parquet", ".git/0.parquet"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("no pool")
        found = find_files(folder)
        assert [file.path for file in found] == sorted(
            str(folder / under / f"part-{i}.parquet") for under in ("", "2024/05") for i in range(3)
        )
        assert find_files(f"{folder}/**/part*.parquet") == found
        assert find_files(f"file://{folder}") == found
        assert find_files(folder / "part-1.parquet") == found[-2:-1]
        assert found[0].rows == 1666 and found[0].groups == (700, 700, 266)

    def test_a_relative_path_is_kept_as_an_absolute_one(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        assert find_files("part-0.parquet") == find_files(folder / "part-0.parquet")

    def test_nothing_is_there(self, tmp_path):
        refused(InputError, lambda: find_files(tmp_path / "none"), f"there is no file or folder '{tmp_path}/none'")
        refused(InputError, lambda: find_files(tmp_path), f"the folder '{tmp_path}' is empty")
        (tmp_path / "notes.txt").touch()
        refused(InputError, lambda: find_files(tmp_path), f"the folder '{tmp_path}' has no file that ends in .parquet")
        pattern = f"{tmp_path}/*.parquet"
        refused(InputError, lambda: find_files(pattern), f"the pattern '{pattern}' has no file that ends in .parquet")

    def test_no_rows_at_all(self, tmp_path):
        write(tmp_path, table()[:0], files=2)
        refused(InputError, lambda: find_files(tmp_path), f"'{tmp_path}' has no rows")

    def test_a_file_without_rows_among_others(self, folder):
        table()[:0].write_parquet(folder / "part-00.parquet")
        assert pool(folder).scan(summary, merged)[1] == len(pool(folder)) == 5000

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"a,b\n1,2\n", b"PAR1" + b"\xff\xff\xff\x7fPAR1"])
    def test_no_parquet_file(self, content, folder):
        path = folder / "part-1.parquet"
        path.write_bytes(content)
        refused(InputError, lambda: find_files(folder), f"{path} is incomplete or not a Parquet file: ", "Write it")

    def test_half_a_file_and_a_damaged_footer(self, folder):
        path = folder / "part-1.parquet"
        whole = path.read_bytes()
        for content in (whole[: len(whole) // 2], whole[:-400] + b"\xff" * 300 + whole[-100:]):
            path.write_bytes(content)
            refused(InputError, lambda: find_files(folder), f"{path} is incomplete or not a Parquet file: ")

    def test_a_pipe(self, folder):
        os.mkfifo(folder / "part-9.parquet")
        refused(InputError, lambda: find_files(folder), "part-9.parquet", "it is a pipe, a device or a socket")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    @pytest.mark.parametrize("name", ["part-1.parquet", "secret"])
    def test_no_permission(self, name, folder):
        (folder / "secret").mkdir()
        (folder / name).chmod(0)
        refused(InputError, lambda: find_files(folder), folder / name, "Permission denied")

    @pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
    def test_a_file_that_the_system_refuses(self, error, folder, monkeypatch):
        """As if without permission: for root, there are no permissions."""
        files = find_files(folder)

        def broken(path, flags):
            raise error

        monkeypatch.setattr("unskew.pools.remote.without_waiting", broken)
        refused(InputError, lambda: find_files(folder), f"{folder}/part-0.parquet cannot be read: {error.strerror}")
        refused(StoreError, lambda: check_files(files), f"{folder}/part-0.parquet cannot be read: {error.strerror}")

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (pl.col("a").cast(pl.Float32), "of 'a', {0} has Float64 and {1} has Float32."),
            (pl.lit(1).alias("more"), "of 'more', {0} has no such column and {1} has Int32."),
        ],
    )
    def test_different_columns(self, change, told, folder):
        path = folder / "part-2.parquet"
        pl.read_parquet(path).with_columns(change).write_parquet(path)
        refused(InputError, lambda: find_files(folder), told.format(folder / "part-0.parquet", path))


class TestChange:
    def test_files_that_are_as_they_were(self, folder):
        files = find_files(folder)
        check_files(files)
        assert PoolFile(**files[0]._asdict()) == files[0]

    def test_a_file_that_is_gone(self, folder):
        files = find_files(folder)
        (folder / "part-1.parquet").unlink()
        refused(StoreError, lambda: check_files(files), f"{folder}/part-1.parquet is gone")

    def test_another_file_of_the_same_size_and_time(self, folder):
        path = folder / "part-1.parquet"
        files, told = find_files(folder), path.stat()
        content = bytearray(path.read_bytes())
        content[-40] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
        refused(StoreError, lambda: check_files(files), f"{path} is not the file the campaign began with. Restore it")

    def test_another_size_or_time(self, folder):
        path = folder / "part-1.parquet"
        files, content = find_files(folder), path.read_bytes()
        os.utime(path, ns=(0, 0))
        refused(StoreError, lambda: check_files(files), f"{path} is not the file", "it was written at another time")
        path.write_bytes(content + b"PAR1")
        refused(StoreError, lambda: check_files(files), f"{path} cannot be read: its footer is damaged")
        table()[:10].write_parquet(path)
        refused(StoreError, lambda: check_files(files), f"{path} is not the file the campaign began with. Restore it")

    def test_a_file_that_vanishes_during_a_scan(self, folder):
        of = pool(folder)
        (folder / "part-1.parquet").unlink()
        refused(InputError, lambda: of.scan(summary, merged), f"{folder}/part-1.parquet cannot be read: ")


class TestDamage:
    def test_a_corrupt_row_group(self, folder):
        path = folder / "part-1.parquet"
        content = bytearray(path.read_bytes())
        end = content.rindex(b"row-1666")  # in the footer: the least id of a row group
        content[10_000 : end - 2000] = b"\xff" * (end - 12_000)
        path.write_bytes(content)
        of = pool(folder)
        refused(InputError, lambda: try_files(of), f"{path} is incomplete or damaged: ", "Write it again.")
        refused(InputError, lambda: of.scan(summary, merged), f"{path} cannot be read: ", "Restore it from a copy.")

    @pytest.mark.parametrize("name", ["aborts.parquet", "panics.parquet"])
    def test_a_file_that_ends_polars(self, name, tmp_path, capfd):
        whole = pl.read_parquet_schema(FIXTURES / name)
        for i in (1, 3):
            pl.DataFrame(schema=whole).clear(5).write_parquet(tmp_path / f"{i}.parquet")
        shutil.copy(FIXTURES / name, tmp_path / "2.parquet")
        of = FilePool(find_files(tmp_path), None, None, columns=list(whole))
        refused(InputError, lambda: try_files(of), f"{tmp_path}/2.parquet is incomplete or damaged: ")
        assert capfd.readouterr() == ("", "")

    def test_a_panic_in_a_scan(self, tmp_path, capfd):
        shutil.copy(FIXTURES / "panics.parquet", tmp_path / "1.parquet")
        of = FilePool(find_files(tmp_path), as_it_is, len, columns=pl.read_parquet_schema(tmp_path / "1.parquet"))
        told = refused(InputError, lambda: of.scan(len, int.__add__), f"{tmp_path}/1.parquet cannot be read: ")
        assert told.endswith("a value is damaged. Restore it from a copy.")
        assert "panicked" in capfd.readouterr().err  # Polars says so itself

    def test_a_file_that_was_replaced_by_a_shorter_one(self, folder):
        of = pool(folder)
        table()[:10].write_parquet(folder / "part-1.parquet")
        told = f"{folder}/part-1.parquet cannot be read: of 1667 rows from row 1, 10 are there."
        refused(InputError, lambda: of.scan(summary, merged), told)

    def test_files_that_can_be_read(self, folder):
        of, told = pool(folder), []
        of.progress = lambda done, total: told.append((done, total))
        try_files(of)
        assert told == [(5000, 5000)]

    def test_footers_that_are_nonsense(self):
        real = FIXTURES / "panics.parquet"
        assert sum(rows_of_groups(real.read_bytes()[-8 - footer_length(real.read_bytes()[-8:]) : -8])) > 0
        for content in (
            b"",
            b"\x00",
            b"\x36\x04\x19\x1c\x36\x02\x00\x00",
            b"\x19\xfc\xff\xff\xff\xff\x0f",
            b"\x4c" * 2000,
            b"\x1b\x00",
        ):
            with pytest.raises(ValueError, match="its footer is damaged"):
                rows_of_groups(content)


class TestIds:
    def test_an_id_in_two_files(self, folder):
        path = folder / "part-2.parquet"
        frame = pl.read_parquet(path).with_columns(id=pl.col("id").replace("row-4000", "  row-7 "))
        frame.write_parquet(path)
        refused(
            InputError,
            lambda: check_ids(pool(folder)),
            f"'row-7' of column 'id' is in row 8 of {folder}/part-0.parquet and in row 668 of {path}. Drop or rename",
        )

    @pytest.mark.parametrize("size", [1, 100, 1 << 25])
    def test_an_id_twice_in_a_file_whatever_the_passes(self, size, folder, monkeypatch):
        monkeypatch.setattr(ids, "PASS", size * 50)
        check_ids(pool(folder))
        path = folder / "part-1.parquet"
        pl.read_parquet(path).with_columns(id=pl.lit("same")).write_parquet(path)
        refused(InputError, lambda: check_ids(pool(folder)), "'same'", f"in row 1 of {path} and in row 2 of {path}.")

    @pytest.mark.parametrize("missing", [None, "", "  "])
    def test_a_missing_id(self, missing, folder):
        for path, row in ((folder / "part-1.parquet", 700), (folder / "part-2.parquet", 0)):
            frame = pl.read_parquet(path).with_row_index()
            frame = frame.with_columns(id=pl.when(pl.col("index") == row).then(pl.lit(missing)).otherwise("id"))
            frame.drop("index").write_parquet(path)
        told = f"column 'id' has none in row 701 of {folder}/part-1.parquet."
        refused(InputError, lambda: check_ids(pool(folder)), told)

    def test_equal_keys_of_different_ids_are_no_repetition(self, folder, monkeypatch):
        monkeypatch.setattr(ids, "SUSPECTS", 7)
        real = ids.keys_of
        monkeypatch.setattr(ids, "keys_of", lambda some: real(some) >> 55 << 55)
        assert check_ids(pool(folder)) is None

    def test_one_file_and_no_ids(self, folder):
        check_ids(pool(folder / "part-0.parquet"))
        assert check_ids(pool(folder, id=None)) is None


class TestUrls:
    def test_an_object_store(self, folder):
        with object_store() as store:
            for path in Path(folder).iterdir():
                store.files.pipe(f"/shop/2024/{path.name}", path.read_bytes())
            of, local = pool("s3://shop"), pool(folder)
            paths = [f"s3://shop/2024/part-{i}.parquet" for i in range(3)]
            assert [file.path for file in of.files] == paths
            assert find_files("s3://shop/2024/*.parquet") == list(of.files)
            assert find_files("s3://shop/2024/part-1.parquet") == list(of.files[1:2])
            check_files(of.files)
            assert of.scan(summary, merged) == local.scan(summary, merged)
            store.files.pipe("/shop/2024/part-1.parquet", b"PAR1")
            refused(StoreError, lambda: check_files(of.files), f"{paths[1]} cannot be read: ")
            store.files.rm("/shop/2024/part-1.parquet")
            refused(StoreError, lambda: check_files(of.files), f"{paths[1]} is gone")
            refused(InputError, lambda: find_files("s3://shop/none"), "s3://shop/none")

    def test_files_that_a_store_lists_elsewhere(self, folder, monkeypatch):
        with object_store() as store:
            path = next(Path(folder).glob("*.parquet"))
            store.files.pipe("/shop/part.parquet", path.read_bytes())
            elsewhere = "s3://theirs/part.parquet"
            monkeypatch.setattr(type(store.files), "find", lambda *_: ["/shop/part.parquet", "/theirs/part.parquet"])
            refused(InputError, lambda: find_files("s3://shop"), f"s3://shop lists '{elsewhere}'")

    def test_a_store_that_needs_a_package(self, monkeypatch):
        refused(InputError, lambda: find_files("abfs://a/b"), "abfs://a/b needs another package: ")
        monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
        refused(InputError, lambda: find_files("s3://a/b"), "s3://a/b needs fsspec. Install it with: pip install")

"""Small files that become gigabytes: a short form of a part of `make test-faults`."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from faults.bombs import bombs, throw
from unskew.campaigns.tables.files import read_table
from unskew.reading import too_much_text
from unskew.swelling import SPARE, TOO_LARGE


def quiet(_: int) -> None:
    """No progress is shown."""


@pytest.mark.parametrize("kind", bombs())
def test_a_file_that_becomes_very_much_is_refused_with_little_memory(kind: str, tmp_path: Path) -> None:
    thrown = throw(tmp_path, kinds=[kind], every_command=kind == "a dictionary of one text", tick=quiet)
    assert not thrown.faults, "\n".join(thrown.faults)
    assert thrown.verdicts[kind]["refused"] > 0 and thrown.memory > 0


def test_a_process_that_takes_far_too_much_memory_ends_itself() -> None:
    program = "import time; from unskew.swelling import watch; watch(0, 0); held = b'x' * 10**9; time.sleep(60)"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=False)
    assert done.returncode == TOO_LARGE and json.loads(done.stdout)["bytes"] > SPARE
    refusal = str(too_much_text("b.parquet", 7_800, done.stdout.decode()))
    assert "takes more than" in refusal and "column" not in refusal


def test_the_limit_in_a_refusal() -> None:
    rule = "(200 times the file's size if that is more, and never more than half of the memory)"
    counted = json.dumps({"bytes": 3 * 10**9, "column": "note"})
    small, larger = (str(too_much_text("b.parquet", size, counted)) for size in (7_800, 1_500_000))
    assert f"the limit is 256 MB {rule}. Leave out the column, or shorten its texts." in small
    assert f"the limit is 256 MB {rule}, here 300 MB. Leave out the column" in larger


def test_an_honest_table_of_long_texts_is_read(tmp_path: Path) -> None:
    texts = pa.array([f"{k:08d}" + "lorem ipsum " * 41 for k in range(200_000)])
    parquet.write_table(pa.table({"note": texts}), tmp_path / "notes.parquet", compression="zstd")
    assert read_table(tmp_path / "notes.parquet")["note"].str.len_bytes().sum() == 200_000 * 500

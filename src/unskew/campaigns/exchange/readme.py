"""The file beside an exported model: what the files are, what loading them means, and their checksums."""

import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import joblib
import numpy as np
import sklearn

import unskew
from unskew.campaigns.folder import digest

NAME = "README.txt"
FIRST = "Files that `unskew export` wrote."
LARGEST = 100_000
"""No such file of ours has as many characters."""

WORDS = {
    "model.onnx": """\
The model as ONNX, a list of calculations. Loading it runs no code from the file, so this is the safe form: pass this
one on, and use this one if the folder came from somebody else. Each column is an input with the column's own name and
the shape (rows, 1): numbers as double, NaN where missing; booleans as 0.0 and 1.0; dates as days since 1970-01-01;
categories as text, also if they are whole numbers, and "(missing)" where missing. The metadata of the file have
"columns", what each of them holds, and "classes", in the order of the probabilities.""",
    "model.joblib": """\
The same model as a scikit-learn pipeline, in Python's pickle format. LOADING IT CAN RUN ANY CODE that somebody put
into it, with your rights. Load it only if you trust whoever gave you this folder, and everybody who could change it on
the way.""",
    "ledger.parquet": """\
Everything that happened in the campaign, as a table. It holds data only.""",
}


def written(
    files: Sequence[Path], no_onnx: str | None, decision: str | None = None, own: Mapping[str, str] | None = None
) -> str:
    """The text for these files; `no_onnx` says why there is no `model.onnx`, `decision` when a row is flagged.

    `own` are the packages, with their versions, that a model of the user's own comes from.
    """
    here = [file.name for file in files]
    told = "".join(f"{name}\n{words}\n\n" for name, words in WORDS.items() if name in here)
    if no_onnx is not None:
        told += f"model.onnx, which would be the safe form of the model, is not here. {no_onnx}\n\n"
    if decision is not None:
        told += f"{decision} Both forms of the model decide so.\n\n"
    own = own or {}
    made_by = {module.__name__: module.__version__ for module in (unskew, sklearn, np, joblib)}
    versions = ", ".join(f"{name} {version}" for name, version in {**made_by, **own}.items())
    sums = "".join(f"{digest(file)}  {file.name}\n" for file in files)
    return f"""{FIRST}

{told}Made by {versions}, Python {platform.python_version()}.
model.joblib needs the same {" and ".join(["scikit-learn", *(name for name in own if name not in made_by)])}.

This command checks that the files are unchanged. It also warns about lines that are not checksums, such as this one:

    sha256sum --check {NAME}

Whoever changes a file can change this list too. If the folder came to you by a way that you do not trust, ask the
sender for the list by another way. These are the SHA-256 sums:

{sums}"""


def listed(folder: Path) -> list[str]:
    """The lines with checksums in the folder's file, if `export` wrote one."""
    try:
        with open(folder / NAME, encoding="utf-8") as file:
            text = file.read(LARGEST)
    except (OSError, ValueError):
        return []
    return re.findall(r"^[0-9a-f]{64}  .+\n", text, re.M) if text.startswith(FIRST) else []


def is_listed(path: Path) -> bool:
    """Whether `export` wrote the file: its checksum is listed beside it."""
    lines = listed(path.parent)
    return bool(lines) if path.name == NAME else f"{digest(path)}  {path.name}\n" in lines

"""A module as if its file had some lines more: what a change of one file would do, seen from everywhere."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def add(module: str, *texts: tuple[str, str]) -> None:
    """Import the module with each text before the other one in its file. Nothing may have imported it yet."""
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text()
    for text, before in texts:
        assert source.count(before) == 1
        source = source.replace(before, text + before)
    made = importlib.util.module_from_spec(spec)
    sys.modules[module] = made
    exec(compile(source, spec.origin, "exec"), made.__dict__)
    parent, _, name = module.rpartition(".")
    setattr(importlib.import_module(parent), name, made)


def seen(program: str, *words: str) -> dict[str, Any]:
    """What a program in a process of its own prints as JSON on its last line."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", program, *words]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return printed

"""What is shown while a command works: a bar with the time left as soon as a step knows its length."""

import io
import re
import sys
import time

import pytest

from unskew.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_spinner_becomes_a_bar_and_goes_on_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    seen = []
    with progress.waiting("choosing rows") as report:
        for done in (None, 10, 50, 100, 30):
            if done is not None:
                report(done, 100)
            terminal.truncate(0)
            time.sleep(0.3)
            seen.append(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue()))
    assert all("choosing rows" in text for text in seen)
    assert [" left" in text for text in seen] == [False, True, True, False, True]


def test_nothing_is_shown_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.waiting("choosing rows") as report:
        report(1, 2)
    assert capsys.readouterr() == ("", "")

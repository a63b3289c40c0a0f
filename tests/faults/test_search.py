"""What is hidden cannot be read letter by letter: a short form of `make test-faults`."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faults.search import LENGTH, OTHERS, SEARCHES, search
from unskew.web.office import Office


def test_nothing_hidden_is_read(tmp_path: Path) -> None:
    tried = search(tmp_path, chance=random.Random(0), tick=lambda _: None)
    assert not tried.faults, "\n".join(tried.faults)
    assert tried.attacks == 6 * (len(SEARCHES) + len(OTHERS)) >= 5 * 6 and tried.requests > tried.attacks
    assert tried.read == LENGTH * len(SEARCHES), "every way to search works on what is shown"


def test_a_search_in_what_is_hidden_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(office: Office, given: Any, columns: Any, words: list[str]) -> bool:
        def texts() -> Iterator[str]:
            yield from (given.row.id, *map(str, given.row.values.values()))
            yield from (comment.text for comment in office.campaign.state.comments.get(given.row.id, ()))

        whole = "\n".join(texts()).casefold()
        return all(word in whole for word in words)

    monkeypatch.setattr(Office, "_has", everything)
    count = {"count": SEARCHES["count"]}
    tried = search(tmp_path, chance=random.Random(0), tick=lambda _: None, ways=count)
    for part in ("qz1", "qz2", "qz3", "qz4"):
        assert any(part in fault for fault in tried.faults), f"{part}: a hidden part that nobody found"

"""An annotator tries to read what is hidden, letter by letter: a guess is right if some answer of the page differs."""

import random
import string
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from hidden_scene import Ada, Hidden, Secrets, hidden

LETTERS = string.ascii_lowercase
LENGTH = 4
Sign = Callable[[Ada, Hidden, str], object]
"""What an attacker sees when they guess a text."""


@dataclass
class Searched:
    """The attacks, how many requests they took, and every text that one of them read."""

    attacks: int = 0
    requests: int = 0
    read: int = 0
    """Letters that were read in the column that everybody sees: this shows that an attack works."""
    faults: list[str] = field(default_factory=list)


def _answers(ada: Ada, **query: object) -> tuple[int, int, str]:
    """Status, length, and the answers in their order."""
    reply = ada.call("GET", "/api/answers", query)
    return reply.status_code, len(reply.content), reply.text


def _wide(guess: str) -> str:
    """The same letters in a form that is equal only to those who normalise texts."""
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in guess)


SEARCHES: dict[str, Sign] = {
    "count": lambda ada, _, guess: ada.call("GET", "/api/answers", {"search": guess}).json()["found"],
    "text, length and status": lambda ada, _, guess: _answers(ada, search=guess),
    "capitals": lambda ada, _, guess: _answers(ada, search=guess.upper()),
    "one page further": lambda ada, _, guess: _answers(ada, search=guess, after=1),
    "last page": lambda ada, scene, guess: _answers(ada, search=guess, after=len(scene.mine) - 1),
    "order": lambda ada, scene, guess: _answers(ada, search=f"{scene.mine[0][:3]} {guess}"),
    "one label": lambda ada, _, guess: [_answers(ada, search=guess, label=name) for name in ("yes", "no", "")],
    "another person": lambda ada, _, guess: [_answers(ada, search=guess, by=name) for name in ("bob", "grace")],
    "time": lambda ada, _, guess: [
        _answers(ada, search=guess, **{end: "2026-11-18T09:00:03Z"}) for end in ("since", "until")
    ],
    "doubt": lambda ada, _, guess: [_answers(ada, search=guess, doubt=share) for share in (0.0, 0.5, 1.0)],
    "with a word of one's own": lambda ada, _, guess: _answers(ada, search=f"own {guess}"),
    "behind a number": lambda ada, _, guess: _answers(ada, search=f"no: {guess}"),
}  # fmt: skip
"""Ways to search. Each reads a word in what is shown, so each would read what is hidden, too, if it were searched."""
OTHERS: dict[str, Sign] = {
    "wide letters": lambda ada, _, guess: _answers(ada, search=_wide(guess)),
    "as a class": lambda ada, _, guess: _answers(ada, label=guess)[0],
    "as a person": lambda ada, _, guess: _answers(ada, by=guess),
    "as the id of an answer": lambda ada, scene, guess: _refused(
        ada, guess, "/api/tell", {"answers": [{"id": guess, "label": "yes"}]}
    ),
    "as the id of a correction": lambda ada, scene, guess: _refused(
        ada, guess, "/api/correct", {"id": guess, "label": "yes"}
    ),
    "as the id of a comment": lambda ada, scene, guess: _refused(
        ada, guess, "/api/comment", {"id": guess, "text": "x"}
    ),
    "as the id of an undo": lambda ada, scene, guess: _refused(ada, guess, "/api/undo", {"id": guess}),
}  # fmt: skip
"""Other places for a guess."""
WAYS = {**SEARCHES, **OTHERS}


def _refused(ada: Ada, guess: str, path: str, body: object) -> tuple[int, str]:
    reply = ada.call("POST", path, body=body)
    return reply.status_code, reply.text.replace(guess, "GUESS")


def read_letters(sign: Callable[[str], object], start: str, tick: Callable[[], None]) -> str:
    """What follows `start` in a hidden text, as far as the signs tell: a letter is there if its sign is another one."""
    read = ""
    while len(read) < LENGTH:
        signs = {letter: sign(start + read + letter) for letter in LETTERS}
        tick()
        plain = max(signs.values(), key=lambda one: sum(one == other for other in signs.values()))
        apart = [letter for letter, one in signs.items() if one != plain]
        if len(apart) != 1:
            break
        read += apart[0]
    return read


def search(
    where: Path, *, chance: random.Random, tick: Callable[[float], None], ways: dict[str, Sign] | None = None
) -> Searched:
    """Try every way to guess on every hidden part, and every search once on a part that is shown."""
    words = ["".join(chance.choices(LETTERS, k=LENGTH)) for _ in range(7)]
    starts = ["qz1", "qz2", "qz3", "qz4", "qz5", "qz6"]
    secrets = Secrets(*(start + word for start, word in zip(starts, words, strict=False)))
    tried = Searched()
    with ExitStack() as stack:
        scene = stack.enter_context(hidden(where / "campaign", secrets, shown=f"no: qz7{words[6]} own"))
        ada = Ada(scene, stack)
        for name, sign in (WAYS if ways is None else ways).items():
            see = lambda guess, sign=sign: _counted(tried, sign(ada, scene, guess))  # noqa: E731
            for start, word in zip(starts, words, strict=False):
                tried.attacks += 1
                read = read_letters(see, start, lambda: tick(tried.attacks))
                if read:
                    tried.faults.append(f"{name}: {start + read!r} was read of the hidden {start + word!r}")
            if name in SEARCHES:
                shown = read_letters(see, "qz7", lambda: tick(tried.attacks))
                tried.read += len(shown)
                if shown != words[6]:
                    tried.faults.append(f"{name}: read {shown!r} in what is shown, {words[6]!r}: the attack is broken")
    return tried


def _counted(tried: Searched, seen: object) -> object:
    tried.requests += len(seen) if isinstance(seen, list) else 1
    return seen

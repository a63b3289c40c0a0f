"""An annotator reads nothing of what is hidden from them: no answer differs, whatever is there."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from faults.routes import paths_of
from hidden_scene import Ada, Hidden, Secrets, hidden
from unskew.web.access import SignedIn
from unskew.web.conduct_models import Wanted
from unskew.web.pages import VERSION

MARK = "Zqx\u00fc\u00dfKv9"
"""A word that is nowhere else."""
HIDDEN = Secrets(f"{MARK} positive", *[f"{MARK} {what}" for what in ("comment", "reason", "correction", "skip")])
NOTHING = Secrets("unremarkable, and of another length")
SEARCHES = [
    "", *(MARK[:k] for k in range(1, len(MARK) + 1)), MARK.upper(), MARK.lower(), MARK.casefold(), f"{MARK} reason",
    "comment", "reason", "correction", "skip", "positive", "\u2192", "yes \u2192 no", "bob", "grace", "settled",
    "diagnosis", "unremarkable", "my own words", "car", "A3-", " ", "2026",
]  # fmt: skip
FILTERS: list[dict[str, object]] = [
    {}, {"label": "yes"}, {"label": "no"}, {"label": ""}, {"label": MARK}, {"by": "bob"}, {"by": "ada"},
    {"by": MARK}, {"since": "2026-11-18T09:00:03Z"}, {"until": "2026-11-18T09:00:03Z"}, {"doubt": 0.0}, {"doubt": 1.0},
    {"after": 1}, {"after": 6}, {"after": 7}, {"after": 1000}, {"sort": "reason"},
]  # fmt: skip
Call = tuple[str, str, dict[str, object], object]
"""Method, path, query, body."""


def ids_of(scene: Hidden) -> list[str]:
    """Rows of Ada's, rows that were asked of others, a row that was not asked of anybody, and no row."""
    asked = scene.campaign.state.rows
    unasked = next(f"A3-{k:04d}" for k in range(200) if f"A3-{k:04d}" not in asked)
    given = {*scene.mine, *scene.held}
    waiting = next(id for id in asked if id not in given and id not in scene.others)
    return [*scene.mine, *scene.held, *scene.others, waiting, unasked, MARK, "diagnosis"]


def bodies(path: str, ids: list[str]) -> Iterator[object]:
    """What may be sent to a path; an empty object where nothing else is of use."""
    labels = ("yes", "no", None, "yes", MARK)
    yield {}
    if path == "/api/ask":
        yield from ({"n": n} for n in (1, 3, 5))
    if path == "/api/tell":
        yield from ({"answers": [{"id": id, "label": label}], "ask": 2} for id in ids for label in labels)
        yield {"answers": [{"id": id, "label": "yes"} for id in ids]}
    if path == "/api/undo":
        yield from ({"id": id} for id in [*ids, *ids[::-1]])
    if path == "/api/comment":
        yield from ({"id": id, "text": f"a note on {id}"} for id in ids)
    if path == "/api/correct":
        yield from ({"id": id, "label": label, "reason": "mine"} for id in ids for label in labels)
    if path in ("/api/annotators", "/api/pause", "/api/resume"):
        yield from ({"name": name} for name in ("bob", "eve", MARK))


def calls(scene: Hidden) -> list[Call]:
    """Requests to every route that the application has: reading ones, then changing ones, then reading ones again."""
    ids = ids_of(scene)
    reading, changing = [], []
    for path, methods in sorted(paths_of(scene.app).items()):
        whole = [re.sub(r"\{[^}]*\}", quote(part), path) for part in ("bob", MARK, ids[0], "report.html")]
        whole = [path.replace("{version}", VERSION).replace("{name}", "label.js"), *whole] if "{" in path else [path]
        for method in sorted(methods):
            for one in whole:
                if method in ("GET", "HEAD"):
                    queries = [{"search": text, **rest} for text in SEARCHES for rest in FILTERS]
                    reading += [(method, one, query, None) for query in (queries if path == "/api/answers" else [{}])]
                else:
                    for body in bodies(path, ids):
                        changing += [(method, one, {}, body), ("GET", "/api/answers", {}, None)]
    return [*reading, *changing, *reading[::7]]


def answers(scene: Hidden, *, cookie: bool) -> dict[str, tuple[int, dict[str, str], bytes]]:
    """What Ada is sent, by request, as a script or as a browser."""
    sent = {}
    with ExitStack() as stack:
        ada = Ada(scene, stack, cookie=cookie)
        for number, (method, path, query, body) in enumerate(calls(scene)):
            scene.clock.tick()
            reply = ada.call(method, path, query, body)
            headers = dict(reply.headers)
            if "set-cookie" in headers:
                headers["set-cookie"] = re.sub("expires=[^;]+", "", headers["set-cookie"])  # the real time
            sent[f"{number} {method} {path} {query} {body}"] = reply.status_code, headers, reply.content
            if path == "/api/leave":
                ada.enter()
    return sent


@pytest.mark.parametrize("cookie", [False, True], ids=["script", "browser"])
def test_no_answer_differs_whatever_is_hidden(tmp_path: Path, cookie: bool) -> None:
    with hidden(tmp_path / "a", HIDDEN) as there, hidden(tmp_path / "b", NOTHING) as not_there:
        assert (there.mine, there.held, there.others) == (not_there.mine, not_there.held, not_there.others)
        with_it, without = answers(there, cookie=cookie), answers(not_there, cookie=cookie)
        app = there.app
    assert {call: (with_it[call], without[call]) for call in without if with_it[call] != without[call]} == {}
    assert {"/api/answers", "/history", "/label", "/static/{version}/{name}", "/results/{name}"} <= {*paths_of(app)}
    leaks = [call for call, (_, _, body) in with_it.items() if MARK in body.decode() and MARK not in call]
    assert leaks == []
    taken = [call for call, (status, _, _) in with_it.items() if status < 300]
    for path in ("answers", "ask", "tell", "undo", "comment", "correct"):
        assert any(f"/api/{path} " in call for call in taken), f"{path} was never accepted"


SETTLED = Secrets(NOTHING.column, settled=f"{MARK} settled")


def test_of_a_settled_answer_only_that_it_is_closed_can_be_seen(tmp_path: Path) -> None:
    with ExitStack() as stack:
        scenes = [stack.enter_context(hidden(tmp_path / name, what)) for name, what in (("a", SETTLED), ("b", NOTHING))]
        settled, free = (Ada(scene, stack) for scene in scenes)
        changed, skipped = scenes[0].mine[4:6]
        for query in ({"search": text, **rest} for text in SEARCHES for rest in FILTERS):
            one, other = (ada.call("GET", "/api/answers", query) for ada in (settled, free))
            assert one.status_code == other.status_code
            if one.status_code == 200:
                closed = [answer["id"] for answer in one.json()["answers"] if not answer["mine"]]
                assert set(closed) <= {changed, skipped}
                assert one.text.replace('"mine":false', '"mine":true') == other.text
        for id in (changed, skipped):
            for label in ("yes", "no", None):
                body = {"answers": [{"id": id, "label": label}]}
                one, other = (ada.call("POST", "/api/tell", body=body) for ada in (settled, free))
                assert (one.status_code, one.content) == (other.status_code, other.content)
            refused = settled.call("POST", "/api/correct", body={"id": id, "label": "no"})
            assert refused.status_code == 409
            closed = f"your answer to row {id!r} can no longer be changed. Ask whoever runs the campaign."
            assert refused.json()["detail"] == closed
        hands = [ada.call("POST", "/api/ask", body={"n": 2}).json() for ada in (settled, free)]
        budgets = [hand["left"].pop("budget") for hand in hands]
        assert hands[0] == hands[1] and budgets[0] == budgets[1] + 1, "a skip gives its place in the budget back"
        assert scenes[0].campaign.row(changed).label == "no" and scenes[0].campaign.row(skipped).label is None


def test_a_skip_of_ones_own_stays_open_whoever_answered_the_row(tmp_path: Path) -> None:
    with ExitStack() as stack:
        scene = stack.enter_context(hidden(tmp_path / "a", HIDDEN))
        ada, id = Ada(scene, stack), scene.mine[0]
        assert scene.campaign.row(id).said("bob") is not None
        for label in (None, "no"):
            assert ada.call("POST", "/api/correct", body={"id": id, "label": label}).status_code == 200
            listed = {answer["id"]: answer for answer in ada.call("GET", "/api/answers").json()["answers"]}
            assert listed[id]["mine"] and listed[id]["label"] == label


def test_why_an_answer_cannot_be_taken_back_is_not_told(tmp_path: Path) -> None:
    with ExitStack() as stack:
        for name, settle in (("seen", False), ("settled", True)):
            scene = stack.enter_context(hidden(tmp_path / name, NOTHING))
            last = scene.mine[6]
            scene.campaign.correct(last, "yes", by="ada")
            if settle:
                scene.campaign.correct(last, "no", by="grace", reason=MARK)
            else:
                scene.campaign.hand_out(7, by="bob")
                scene.campaign.answer(last, "no", by="bob")
            refused = Ada(scene, stack).call("POST", "/api/undo", body={"id": last})
            assert refused.status_code == 409
            closed = f"your answer to row {last!r} can no longer be taken back. Go on with the next."
            assert refused.json()["detail"] == closed


def test_a_second_opinion_is_asked_for_like_a_first(tmp_path: Path) -> None:
    with ExitStack() as stack:
        scene = stack.enter_context(hidden(tmp_path / "a", NOTHING))
        scene.campaign.tell(dict.fromkeys(scene.others, "yes"), by="eve")
        scene.campaign.tell(dict.fromkeys(scene.held, "yes"), by="ada")
        hand = Ada(scene, stack).call("POST", "/api/ask", body={"n": 1}).json()
        assert [row["id"] for row in hand["rows"]] == scene.others, "which Eve has answered"
        assert hand["left"]["round"] == 1, "the row that is asked for is one that is left"


def test_rows_that_were_not_given_are_refused_alike(tmp_path: Path) -> None:
    """Whether there is a row of that id, and whatever became of it: on every route that takes an id."""
    with ExitStack() as stack:
        scene = stack.enter_context(hidden(tmp_path / "a", HIDDEN))
        ada = Ada(scene, stack)
        others = ids_of(scene)[len(scene.mine) + len(scene.held) :]
        ways: dict[str, dict[str, object]] = {
            "correct": {"label": "yes"}, "comment": {"text": "a note"}, "undo": {}, "tell": {},
        }  # fmt: skip
        for path, rest in ways.items():
            seen = set()
            for id in others:
                body = {"id": id, **rest} if path != "tell" else {"answers": [{"id": id, "label": "yes"}]}
                reply = ada.call("POST", f"/api/{path}", body=body)
                seen.add((reply.status_code, reply.text.replace(repr(id), "ID")))
            assert len(seen) == 1 and next(iter(seen))[0] == 409, path
        unanswered = [ada.call("POST", "/api/correct", body={"id": id, "label": "yes"}) for id in scene.held]
        assert {reply.json()["detail"].replace(id, "ID") for id, reply in zip(scene.held, unanswered, strict=True)} == {
            "row 'ID' has no answer of yours to change. Answer it first."
        }


def test_the_administrator_finds_all_that_is_shown(tmp_path: Path) -> None:
    with hidden(tmp_path / "a", HIDDEN) as scene:
        office = scene.app.state.office
        grace = SignedIn("grace", "admin", "secret")
        for text in ("comment", "reason", "correction", "skip"):
            answers = office.answers(Wanted(search=f"{MARK} {text}"), grace)
            assert answers.found > 0 and all(
                any(MARK in comment.text for comment in answer.comments) for answer in answers.answers
            )
        assert office.answers(Wanted(search=f"{MARK} positive"), grace).found == 0, "people do not see that column"
        assert len(scene.campaign.answers(search=f"{MARK} positive")) > 0, "commands and scripts see everything"
        assert office.answers(Wanted(search="plain A3-"), grace).found > 0

"""Snapshots of the state: exact, only for the ledger they were made from, and of no effect where they are not."""

import json
import os
import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign_folder import replayed, told
from unskew.campaigns import Campaign, State
from unskew.campaigns.ledger import live, place, snapshot, store
from unskew.campaigns.ledger.chain import Link
from unskew.campaigns.ledger.engines import serialised
from unskew.campaigns.ledger.events import (
    Arranged,
    Closed,
    Commented,
    Corrected,
    Event,
    Extended,
    Invited,
    Leased,
    Measured,
    Paused,
    Planned,
    PlannedRow,
    Recorded,
    Resumed,
    Revoked,
    Started,
    Undone,
    decode,
)
from unskew.campaigns.ledger.pace import LATEST
from unskew.campaigns.ledger.snapshot import FILE, as_record, from_record
from unskew.campaigns.telling import Rejected, judge, to_undo
from unskew.campaigns.user_cache import user_cache
from unskew.errors import InputError, StoreError
from unskew.estimation.population import PopulationEstimate, Side
from unskew.methods.prospect import Prospect

CLASSES, PEOPLE = ("no", "yes", "größer"), ("ada", "bob", "eve")
BEGIN = datetime(2026, 11, 19, 8, tzinfo=UTC)


class Story:
    """A random sequence of valid operations, as the events that a ledger would give back."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.state, self.events = chance, State(40), list[Recorded]()
        self.now = BEGIN
        self.write(Started(self.estimate()))

    def write(self, *events: Event, by: str = "") -> None:
        for event in events:
            number = len(self.events) + 1
            read = decode(event.kind, serialised(event.as_body()))
            recorded = Recorded(number, self.now.isoformat(timespec="microseconds"), by, read, number)
            self.events.append(recorded)
            self.state.apply(recorded)

    def estimate(self) -> PopulationEstimate | None:
        if self.chance.random() < 0.2:
            return None
        value = self.chance.random()
        side = Side(value, 0.1 + 0.2, 1e-17) if self.chance.random() < 0.5 else None
        return PopulationEstimate(value, 0.0, 1.0, 0.1, 0.95, "error", 3, 2.5, draw=side)

    def step(self) -> None:
        self.now += timedelta(seconds=self.chance.choice([1, 7.25, 400, 4000]))
        who, state, chance = self.chance.choice(PEOPLE), self.state, self.chance
        operation = chance.choice(
            ["plan", "lease", "lease", "tell", "tell", "tell", "tell", "undo", "correct", "comment", "pause", "resume",
             "arrange", "extend", "close", "measure", "people"]
        )  # fmt: skip
        done = [row for row in state.rows.values() if row.done]
        if operation == "plan" and (k := min(state.left, chance.randint(1, 6))) > 0:
            places = range(len(state.rows), len(state.rows) + k)
            rows = tuple(PlannedRow(f"r{p}", p, "drawn", 1 / 3, {"x": p / 7, "ü": None}) for p in places)
            self.write(Planned(len(state.batches) + 1, rows, 100, "m", chance.choice([None, 0.25])))
        elif operation == "lease":
            rows = state.available(who, self.now)[: chance.randint(1, 4)]
            if rows:
                self.write(Leased(tuple(row.id for row in rows), self.now + timedelta(minutes=10)), by=who)
        elif operation == "tell":
            rows = [row for row in (*state.open.values(), *state.again.values()) if row.held_by(who)]
            lines = [(None, row.id, chance.choice([None, *CLASSES])) for row in rows[: chance.randint(1, 2)]]
            self.tell(lines, who)
        elif operation == "undo":
            try:
                row = to_undo(state, who, None)
            except InputError:
                return
            if row is not None and row.id == state.undoable(who):
                own = row.said(who)
                was = row.label if own is None else own.label
                self.write(Undone(row.id, was, self.now + timedelta(minutes=10)), by=who)
        elif operation == "correct" and done:
            row = chance.choice(done)
            label = chance.choice(CLASSES) if row.label is not None or state.left > 0 else None
            self.write(Corrected(row.id, label, row.label, chance.choice(["", "sure"])), by=who)
        elif operation == "comment" and state.rows:
            self.write(Commented(chance.choice(list(state.rows)), "schön \U0001f600"), by=who)
        elif operation == "pause":
            self.write(Paused(who))
        elif operation == "resume":
            self.write(Resumed(who))
        elif operation == "arrange":
            changes = {"overlap": chance.choice([0.0, 0.5, 1.0]), "budget": state.budget + chance.randint(0, 5),
                       "columns": [["x", "X"]], "highlighted": ["a"], "explained": {"yes": "paid"}}  # fmt: skip
            self.write(Arranged(changes), by="lead")
        elif operation == "extend":
            self.write(Extended(5, "0" * 64, "pool-2.parquet", len(state.batches), {"x": "number"}))
        elif operation == "close" and state.batches:
            number = chance.randint(1, len(state.batches))
            self.write(Closed(number, state.spent, self.estimate(), Prospect(50, 0.01, 0.002)))
        elif operation == "measure":
            self.write(Measured(state.spent, self.estimate()))
        elif operation == "people":
            self.write(Invited(who, "annotator", f"{len(self.events):064d}"))
            if chance.random() < 0.3:
                self.write(Revoked(who))

    def tell(self, lines: list[Any], who: str) -> None:
        try:
            events, _ = judge(self.state, lines, CLASSES, actor=who, now=self.now)
        except Rejected:
            return
        self.write(*events, by=who)


def text(state: State) -> str:
    """A state with the order of everything in it."""
    return json.dumps(as_record(state))


def restored(state: State) -> State:
    return from_record(json.loads(text(state)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_a_snapshot_after_any_event_and_the_rest_are_the_full_replay(seed: int) -> None:
    story = Story(random.Random(seed))
    for _ in range(60):
        story.step()
    whole = State(40).replay(story.events)
    growing = State(40)
    for at, recorded in enumerate(story.events, 1):
        growing.apply(recorded)
        again = restored(growing)
        assert again == growing and text(again) == text(growing)
        assert all(row is again.rows[id] for id, row in again.open.items())
        if at % 7 == 0 or at == len(story.events):
            again.replay(story.events[at:])
            assert again == whole and text(again) == text(whole)
    for who in PEOPLE:
        assert again.available(who, story.now) == whole.available(who, story.now)
        assert again.undoable(who) == whole.undoable(who)


def test_the_stories_touch_every_part_of_a_state() -> None:
    untouched = set(as_record(State(40)))
    for seed in range(20):
        story = Story(random.Random(seed))
        for _ in range(80):
            story.step()
        empty = as_record(State(40))
        untouched -= {name for name, value in as_record(story.state).items() if value != empty[name]}
    assert not untouched


def test_what_grows_with_time_and_not_with_rows_is_bounded() -> None:
    state = State(10)
    row = PlannedRow("r", 0, "drawn", 1.0, {})
    events: list[tuple[Event, str]] = [(Planned(1, (row,), 1), "")]
    for k in range(2 * LATEST):
        events += [(Leased(("r",), BEGIN), "ada"), (decode("answered", '{"id":"r","label":"yes"}'), "ada"),
                   (Undone("r", "yes", BEGIN), "ada"), (Invited("ada", "annotator", str(k)), "")]  # fmt: skip
    small = 0
    for number, (event, by) in enumerate(events, 1):
        state.apply(Recorded(number, BEGIN.isoformat(), by, event, number))
        if number == 1 + 4 * LATEST:
            small = len(text(state))
    assert len(state.pace.seconds["ada"]) == LATEST
    assert len(text(state)) < 1.1 * small


# In a campaign


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the test's own, in which a snapshot is kept after every tenth event."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(live, "SNAPSHOT_AFTER", 10)
    return tmp_path / "home"


@pytest.fixture
def kept(folder: Path, clock: Any, own: Path) -> Path:
    """The folder of a campaign of which there is a snapshot."""
    with Campaign.open(folder, now=clock) as campaign:
        campaign.tell(told(campaign.ask(12, by="ann")), by="ann")
        campaign.close_due()
    assert files()
    return folder


def go_on(campaign: Campaign) -> None:
    """As many events as there must be before another snapshot is kept."""
    id = next(iter(campaign.state.rows))
    for k in range(len(campaign.state.rows)):
        campaign.comment(id, "x", by=f"person {k}")


def files() -> list[Path]:
    return list(user_cache().rglob(FILE))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of all events that are read from ledgers."""
    numbers: list[int] = []
    read = store._read

    def counted(*args: Any) -> list[Recorded]:
        found = read(*args)
        numbers.extend(one.number for one in found)
        return found

    monkeypatch.setattr(store, "_read", counted)
    return numbers


@pytest.fixture
def pragmas(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often SQLite checks the whole file."""
    done: list[str] = []
    check = store.Ledger.check_file

    def counted(ledger: store.Ledger) -> None:
        done.append(ledger.address)
        check(ledger)

    monkeypatch.setattr(store.Ledger, "check_file", counted)
    return done


def test_opening_reads_only_the_events_after_the_snapshot(
    kept: Path, clock: Any, reads: list[int], pragmas: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "SMALL", 0)  # as for a large ledger
    with Campaign.open(kept, now=clock) as campaign:
        last = campaign.ledger.last(campaign.id).number
        assert campaign.status().spent == 12
        assert (reads, pragmas) == ([], [])
        campaign.tell(told(campaign.ask(2, by="ann")), by="ann")
    new = list(dict.fromkeys(reads))
    assert new == list(range(last + 1, max(new) + 1))
    reads.clear()
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.status().spent == 14
        assert reads == new and not pragmas
        assert campaign.state == replayed(campaign)


def test_a_state_of_many_events_is_kept_again_only_after_as_many_as_it_has_rows(
    kept: Path, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = files()
    monkeypatch.setattr(live, "SNAPSHOT_AFTER", 3)
    for enough in (False, True):
        before = file.read_bytes()
        with Campaign.open(kept, now=clock) as campaign:
            rows = len(campaign.state.rows)
            for _ in range(rows - 1 if not enough else 1):
                campaign.comment("1000" if "1000" in campaign.state.rows else next(iter(campaign.state.rows)), "x",
                                 by=f"ann {campaign.state.last}")  # fmt: skip
        assert (file.read_bytes() != before) == enough


def test_without_a_snapshot_the_file_is_checked_and_every_event_read(
    folder: Path, clock: Any, own: Path, reads: list[int], pragmas: list[str]
) -> None:
    with Campaign.open(folder, now=clock) as campaign:
        campaign.ask(3, by="ann")
        assert reads[0] == 1 and len(pragmas) == 1
    assert not files()


@pytest.mark.parametrize(
    "damage",
    [
        "cut",
        "flipped",
        "empty",
        "no JSON",
        "other format",
        "other ledger",
        "other root",
        "other file",
        "event missing",
        "other hash",
        "writable by others",
        "behind the head",
        "nested",
        "odd budget",
        "a pipe",
        "a folder",
    ],
)
def test_a_snapshot_that_does_not_fit_is_passed_over(kept: Path, clock: Any, reads: list[int], damage: str) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        before = campaign.status()
        root, last, state = campaign._live._root, campaign._live.last, campaign.state
        address, id, head = campaign.ledger.address, campaign.id, campaign._live._head
        which = campaign.ledger.file
    assert last is not None
    (file,) = files()
    content = file.read_bytes()
    state = restored(state)
    state.spent = 999  # it would be seen
    if damage == "odd budget":
        state.budget = "x"  # type: ignore[assignment]
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage in ("a pipe", "a folder"):
        file.unlink()
        os.mkfifo(file) if damage == "a pipe" else file.mkdir()
    elif damage in ("no JSON", "nested"):
        broken = b"{" if damage == "no JSON" else b"[" * 100_000
        file.write_bytes(snapshot.hashlib.sha256(broken).hexdigest().encode() + b"\n" + broken)
    elif damage == "other format":
        with pytest.MonkeyPatch.context() as earlier:
            earlier.setattr(snapshot, "FORMAT", "0.0.1 1")
            assert snapshot.SnapshotFile(address, id).write(root, which, last, state)
    elif damage == "other ledger":
        other = snapshot.SnapshotFile("elsewhere", id)
        assert other.write(root, which, last, state)
        (other._cache.path / FILE).replace(file)
    else:
        wrong = {
            "other root": ("0" * 64, which, last),
            "other file": (root, (1, 2), last),
            "event missing": (root, which, Link(last.id + 9, last.number + 9, last.hash)),
            "other hash": (root, which, Link(last.id, last.number, "0" * 64)),
        }
        assert snapshot.SnapshotFile(address, id).write(*wrong.get(damage, (root, which, last)), state)
        if damage == "writable by others":
            file.parent.chmod(0o777)
        elif damage == "behind the head":
            head.write(Link(0, 3, "0" * 64))
    reads.clear()
    with Campaign.open(kept, now=clock) as campaign:
        if damage == "behind the head":  # and that head is of another ledger
            with pytest.raises(StoreError, match="event 3 of the ledger is not the one"):
                campaign.status()
        else:
            assert campaign.status() == before
        assert reads[0] == 1


def test_a_snapshot_of_events_that_were_lost_since_is_not_used(kept: Path, clock: Any, own: Path) -> None:
    """Somebody restored an older copy of the folder, which has fewer events."""
    if not (kept / "ledger.sqlite").exists():
        pytest.skip("one restores a file")
    old = shutil.copytree(kept, kept.parent / "old")
    with Campaign.open(kept, now=clock) as campaign:
        campaign.tell(told(campaign.ask(12, by="ann")), by="ann")
    shutil.rmtree(kept)
    old.rename(kept)
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.status().spent == 12
        assert campaign.state == replayed(campaign)


def test_nothing_in_a_campaigns_folder_is_taken_for_a_snapshot(kept: Path, clock: Any, reads: list[int]) -> None:
    (file,) = files()
    for folder in (kept, kept / "cache"):
        folder.mkdir(exist_ok=True)
        shutil.copy(file, folder / FILE)
    file.unlink()
    reads.clear()
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.status().spent == 12 and reads[0] == 1


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null"])
def test_without_a_place_for_it_everything_goes_on(
    folder: Path, clock: Any, own: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    for _ in range(2):
        with Campaign.open(folder, now=clock) as campaign:
            campaign.tell(told(campaign.ask(12, by="ann")), by="ann")
            campaign.close_due()
    with Campaign.open(folder, now=clock) as campaign:
        assert campaign.status().spent == 24


def test_nobody_brings_back_a_snapshot_that_was_dropped_until_every_event_was_read(
    folder: Path, clock: Any, own: Path, reads: list[int]
) -> None:
    first = Campaign.open(folder, now=clock)
    first.tell(told(first.ask(12, by="ann")), by="ann")  # before there is any snapshot
    with Campaign.open(folder, now=clock) as second:
        second.status()
        second.keep()
        assert files()
        second._live.drop()
        assert not files()
        go_on(second)
    first.close()
    assert not files()
    for again in (False, True):  # the first of these reads every event, and finds them whole
        reads.clear()
        with Campaign.open(folder, now=clock) as campaign:
            campaign.status()
        assert len(files()) == 1 and (1 not in reads) == again


def test_damage_that_is_seen_again_outlasts_a_look_before(kept: Path, clock: Any) -> None:
    with Campaign.open(kept, now=clock) as watching:
        watching.status()
        watching._live.drop()
        with Campaign.open(kept, now=clock) as campaign:
            campaign.status()
            watching._live.drop()
        assert not files()


def test_a_snapshot_beside_a_mark_is_not_used(kept: Path, clock: Any, reads: list[int]) -> None:
    """A process can write one at the moment in which another finds damage."""
    (file,) = files()
    content = file.read_bytes()
    with Campaign.open(kept, now=clock) as campaign:
        campaign._live.drop()
    file.write_bytes(content)
    reads.clear()
    with Campaign.open(kept, now=clock) as campaign:
        assert campaign.status().spent == 12 and reads[0] == 1


def test_a_snapshot_keeps_its_texts_as_they_are(kept: Path, clock: Any, reads: list[int]) -> None:
    with Campaign.open(kept, now=clock) as campaign:
        go_on(campaign)
        campaign.comment(next(iter(campaign.state.rows)), "größer \U0001f600", by="ann")
    (file,) = files()
    text = file.read_text(encoding="utf-8")
    assert "größer \U0001f600" in text and "\\u" not in text


def test_the_head_is_not_behind_what_is_kept(kept: Path, clock: Any) -> None:
    """Others, on other machines, may have written what this user read: the head in this folder does not know it."""
    with Campaign.open(kept, now=clock) as campaign:
        head = campaign._live._head
        early = head.read()
        assert early is not None
        go_on(campaign)
        head.write(early)
    late = head.read()
    assert late is not None and late.number > early.number


def test_a_ledger_is_read_in_parts(folder: Path, clock: Any, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign.open(folder, now=clock) as campaign:
        campaign.tell(told(campaign.ask(12, by="ann")), by="ann")
        every = campaign.ledger.events(campaign.id)
        for size in (1, 2, 5, len(every), 100):
            monkeypatch.setattr(store, "PART", size)
            parts = list(campaign.ledger.parts(campaign.id))
            assert [one for part in parts for one in part] == every and max(map(len, parts)) <= size
            with Campaign.open(folder, now=clock) as again:
                assert again.state == campaign.state


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Files that a test made writable for others are its own again."""
    yield
    for folder in user_cache().glob("ledger-*"):
        folder.chmod(0o700)

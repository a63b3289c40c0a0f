"""The ledger is deleted, replaced and put back at random moments, while workers tell without pause."""

import random
import shutil
import sqlite3
import subprocess
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from faults.forks import context, end, start
from faults.replay import replay
from faults.scene import Notes, begin, read_notes, truth

WORKERS = 8
ENDS = ("", "-wal", "-shm")
PATIENCE = 30.0
"""Seconds within which somebody must have saved what was there."""


@dataclass
class Replaced:
    """What came of it: incidents by kind, answers acknowledged and lost, ledgers saved, refusals, and all faults."""

    incidents: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: int = 0
    saved: int = 0
    refused: int = 0
    """Calls that were refused because the ledger was not in its place."""
    faults: list[str] = field(default_factory=list)


def replace(
    scratch: Path, *, incidents: int, seconds: float, chance: random.Random, tick: Callable[[float], None],
    budget: int = 3000, workers: int = WORKERS,
) -> Replaced:  # fmt: skip
    """Workers at work, one incident after the other, and in the end every acknowledged answer looked for."""
    folder = begin(scratch, budget=budget, planned=budget, pool=budget + 200)
    other = begin(scratch / "another", budget=10)
    notes, refused, result = scratch / "notes", context.RawArray("i", workers), Replaced()
    notes.mkdir()
    attack = Attack(folder, other, scratch)
    result.faults += [f"{kind}: {why}" for kind in WRITTEN_OVER for why in written_over(scratch, kind)]
    children = []
    try:
        for at in range(workers):
            file, seed = notes / f"worker-{at:02d}", chance.randrange(2**32)
            children.append(start(tell_on, folder, at, file, refused, seed))
        begun = time.monotonic()
        for number in range(incidents):
            time.sleep(max(0.0, begun + seconds * number / incidents + chance.uniform(0, 0.5) - time.monotonic()))
            kind = list(KINDS)[number % len(KINDS)]
            attack.remember()
            KINDS[kind](attack, chance)
            result.incidents[kind] += 1
            why = attack.repair(kind)
            if why:
                result.faults.append(f"{kind}: {why}")
            tick(time.monotonic() - begun)
        time.sleep(2)  # all of them have seen the last one
    finally:
        for child in children:
            end(child)
    result.refused = sum(refused)
    _check(folder, notes, attack, result)
    return result


class Attack:
    """What is done to the ledger of a campaign, and how it is put right again."""

    def __init__(self, folder: Path, other: Path, scratch: Path) -> None:
        self.folder, self.ledger, self.other = folder, folder / "ledger.sqlite", other / "ledger.sqlite"
        self.older, self.at_work = scratch / "older.sqlite", scratch / "at-work"

    def remember(self) -> None:
        """A copy of the ledger as it is."""
        self.older.unlink(missing_ok=True)
        with closing(sqlite3.connect(self.ledger, timeout=60)) as here, closing(sqlite3.connect(self.older)) as copy:
            here.backup(copy)
        time.sleep(0.2)  # so that it is older

    def beside(self, end: str) -> Path:
        return self.ledger.with_name(self.ledger.name + end)

    def away(self, chance: random.Random) -> None:
        self.ledger.rename(self.folder / "away")
        time.sleep(chance.uniform(0.0, 0.5))
        (self.folder / "away").rename(self.ledger)

    def folder_away(self, chance: random.Random) -> None:
        self.folder.rename(self.folder.with_name("elsewhere"))
        time.sleep(chance.uniform(0.0, 0.5))
        if self.folder.exists():  # nobody may make it anew
            raise AssertionError("the folder is back")
        self.folder.with_name("elsewhere").rename(self.folder)

    def delete(self, chance: random.Random) -> None:
        self.ledger.unlink()

    def delete_all(self, chance: random.Random) -> None:
        for name in chance.sample(ENDS, 3):
            self.beside(name).unlink(missing_ok=True)

    def put_older(self, chance: random.Random) -> None:
        shutil.copy(self.older, self.folder / "copied")
        (self.folder / "copied").rename(self.ledger)

    def put_older_alone(self, chance: random.Random) -> None:
        self.put_older(chance)
        for name in ENDS[1:]:
            self.beside(name).unlink(missing_ok=True)

    def put_another(self, chance: random.Random) -> None:
        shutil.copy(self.other, self.folder / "copied")
        (self.folder / "copied").rename(self.ledger)

    def delete_latest(self, chance: random.Random) -> None:
        self.beside("-wal").unlink(missing_ok=True)

    def repair(self, kind: str) -> str:
        """Do what the message says; why that is not possible, or ""."""
        if kind in BACK:
            return ""  # other files may be new: whoever opens a ledger makes what is missing beside it
        until = time.monotonic() + PATIENCE
        while not (saved := self.saved()):
            if time.monotonic() > until:
                shutil.copy(self.older, self.ledger)
                return "nobody saved the ledger"
            time.sleep(0.02)
        time.sleep(0.5)  # others who save what they have
        best = max(self.saved() or saved, key=events_in)
        for name in ENDS[1:]:
            self.beside(name).unlink(missing_ok=True)
        shutil.copy(best, self.folder / "best")
        (self.folder / "best").rename(self.ledger)
        return ""

    def saved(self) -> list[Path]:
        return [path for path in self.folder.glob("ledger.rescued-*.sqlite") if events_in(path)]


KINDS: dict[str, Callable[[Attack, random.Random], None]] = {
    "moved away and back": Attack.away,
    "deleted": Attack.delete,
    "folder moved away and back": Attack.folder_away,
    "replaced by an older copy": Attack.put_older,
    "deleted with what is beside it": Attack.delete_all,
    "replaced by an older copy, the rest deleted": Attack.put_older_alone,
    "replaced by another campaign's": Attack.put_another,
    "its latest writes deleted": Attack.delete_latest,
}

BACK = ("moved away and back", "folder moved away and back")
"""After these, everything is where it was."""


WRITTEN_OVER = {
    "a copy made at work was copied over it": 'cp -r "$1/." "$0"',
    "its latest writes were cut off": 'truncate -s 0 "$0/ledger.sqlite-wal"',
    "its latest writes were written over with zeros": (
        'n=$(wc -c < "$0/ledger.sqlite-wal"); head -c $n /dev/zero | dd of="$0/ledger.sqlite-wal" conv=notrunc'
    ),
}
"""What a shell does to the folder $0, of which $1 is an earlier copy. What it destroys is gone, and that is said."""


def written_over(scratch: Path, kind: str) -> list[str]:
    """After the files were written over, no call is acknowledged, by the same `Campaign`, until they are put back."""
    from unskew.campaigns import Campaign
    from unskew.errors import LedgerReplaced

    folder = begin(scratch / f"over-{list(WRITTEN_OVER).index(kind)}", budget=40)
    copy, whole, faults = folder.with_name("copy"), folder.with_name("whole"), []
    with suppress(LedgerReplaced), Campaign.open(folder) as campaign:
        ids = [row.id for row in campaign.ask(12, by="ann")]
        campaign.tell({ids[0]: truth(ids[0])}, by="ann")
        subprocess.run(["cp", "-r", folder, copy], check=True)
        for id in ids[1:6]:
            campaign.tell({id: truth(id)}, by="ann")
        subprocess.run(["cp", "-r", folder, whole], check=True)
        subprocess.run(["sh", "-c", WRITTEN_OVER[kind], folder, copy], check=True, capture_output=True)
        for id in ids[6:]:
            for call in (lambda id=id: campaign.tell({id: truth(id)}, by="ann"), campaign.answers, campaign.status):
                try:
                    call()
                    faults.append("a call was answered")
                except LedgerReplaced:
                    pass
    for path in folder.glob("ledger.sqlite*"):
        path.unlink()
    for path in whole.glob("ledger.*"):
        shutil.copy(path, folder)
    with Campaign.open(folder) as campaign:
        if {given.row.id for given in campaign.answers()} != set(ids[:6]):
            faults.append("a copy that was whole does not hold all answers")
    return faults


def events_in(path: Path) -> int:
    """The number of events in a ledger that nobody writes to."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as ledger:
        return int(ledger.execute("SELECT count(*) FROM events").fetchone()[0])
    return 0


def tell_on(folder: Path, at: int, notes: Path, refused: "list[int]", seed: int) -> None:
    """Ask and tell without pause until killed, in one process; come back to the campaign after each refusal."""
    from unskew.campaigns import Campaign
    from unskew.errors import LedgerReplaced, UnskewError

    chance, said = random.Random(seed), Notes(notes)
    campaign, name = None, f"worker-{at:02d}"
    while True:
        try:
            campaign = campaign or Campaign.open(folder, patience=5)
            answers = {row.id: truth(row.id) for row in campaign.hand_out(2, by=name)}
            campaign.tell(answers, by=name)
            said.taken(answers)
        except UnskewError as error:
            refused[at] += isinstance(error, LedgerReplaced)
            if campaign is not None and chance.random() < 0.3:  # others go on with the campaign they have
                with suppress(UnskewError):
                    campaign.close()
                campaign = None
            time.sleep(0.05)
        except BaseException:
            said.odd(traceback.format_exc())
            return


def _check(folder: Path, notes: Path, attack: Attack, result: Replaced) -> None:
    """Every acknowledged answer is in the ledger, or in one that was saved, as a program of its own reads them."""
    said, result.acknowledged, odd = read_notes(notes)
    result.faults += odd
    state = replay(folder)
    result.faults += state.faults
    labels = [state.labels]
    for k, path in enumerate(attack.saved()):
        result.saved += 1
        copy = notes.parent / f"saved-{k}"
        copy.mkdir()
        (copy / "campaign.json").write_text((folder / "campaign.json").read_text())
        shutil.copy(path, copy / "ledger.sqlite")
        again = replay(copy)
        result.faults += again.faults
        labels.append(again.labels)
    missing = [id for id, label in said.items() if not any(found.get(id) == label for found in labels)]
    result.lost = len(missing)
    result.faults += [f"row {id!r} was acknowledged as {said[id]!r} and is lost" for id in missing]

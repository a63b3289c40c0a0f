"""Campaigns that are being prepared on the page: their tables, what was chosen, and the work on them.

A draft lives as long as the server. Its uploaded files are in a folder of their own, which goes when the campaign was
begun, when the draft is discarded, and when the server stops.
"""

import re
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from starlette.concurrency import run_in_threadpool

from unskew.campaigns.ledger.arrangement import ARRANGED
from unskew.campaigns.ledger.people import LONGEST_NAME, NAME_PATTERN
from unskew.campaigns.tables.files import BINARY, SEPARATORS
from unskew.errors import InputError
from unskew.kept import nearly_all
from unskew.web import draft_work
from unskew.web.jobs import Job
from unskew.web.start_models import Beginning, Choices, DraftShown, FileShown, JobShown
from unskew.web.wording import on_page
from unskew.writing import unwritable

Role = Literal["log", "pool"]

UPLOADS = ".uploads"
OLD = 24 * 3600
"""Seconds after which files that a killed server left behind are removed."""
MOST = 20
"""The most drafts at once."""
ROLES = ("label", "id", "propensity", "policy")
"""What a column may be for, if a model is not to learn from it as it is."""
ENDINGS = (*SEPARATORS, *BINARY)
WORDS = {
    "understand": "Reading the tables",
    "audit": "Examining the log",
    "begin": "Reading the tables and fitting the first model",
}
NAME_RULE = f"begins with a letter, digit or underscore and has at most {LONGEST_NAME} characters, none of them a slash"


def checked_name(name: str) -> str:
    """The name of a new campaign, which becomes its folder, or a refusal."""
    bare = name.strip()
    whole = re.fullmatch(NAME_PATTERN, bare) and "/" not in bare and "\\" not in bare and bare.isprintable()
    if not whole or len(bare) > LONGEST_NAME or len(bare.encode()) > 200:
        raise InputError(f"the name of a campaign {NAME_RULE}; got {name!r:.60}. Choose another.")
    return bare


@dataclass
class Upload:
    """A file that came in: what its owner called it, and where it is."""

    name: str
    path: Path
    bytes: int


@dataclass
class Draft:
    """A campaign that is being prepared."""

    id: str
    name: str
    house: Path
    files: dict[Role, list[Upload]] = field(default_factory=lambda: {"log": [], "pool": []})
    log_paths: list[str] = field(default_factory=list)
    pool_path: str = ""
    choices: dict[str, Any] = field(default_factory=lambda: Choices(guess=True).model_dump())
    columns: dict[str, Any] | None = None
    audit: str | None = None
    job: Job | None = None
    begun: bool = False
    note: str = ""

    @property
    def folder(self) -> Path:
        """Where its uploaded files are."""
        return self.house / UPLOADS / self.id

    @property
    def dir(self) -> Path:
        """The folder of the campaign."""
        return self.house / self.name

    def rename(self, name: str) -> None:
        """Call it something else. A name that is taken is refused."""
        self.check_idle()
        name = checked_name(name)
        if (self.house / name).exists():
            raise InputError(f"there is a folder {name!r} already. Choose another name.")
        self.name = name

    def check_idle(self) -> None:
        """Refuse changes while there is work on it, or when it has become a campaign."""
        if self.begun:
            raise InputError(f"{self.name!r} has begun already. Open its page.")
        if self.job is not None and self.job.running:
            raise InputError("the page is still at work on this. Wait, or cancel it.")

    def place(self, role: Role, name: str) -> Path:
        """Where an uploaded file is to be. Only letters and digits of its name are kept, and its ending."""
        self.check_idle()
        end = next((end for end in ENDINGS if name.lower().endswith(end)), None)
        if end is None:
            raise InputError(
                f"{name!r:.80} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}. Save the table in one of these "
                "formats and upload it again."
            )
        stem = re.sub(r"[^\w-]+", "-", name[: -len(end)], flags=re.ASCII).strip("-")[:60] or role
        taken = {one.path.name for one in self.files[role]}
        free = next(one for k in range(1, 10_000) if (one := f"{stem}{'' if k == 1 else f'-{k}'}{end}") not in taken)
        return self.folder / role / free

    def add(self, role: Role, upload: Upload) -> None:
        """A file came in whole."""
        self.files[role].append(upload)
        self._forget()

    def remove(self, role: Role, name: str) -> bool:
        """Drop an uploaded file; False if there is none of that name."""
        self.check_idle()
        gone = [one for one in self.files[role] if one.name == name]
        self.files[role] = [one for one in self.files[role] if one.name != name]
        for one in gone:
            one.path.unlink(missing_ok=True)
        self._forget()
        return bool(gone)

    def set_paths(self, log: list[str], pool: str) -> None:
        """Name tables on the server."""
        self.check_idle()
        log, pool = [path.strip() for path in log if path.strip()], pool.strip()
        if (log, pool) != (self.log_paths, self.pool_path):
            self.log_paths, self.pool_path = log, pool
            self._forget()

    def _forget(self) -> None:
        """Other tables: what was understood no longer holds."""
        self.choices, self.columns, self.audit = Choices(guess=True).model_dump(), None, None

    @property
    def renamed(self) -> dict[str, str]:
        """What their owners call the uploaded files, by path."""
        files = {str(one.path): one.name for uploads in self.files.values() for one in uploads}
        return {**files, str(self.folder / "pool"): "the pool", str(self.house / self.name): self.name}

    def tables(self) -> tuple[Any, str]:
        """Log and pool, as `Campaign.create` takes them; or what is missing."""
        logs = [*(str(one.path) for one in self.files["log"]), *self.log_paths]
        pools = self.files["pool"]
        if not logs:
            raise InputError("there is no log yet. Upload one, or name its path on the server.")
        if not pools and not self.pool_path:
            raise InputError("there is no pool yet. Upload one, or name its path on the server.")
        if pools and self.pool_path:
            raise InputError("the pool is both uploaded and named by a path. Remove one of them.")
        pool = self.pool_path or str(pools[0].path if len(pools) == 1 else self.folder / "pool")
        return logs[0] if len(logs) == 1 else logs, pool

    def _columns(self) -> dict[str, Any]:
        """What was chosen, as `Campaign.create` takes it."""
        chosen = {name: value for name, value in self.choices.items() if name != "guess"}
        return {**chosen, "classes": chosen["classes"] or None}

    def _known(self) -> dict[str, Any]:
        """How the columns are understood; a refusal if that is not known or they cannot be used."""
        if self.columns is None:
            raise InputError("the tables have not been read yet. Read them first.")
        if self.columns["problem"]:
            raise InputError(self.columns["problem"])
        return self.columns

    def understand(self, choices: Choices) -> None:
        """Begin to read the tables with these choices."""
        self.check_idle()
        log, pool = self.tables()
        chosen = choices.model_dump()
        special = {chosen[role] for role in ROLES}
        types = {name: kind for name, kind in chosen["types"].items() if name not in special}
        self.choices = {**chosen, "types": types}

        def then(found: dict[str, Any]) -> None:
            for each in (found, *found["columns"]):
                each["problem"] = on_page(each["problem"], self.renamed)
            for column in found["columns"]:
                column["left_out"] = on_page(column["left_out"], self.renamed)
            roles = {role: found[role] for role in ROLES}
            self.columns, self.audit = found, None
            self.choices = {**self.choices, **roles, "guess": False}

        self._run("understand", draft_work.understand, (log, pool, {**self._columns(), "guess": chosen["guess"]}), then)

    def examine(self) -> None:
        """Begin the audit of the log."""
        self.check_idle()
        (log, pool), known = self.tables(), self._known()
        chosen = self._columns()
        columns = {name: chosen[name] for name in ("label", "propensity", "policy", "types")}
        in_log = [column["name"] for column in known["columns"] if column["missing"] is not None]
        columns["id"] = chosen["id"] if chosen["id"] in in_log else None
        if chosen["propensity"] is None and nearly_all(sum(known["classes"].values()), known["log_rows"]):
            columns["pool"] = pool  # a log of labelled rows only is compared with it
        name = ", ".join([*(one.name for one in self.files["log"]), *(Path(path).name for path in self.log_paths)])

        def then(page: str) -> None:
            self.audit = page

        self._run("audit", draft_work.audit, (log, name, self.renamed, columns), then)

    def begin(self, how: Beginning, by: str) -> None:
        """Begin to make the campaign."""
        self.check_idle()
        (log, pool), _ = self.tables(), self._known()
        self.rename(self.name)  # somebody may have taken the name meanwhile
        given = {**self._columns(), **how.model_dump()}
        arrangement = {name: given.pop(name) for name in ARRANGED if name in given}

        def then(note: str) -> None:
            self.begun, self.note = True, note
            self.clear()

        uploaded = bool(self.files["pool"])
        self._run("begin", draft_work.begin, (self.dir, by, log, pool, uploaded, given, arrangement), then)

    def _run(self, what: str, work: Callable[..., Any], args: tuple[Any, ...], then: Callable[[Any], None]) -> None:
        try:
            self.job = Job(what, work, args, then)
        except OSError as error:
            raise InputError(f"no process can be started for this: {error.strerror}. Try again later.") from None

    def clear(self) -> None:
        """Remove its uploaded files."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            self.folder.parent.rmdir()  # if it is empty

    def cancel(self) -> None:
        """End the work on it. What it left is removed."""
        if self.job is not None and self.job.running:
            self.job.cancel()
            if self.job.what == "begin" and not self.begun:
                draft_work.clear(self.dir)

    def shown(self, path: str) -> DraftShown:
        """Everything about it; `path` is the one of its pages, once it has begun."""
        files = {role: [FileShown(name=u.name, bytes=u.bytes) for u in ups] for role, ups in self.files.items()}
        return DraftShown(
            id=self.id,
            name=self.name,
            log=files["log"],
            pool=files["pool"],
            log_paths=self.log_paths,
            pool_path=self.pool_path,
            choices=Choices(**self.choices),
            columns=self.columns,
            audited=self.audit is not None,
            job=self._job_shown(),
            begun=path if self.begun else None,
            note=self.note,
        )

    def _job_shown(self) -> JobShown | None:
        job = self.job
        if job is None:
            return None
        told = on_page(job.problem, self.renamed)
        return JobShown(
            what=job.what, state=job.state, words=WORDS[job.what], done=job.done, total=job.total, problem=told
        )


class Drafts:
    """All drafts of a house."""

    def __init__(self, house: Path) -> None:
        self.house = house
        self._drafts: dict[str, Draft] = {}

    def clean(self) -> None:
        """Remove uploads that a killed server left behind, if they are old: another server may be at work."""
        uploads = self.house / UPLOADS
        with suppress(OSError):
            # What a link leads to is not ours.
            for path in [] if uploads.is_symlink() else uploads.iterdir():
                if time.time() - path.stat().st_mtime > OLD:
                    shutil.rmtree(path, ignore_errors=True)

    def all(self) -> list[Draft]:
        """Those that have not become campaigns."""
        return [draft for draft in self._drafts.values() if not draft.begun]

    def find(self, id: str) -> Draft | None:
        return self._drafts.get(id)

    def new(self, name: str) -> Draft:
        """Prepare a campaign of that name."""
        if len(self.all()) >= MOST:
            raise InputError(f"{MOST} campaigns are being prepared, and that is the most. Begin or discard some.")
        draft = Draft(secrets.token_hex(8), "", self.house)
        draft.rename(name)
        uploads = self.house / UPLOADS
        if uploads.is_symlink():
            raise InputError(f"{uploads} is a link, and no file is uploaded through it. Remove it.")
        try:
            for role in ("log", "pool"):
                (draft.folder / role).mkdir(parents=True)
        except OSError as error:
            raise unwritable(self.house, error) from None
        self._drafts[draft.id] = draft
        return draft

    def discard(self, id: str) -> None:
        """Drop a draft and its files."""
        draft = self._drafts.pop(id)
        draft.cancel()
        draft.clear()

    async def close(self) -> None:
        """End all work, and remove all uploads."""
        for id in list(self._drafts):
            await run_in_threadpool(self.discard, id)

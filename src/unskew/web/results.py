"""Results of a campaign, made on demand: report, audit, model, ledger, predictions; and new rows for its pool."""

import re
import tempfile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from unskew.campaigns.tables.files import BINARY, SEPARATORS
from unskew.errors import InputError
from unskew.web import result_work
from unskew.web.jobs import Job
from unskew.web.wording import on_page

What = Literal["report", "audit", "export", "predictions", "extension"]
KINDS = {
    "report.html": "text/html; charset=utf-8",
    "audit.html": "text/html; charset=utf-8",
    "model.zip": "application/zip",
    "ledger.parquet": "application/octet-stream",
    "predictions.csv": "text/csv; charset=utf-8",
}
"""The files there may be, and their types."""
ENDINGS = (*SEPARATORS, *BINARY)


class Result(BaseModel):
    """A result: whether it is being made, and its files. While `total` is 0, nobody knows how long it takes."""

    what: What
    state: Literal["running", "done", "failed", "cancelled"]
    done: int
    total: int
    problem: str
    files: list[str] = Field(description="Their names, under /results/.")


class Results:
    """Makes results, each in a process of its own, and keeps the latest of each as long as the server runs."""

    def __init__(self, dir: Path) -> None:
        self._dir = dir
        self._jobs: dict[What, Job] = {}
        self._files: dict[What, list[str]] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def folder(self) -> Path:
        """Where they are, for as long as the server runs."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="unskew-results-")
        return Path(self._folder.name)

    def begin(self, what: What, *args: Any) -> Result:
        """Begin to make a result, unless it is being made."""
        self.check_idle(what)
        self._files[what] = []
        work = getattr(result_work, what)
        self._jobs[what] = Job(what, work, (self._dir, self.folder, *args), lambda files: self._made(what, files))
        return self.shown(what)

    def check_idle(self, what: What) -> None:
        """Refuse to begin what is being made."""
        if what in self._jobs and self._jobs[what].running:
            raise InputError("this is being made already. Wait for it.")

    def place(self, what: What, name: str) -> Path:
        """Where an uploaded file is to be. Only its ending is kept of its name."""
        end = next((end for end in ENDINGS if name.lower().endswith(end)), None)
        if end is None:
            raise InputError(f"{name!r:.80} must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}. Choose another.")
        self.check_idle(what)
        return self.folder / f"{what}-rows{end}"

    def _made(self, what: What, files: list[str]) -> None:
        self._files[what] = files

    def shown(self, what: What) -> Result:
        """How far a result is."""
        job = self._jobs[what]
        problem = re.sub(re.escape(str(self.folder)) + r"/\w+-rows[\w.]*", "the file", on_page(job.problem))
        return Result(
            what=what, state=job.state, done=job.done, total=job.total, problem=problem, files=self._files[what]
        )

    def all(self) -> list[Result]:
        """All results that somebody asked for."""
        return [self.shown(what) for what in self._jobs]

    def file(self, name: str) -> Path | None:
        """The file of that name, if it is there."""
        made = any(name in files for files in self._files.values())
        return self.folder / name if made and name in KINDS else None

    def close(self) -> None:
        """End the work, and remove all files."""
        for job in self._jobs.values():
            job.cancel()
        if self._folder is not None:
            self._folder.cleanup()

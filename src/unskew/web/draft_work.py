"""The slow work between two tables and a campaign: each function runs in a process of its own."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from unskew.campaigns import Campaign
from unskew.campaigns.folder import Folder
from unskew.campaigns.options import filled_in
from unskew.campaigns.start_options import START
from unskew.errors import UnskewError
from unskew.web.jobs import Report
from unskew.web.wording import on_page

POOL = "pool"
"""The folder, in a campaign's, of an uploaded pool that stays in its files."""


def understand(report: Report, log: Any, pool: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns as they are understood."""
    from unskew.campaigns.tables.understanding import understood

    return understood(log, pool, **columns, progress=report).as_dict()


def audit(report: Report, log: Any, name: str, files: Mapping[str, str], columns: Mapping[str, Any]) -> str:
    """The audit of the log, as a page."""
    from unskew.campaigns.audit.findings import Finding
    from unskew.campaigns.audit.log_audit import audit_log
    from unskew.campaigns.report.audit_page import html

    found = audit_log(log, **columns, progress=report)
    found = replace(
        found,
        findings=tuple(Finding(*(on_page(words, files) for words in one)) for one in found.findings),
        left_out={column: on_page(why, files) for column, why in found.left_out.items()},
    )
    return html(found, name)


def begin(
    report: Report,
    dir: Path,
    by: str,
    log: Any,
    pool: str,
    uploaded: bool,
    given: Mapping[str, Any],
    arrangement: Mapping[str, Any],
) -> str:
    """Make the campaign. Returns what went wrong after it was there, if something did."""
    from unskew.campaigns.tables.pool_files import files_that_stay

    stay = uploaded and files_that_stay(pool) is not None
    try:
        source = _keep(pool, dir / POOL) if stay else pool
        options: Any = {**filled_in(START, given), "log": log, "pool": source}
        campaign = Campaign.create(dir, progress=report, **options)
    except BaseException:
        if not Folder(dir).marker.exists():
            clear(dir)
        raise
    with campaign:
        try:
            campaign.arrange(by=by, **arrangement)
        except UnskewError as error:
            return str(error)
        return ""


def _keep(pool: str, folder: Path) -> str:
    """The uploaded files of a pool in the campaign's own folder, from where they are read as long as it runs."""
    folder.mkdir(parents=True)
    found = Path(pool)
    for path in sorted(found.iterdir()) if found.is_dir() else [found]:
        try:
            os.link(path, folder / path.name)
        except OSError:  # a file system without links
            shutil.copyfile(path, folder / path.name)
    return str(folder) if found.is_dir() else str(folder / found.name)


def clear(dir: Path) -> None:
    """Remove what is left of a campaign that was not finished. The folder was not there before it."""
    Folder(dir).abandon()
    if not Folder(dir).unfinished.exists():  # else another process makes a campaign there
        shutil.rmtree(dir / POOL, ignore_errors=True)
        with suppress(OSError):
            dir.rmdir()

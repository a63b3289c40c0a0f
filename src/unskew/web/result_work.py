"""The work behind a campaign's results, and behind new rows for its pool. Each runs in a process of its own."""

import shutil
from functools import partial
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

from unskew.campaigns import Campaign
from unskew.errors import InputError
from unskew.kept import nearly_all
from unskew.web.jobs import Report


def report(told: Report, dir: Path, out: Path) -> list[str]:
    """The report of the campaign, as `unskew report` writes it."""
    from unskew.campaigns.report.report import write_report

    with Campaign.open(dir) as campaign:
        campaign.watch(told)
        campaign.close_due()
        write_report(campaign, out / "report.html", overwrite=True)
    return ["report.html"]


def audit(told: Report, dir: Path, out: Path) -> list[str]:
    """The audit of the campaign's log, as `unskew audit` writes it."""
    from unskew.campaigns.audit.log_audit import audit_log
    from unskew.campaigns.report.audit_page import html

    with Campaign.open(dir) as campaign:
        settings = campaign.settings
        if settings.log_kept:
            raise InputError(
                f"only {settings.log_kept:,} of the log's {settings.log_rows:,} rows are kept, too few for an audit. "
                "Run `unskew audit` on its own files."
            )
        log, id = campaign.log_frame, settings.id
        alone = settings.propensity is None and nearly_all(settings.log_labelled, settings.log_rows)
        pool = campaign.pool_sample.drop(settings.label, strict=False) if alone else None  # labelled rows only
        found = audit_log(
            log, settings.label, settings.propensity, id if id in log.columns else None, policy=settings.policy,
            pool=pool, seed=settings.seed, types=settings.given, progress=told,
        )  # fmt: skip
        page = html(found, f"the log of {campaign.name}", campaign=campaign.name)
        (out / "audit.html").write_text(page, encoding="utf-8")
    return ["audit.html"]


def export(told: Report, dir: Path, out: Path) -> list[str]:
    """The model and the ledger, as `unskew export` writes them; the model's files as one archive."""
    from unskew.campaigns.exchange.export import export as write

    with Campaign.open(dir) as campaign:
        campaign.watch(told)
        done = write(campaign, out / "export", overwrite=True)
    with ZipFile(out / "model.zip", "w", ZIP_DEFLATED) as archive:
        for path in done.files:
            archive.write(path, Path(path).name)
    shutil.copyfile(out / "export" / "ledger.parquet", out / "ledger.parquet")
    return ["model.zip", "ledger.parquet"]


def predictions(told: Report, dir: Path, out: Path, rows: Path) -> list[str]:
    """Predictions for an uploaded file, as `unskew predict` writes them. The file is removed."""
    from unskew.campaigns.learning.predictions import output_for, predictions, put_predictions

    try:
        with Campaign.open(dir) as campaign:
            output = output_for(out / "predictions.csv", overwrite=True)
            put_predictions(predictions(campaign.model(), campaign.settings, str(rows), partial(told)), output)
    finally:
        rows.unlink(missing_ok=True)
    return ["predictions.csv"]


def extension(told: Report, dir: Path, out: Path, rows: Path, by: str) -> list[str]:
    """New rows for the pool from an uploaded file, as `unskew extend` adds them. The file is removed."""
    try:
        with Campaign.open(dir) as campaign:
            if campaign.folder.pool_files.exists():
                raise InputError(
                    "the pool of this campaign stays in its files, and the page would copy new ones. Put the new rows "
                    "beside those files and run `unskew extend`."
                )
            campaign.extend(str(rows), by=by, progress=told)
    finally:
        rows.unlink(missing_ok=True)
    return []

"""Makes the board of a year, from OpenReview to a release, on a schedule or on demand.

    fetch → write → score → validate → verdicts → publish → history

The stage *verdicts* decides which boards are published. A *roster* is a named list of models to rank.

Every stage continues where it was stopped, and does nothing if its work is done. So a run that was killed at any point
can be started again. If the caller names no year, the newest year whose reviews are public is used.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import HUMAN, build_signature_from_row, parse_edition_key
from gre_bench.core.settings import Settings, parse_settings
from gre_bench.pipeline.downloading import FetchJob, fetch_snapshot
from gre_bench.pipeline.refreshing import refresh, write_texts_ahead
from gre_bench.pipeline.runs.job import Job
from gre_bench.pipeline.runs.prefect_engine import DONE, PAUSED, run_deployed
from gre_bench.pipeline.validating import validate
from gre_bench.pipeline.validation_records import read_verdicts
from gre_bench.pipeline.year_models import check_model_keys_and_prices, set_board_year
from gre_bench.reports.board_pictures import create_board_artifact
from gre_bench.reports.board_rows import format_release_leader_sentence
from gre_bench.reports.history import compare_years
from gre_bench.reports.publish_editions import open_release_store, publish_edition
from gre_bench.store import find_editions
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.tasks import steps

SCORE, VALIDATE = "annual-refresh/score", "validate-metrics/validate-on-gpu"
"""The deployments that score and validate in the pool of GPUs, if `YearJob.gpu` is set."""

LOG = logging.getLogger("gre_bench.year")

YEARLY = "yearly"
"""The roster for a board whose settings name no candidates."""

Summary = dict[str, Any]


@dataclass(frozen=True, slots=True)
class YearJob:
    """The job that makes the board of a year.

    *gpu*: whether scoring and validation run in the work pool of GPUs, whose workers must see the same state folder.
    *reached*: (name, summary) of each stage that has run.
    """

    settings: Settings
    state: Path
    gpu: bool = False
    retry_failed: bool = False
    reached: tuple[tuple[str, Summary], ...] = ()

    @property
    def work(self) -> Job:
        """The `Job` to pass to each stage that refreshes this year's edition: it has this job's settings and state."""
        return Job(self.settings, self.state, retry_failed=self.retry_failed)


def year_job(
    venue: str, roster: str | None, year: int | None, settings: Settings, state: Path, gpu: bool, retry_failed: bool,
    on: date | None,
) -> YearJob:  # fmt: skip
    """Returns the job that makes the board of a venue's year.

    - *roster*: the name of a list of models to rank. None: the models that the settings name or, if they name none, the
      roster ``yearly``.
    - *year*: None stands for the newest year whose reviews are public on the day *on* (None: today).

    Raises `SettingsError` for an impossible request, before anything is sent.
    """
    given = settings.model_dump(exclude_unset=True)
    named = roster or (None if "candidates" in settings.writing.model_fields_set else YEARLY)
    chosen = parse_settings({**given, "roster": named}) if named else settings
    return YearJob(
        set_board_year(chosen, venue, year, on or datetime.now(UTC).date()), state.resolve(), gpu, retry_failed
    )


def make_yearly_board(
    job: YearJob, run_stage: Callable[[str, Callable[[], Summary]], Summary] = lambda _, stage: stage()
) -> Summary:
    """Makes the board and publishes it; returns a summary that contains those of all stages.

    Ends at the first stage that is not done. *run_stage*: a function that takes the name and the function of a stage,
    and returns the stage's summary. Raises `LMError` or `SettingsError`, before the first stage, if a model of the
    roster cannot be asked.
    """
    check_model_keys_and_prices(job.settings)
    for name, stage in STAGES.items():
        summary = run_stage(name, partial(stage, job))
        job = replace(job, reached=(*job.reached, (name, summary)))
        LOG.info("%s: %s %s", name, summary.get("outcome", DONE), summary.get("message", ""))
        if summary.get("outcome", DONE) != DONE:
            outcome, message = summary["outcome"], f"{name}: {summary.get('message', '')}"
            break
        if name == "fetch" and summary["snapshot"]:
            sources = job.settings.sources.model_copy(update={"snapshot": Path(summary["snapshot"])})
            job = replace(job, settings=job.settings.model_copy(update={"sources": sources}))
    else:
        published = dict(job.reached)["publish"]
        outcome = DONE if published["new"] else "unchanged"
        message = f"{published['release']}: {published['board']} {published['folder']}"
    return {"edition": job.work.store.key, "outcome": outcome, "message": message, "stages": dict(job.reached)}


def run_fetch_stage(job: YearJob) -> Summary:
    """Runs the stage *fetch*: downloads the year's papers and reviews into a snapshot.

    The summary's ``snapshot`` is the folder of this snapshot. If the settings name files or a snapshot, nothing is
    downloaded and ``snapshot`` is None. The outcome is ``waiting`` while the service allows no more requests.
    """
    sources = job.settings.sources
    if sources.notes or sources.papers or sources.snapshot:
        return {"outcome": DONE, "snapshot": None, "message": "the settings name the papers"}
    fetch = job.settings.fetch.model_copy(update={"when_paused": "exit"})
    outcome = fetch_snapshot(FetchJob(job.settings.model_copy(update={"fetch": fetch}), job.state))
    return outcome | {"outcome": "waiting"} if outcome["outcome"] == PAUSED else outcome


def run_score_stage(job: YearJob) -> Summary:
    """Runs the stage *score*: plans, scores and ranks the edition, by a refresh. Its texts already exist."""
    return _run_deployment_in_pool(SCORE, job, job.settings) if job.gpu else refresh(job.work, create_board_artifact)


def run_validate_stage(job: YearJob) -> Summary:
    """Runs the stage *validate*: validates the board's metrics that have no record under their signature yet."""
    board = read_verdicts(
        job.state, job.work.store.key, map(build_signature_from_row, job.work.store.read(CURRENT_SIGNATURES))
    )
    new = [row["metric"] for row in board if row["verdict"] == "missing"]
    if not new:
        return {"outcome": DONE, "metrics": [], "message": "every metric has been validated with this LM and writer"}
    scoring = job.settings.scoring.model_copy(update={"metrics": tuple(new)})
    chosen = job.settings.model_copy(update={"scoring": scoring})
    if job.gpu:
        return _run_deployment_in_pool(VALIDATE, job, chosen)
    return validate(replace(job.work, settings=chosen))


def run_verdicts_stage(job: YearJob) -> Summary:
    """Runs the stage *verdicts*: decides which boards are published (see `gre_bench.pipeline.validation_records`).

    In the summary, ``unproven`` has the metrics that failed validation or have no record of one. By the setting
    ``release.unvalidated``, their boards are shown, hidden, or nothing is published. ``hidden`` has the metrics whose
    boards are left out. The outcome is ``refused`` if nothing is published.
    """
    board = read_verdicts(
        job.state, job.work.store.key, map(build_signature_from_row, job.work.store.read(CURRENT_SIGNATURES))
    )
    bad = [row for row in board if row["verdict"] in ("fail", "missing")]
    policy = job.settings.release.unvalidated
    reasons = "; ".join(f"{row['metric']}: {row['verdict']} ({row['detail']})" for row in bad)
    if bad and (policy == "refuse" or (policy == "hide" and len(bad) == len(board))):
        ways = "publish these boards with their verdict: release.unvalidated=show"
        if len(bad) < len(board):
            ways = f"publish without them: release.unvalidated=hide, or {ways}"
        message = f"nothing is published: {reasons}. All texts and scores are kept. Next: {ways}"
        return {"outcome": "refused", "unproven": bad, "message": message}
    hidden = bad if policy == "hide" else []
    message = f"left out of the release: {reasons}" if hidden else reasons
    return {"outcome": DONE, "unproven": bad, "hidden": hidden, "message": message}


def run_publish_stage(job: YearJob) -> Summary:
    """Runs the stage *publish*: publishes a release of the edition, unless the latest release has the same tables."""
    hidden = dict(job.reached)["verdicts"]["hidden"]
    made = publish_edition(job.work.store, open_release_store(job.state, job.work.store.key), hidden=hidden)
    return {"outcome": DONE, "release": made.name, "board": format_release_leader_sentence(made.folder),
            "folder": str(made.folder), "digest": made.digest, "new": made.new}  # fmt: skip


def run_history_stage(job: YearJob) -> Summary:
    """Runs the stage *history*: compares the candidates across the venue's editions up to this year."""
    own = job.settings.edition.edition
    same = [key for key in find_editions(job.state) if (other := parse_edition_key(key)).year <= own.year
            and (other.venue, other.sample) == (own.venue, own.sample)]  # fmt: skip
    try:
        record = compare_years(job.state, same, job.settings.scoring.metrics, [HUMAN])
    except SettingsError as error:
        return {"outcome": DONE, "message": str(error)}
    steps.show_history(own.venue, record["rows"])
    return {"outcome": DONE, "history": record}


STAGES: dict[str, Callable[[YearJob], Summary]] = {
    "fetch": run_fetch_stage,
    "write": lambda job: write_texts_ahead(job.work),
    "score": run_score_stage,
    "validate": run_validate_stage,
    "verdicts": run_verdicts_stage,
    "publish": run_publish_stage,
    "history": run_history_stage,
}


def _run_deployment_in_pool(deployment: str, job: YearJob, settings: Settings) -> Summary:
    tree = settings.model_dump(mode="json", exclude_unset=True)
    parameters = {"settings": tree, "state": str(job.state), "retry_failed": job.retry_failed}
    return run_deployed(deployment, parameters)

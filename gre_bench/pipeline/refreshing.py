"""The annual refresh of one edition, from reviews to GEM scores and a leaderboard (Xu et al. 2025, §5).

    import → draw the sample → read the papers → write reviews, judgments and synopses → plan → score → publish

The store is the checkpoint: each stage asks it what is missing, passes only that to a step, and stores the step's
results. A run that is killed at any point continues when it is started again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, NamedTuple, cast

from gre_bench.core.errors import (
    GreBenchError,
    Paused,
    SettingsError,
    SourceError,
    UnfinishedError,
    build_missing_file_error,
)
from gre_bench.core.known_names import find_matching_name
from gre_bench.core.metrics import find_recipe
from gre_bench.core.process import return_freed_memory
from gre_bench.lm.opening import check_model_is_local
from gre_bench.pipeline.importing import set_job_domain
from gre_bench.pipeline.pair_scoring import compute_and_store_auc, end_run, score
from gre_bench.pipeline.perturbed_reviews import write_perturbations
from gre_bench.pipeline.planning import RunPlan, draw_sample, load_sample_entries, plan_pairs, read_sampled_ids
from gre_bench.pipeline.ranking import clear_rank_statistics, store_contamination, store_rank_statistics
from gre_bench.pipeline.reading import describe_poor_extraction, import_sources, read_missing_paper_texts
from gre_bench.pipeline.runs.job import Job, Progress, record_run
from gre_bench.pipeline.runs.spending import describe_unanswered_requests
from gre_bench.pipeline.runs.unchanged import record_done_refresh
from gre_bench.pipeline.runs.workers import check_task_runner, run_with_workers
from gre_bench.pipeline.training_overlap import find_training_overlap
from gre_bench.pipeline.validation_records import store_validation_records
from gre_bench.pipeline.writing import (
    identify_reviewers,
    list_responses_to_score,
    write_assw,
    write_judgments,
    write_reviews,
)
from gre_bench.store import Store, missing_edition_error, queries
from gre_bench.tasks.backends import SignMetrics

Show = Callable[[Store, Job, list[str]], None]
"""A function (store, job, signature ids) that shows the boards of these signatures, such as on Prefect's pages."""


def refresh(job: Job, show: Show | None = None) -> dict[str, Any]:
    """Brings the board of the job's edition up to date, with or without Prefect.

    Args:
        job: what to score, and in which state folder.
        show: a function that is called before the run ends, with the store, the job and the ids of the board's
            signatures.

    Returns:
        A summary: the outcome, the numbers of papers, of scored pairs and of other pairs, and why pairs have no score.

    Raises:
        GreBenchError: the errors of `check_scoring_job`; `LockedError` if another process writes the edition for longer
            than the job waits; `Paused` at a limit of the budget. Finished work is kept.
    """
    given_job, job = job, check_scoring_job(job)
    with run_with_workers(job, "refresh") as (store, workers, progress):
        work = prepare_scoring(store, job, workers.sign_metrics, progress)
        if job.texts_first:
            require_texts(store, job, work)
        if store.rows(queries.MISSING, signature_ids=work.signature_ids):
            clear_rank_statistics(store, work.signature_ids)
        score(store, job, workers, work, progress)
        progress.stage("publishing")
        for signature in work.signatures.values():
            compute_and_store_auc(store, signature, work.trained_on)
        store_validation_records(store, job.state, list(work.signatures.values()))
        store_rank_statistics(store, job, _build_signature_rows(work), progress.run_id)
        if show:
            show(store, job, work.signature_ids)
        uncovered = store.rows(queries.UNCOVERED, signature_ids=work.signature_ids)
        summary = end_run(store, work, progress, every_candidate=True, papers=work.papers, sampled=work.sampled,
                           scored_now=progress.status["done"], uncovered=uncovered)  # fmt: skip
    record_done_refresh(store, given_job, summary)
    return summary


def check_scoring_job(job: Job) -> Job:
    """Returns *job* with its domain set, after checking that this machine can run its metrics' evaluation LM.

    Without this check, a run would read papers and pay LM writers before it fails. With Ray, the LM is not checked,
    because workers may have LMs that this machine lacks. Raises the errors of `check_job_and_name_candidates` and
    `check_model_is_local`.
    """
    job = set_job_domain(check_job_and_name_candidates(job))
    metrics = job.settings.scoring.metrics
    if job.settings.run.runner != "ray" and any(find_recipe(name).asks == "evaluation_lm" for name in metrics):
        check_model_is_local(job.settings.evaluation_lm)
    return job


def check_job_and_name_candidates(job: Job) -> Job:
    """Checks *job*, and returns it with the full names of its candidates (``model`` → ``.../model``).

    Raises `SettingsError` for an impossible job, such as a new edition without sources, or a short name that fits
    several candidates. Raises `SourceError` for a missing source file.
    """
    store, sources = job.store, job.settings.sources
    store.refuse_if_from_release()
    if job.limit is not None and job.limit < 1:
        raise SettingsError(f"limit {job.limit}: a pilot needs at least one paper")
    check_task_runner(job.settings)
    named = {f"sources.{name}": getattr(sources, name) for name in ("notes", "texts", "papers", "reviews")}
    named |= {f"edition.{name}": getattr(job.settings.edition, name) for name in ("only", "not_human")}
    for setting, file in named.items():
        if file is not None and not file.is_file():
            change = f"name it with --set {setting}=FILE, or leave it out: --set {setting}="
            raise SourceError(f"setting {setting}: {build_missing_file_error(file)}; {change}")
    if not store.exists and not (sources.notes or sources.snapshot or sources.papers or sources.reviews):
        raise SettingsError(
            f"{missing_edition_error(job.state, store.key)} (no sources to make it from: import papers and reviews "
            "with --new, or name files in the settings, sources)"
        )
    if job.candidates is None or not store.read_file.is_file():
        return job
    known = [row["candidate"] for row in store.read_with_repair(queries.KNOWN_CANDIDATES)]
    return replace(job, candidates=tuple(find_matching_name(name, known) or name for name in job.candidates))


def write_texts_ahead(job: Job) -> dict[str, Any]:
    """Writes all texts that a refresh needs, without opening the evaluation LM; returns a summary.

    A machine without a GPU can thus request the texts from LMs, for a machine with a GPU to score later.
    """
    job = set_job_domain(check_job_and_name_candidates(job))
    store = job.store
    with store.lock("write", job.wait_s), record_run(store, "write", job.settings) as progress:
        lost = describe_unanswered_requests(store)
        with import_and_draw_sample(store, job, progress):
            texts = write_texts(store, job, progress)
        outcomes = store.rows(queries.TEXT_OUTCOMES)
        late = sum(row["to_be_asked_again"] for row in outcomes if row["writer"] in texts.writers)
        unwritten = [f"{late} texts are still to be written; run it again to try them"] if late else []
        message = "; ".join([*unwritten, *lost])
        outcome = "incomplete" if late else "done"
        progress.end(outcome, message)
    return {"edition": store.key, "outcome": outcome, "message": message}


def prepare_scoring(store: Store, job: Job, sign: SignMetrics, progress: Progress) -> RunPlan:
    """Runs all stages before scoring (import, sample, read, write, plan); returns the plan.

    A validation leaves out the papers that its evaluation LM or its writer was trained on; raises `SourceError` if no
    paper is left. Also stores contamination data, and updates the store's copy for readers, the file that other
    processes read while a run writes.
    """
    lost = describe_unanswered_requests(store)
    with import_and_draw_sample(store, job, progress) as notes:
        if job.perturbations:
            trained_on, ids = find_training_overlap(store, job.settings), read_sampled_ids(store)
            trained_on.keep_untrained(ids, ids, "a validation", store.key)
            job = replace(job, left_out=trained_on.papers)
        texts = write_texts(store, job, progress)
        return_freed_memory()
        progress.stage("planning")
        by = texts.judgments_by, texts.assw_by
        bodies = any(find_recipe(name).synopsis == "paper" for name in job.settings.scoring.metrics)
        entries = load_sample_entries(store, texts.names, *by, job.settings.scoring.synopsis_of, job.left_out, bodies)
        work = plan_pairs(store, job, sign, entries, progress.run_id, *by)
    work.notes[:0] = [*lost, *notes, *describe_poor_extraction(store, job.limit)]
    store_contamination(store, job, _build_signature_rows(work), work.trained_on)
    store.copy_for_readers()
    return work


@contextmanager
def import_and_draw_sample(store: Store, job: Job, progress: Progress) -> Iterator[list[str]]:
    """Imports the settings' sources and draws the sample, then runs the block; yields notes for the run's summary.

    If the block raises a `GreBenchError` other than `Paused`, a sample that was made here is deleted. The next run can
    then draw one with other settings.
    """
    if job.retry_failed:
        store.write(("forget_unwritten", {}))
    progress.stage("importing")
    import_sources(store, progress.run_id, job.settings)
    return_freed_memory()
    progress.stage("sampling")
    fresh = not store.rows(queries.DRAW)
    notes = draw_sample(store, job.settings.edition)
    try:
        yield notes
    except GreBenchError as error:
        if fresh and not isinstance(error, Paused):
            store.write(("empty_draws", {}), ("empty_sample", {}))
        raise


class TextWriters(NamedTuple):
    """Who wrote the texts of a run, as `write_texts` returns it.

    - *names*: candidate → the identity of the writer or rule that makes its reviews or its perturbation.
    - *judgments_by*: the identity of the writer of judgments; None if this run writes none.
    - *assw_by*: the identity of the writer of author-stated strengths and weaknesses; None if no metric needs them.
    """

    names: dict[str, str]
    judgments_by: str | None
    assw_by: str | None

    @property
    def writers(self) -> set[str | None]:
        return {*self.names.values(), self.judgments_by, self.assw_by}


def write_texts(store: Store, job: Job, progress: Progress) -> TextWriters:
    """Reads the sampled papers, and writes the missing reviews, perturbed reviews, judgments and synopses."""
    read_missing_paper_texts(store, job, progress)
    papers = read_sampled_ids(store, job.limit, job.left_out)
    names = identify_reviewers(store, job)
    write_reviews(store, job, papers, names, progress)
    if job.perturbations:
        names = names | write_perturbations(
            store, job, load_sample_entries(store, names, without=job.left_out, bodies=False), progress
        )
    scored = list_responses_to_score(job, load_sample_entries(store, names, without=job.left_out, bodies=False))
    judgments_by = write_judgments(store, job, scored, progress)
    return TextWriters(names, judgments_by, write_assw(store, job, papers, progress))


def require_texts(store: Store, job: Job, work: RunPlan) -> None:
    """Raises `UnfinishedError` if pairs of the job's candidates are still waiting for texts, such as judgments."""
    names = list(job.candidates or ())
    if waiting := store.rows(queries.WAITING_TEXTS, signature_ids=work.signature_ids, candidates=names):
        first = waiting[0]
        raise UnfinishedError(
            f"{store.key}: texts of {', '.join(names)} are still to be written by {work.writer}, on {first['papers']} "
            f"papers ({first['reason']}: {first['detail']}). Nothing was scored; the same command goes on from there"
        )


def _build_signature_rows(work: RunPlan) -> list[queries.SignatureRow]:
    rows = (asdict(signature) | {"signature_id": signature.signature_id} for signature in work.signatures.values())
    return [cast(queries.SignatureRow, row) for row in rows]

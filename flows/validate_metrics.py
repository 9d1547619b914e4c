"""Validates metrics: changes human reviews, scores them, and checks the scores (Xu et al. 2025, §4.2-4.3).

    import → sample → read → change → write judgments → plan → score → effects → verdicts

The stages are those of a refresh: a changed review is one more candidate. A metric must fall when a review is degraded,
and must not rise when a review is manipulated. The verdict holds for one metric with one evaluation LM and one writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.changes.catalog import CHANGES
from gre_bench.core.metrics import recipe_of
from gre_bench.core.records import HUMAN, Signature
from gre_bench.core.settings import Settings
from gre_bench.flows.annual_refresh import outcome_of, prepare, scorable
from gre_bench.metrics.validation import ChangeResult, change_effects, lengths
from gre_bench.pipeline.changes import chosen_changes, maker, untried
from gre_bench.pipeline.planning import Work
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.job import Job, recorded
from gre_bench.pipeline.runs.progress import Progress
from gre_bench.pipeline.runs.workers import Workers
from gre_bench.pipeline.scoring import counts, reasons_of, score, store_separation
from gre_bench.pipeline.validation_records import store_validation_records, write_validation_record
from gre_bench.stats.verdicts import overall
from gre_bench.store import Row, Store
from gre_bench.store.queries.score import CANDIDATE_PAIRS
from gre_bench.store.queries.study import SEPARATION
from gre_bench.tasks import steps
from gre_bench.tasks.protocol import Steps


@flow(
    name="validate-metrics",
    flow_run_name="{settings.edition.venue}-{settings.edition.year}",
    timeout_seconds=None,
    validate_parameters=True,
    persist_result=False,
)
def validate_metrics(
    settings: Settings = Settings(),
    state: Path = Path("state"),
    limit: int | None = None,
    retry_failed: bool = False,
    wait_s: float = 0.0,
) -> dict[str, Any]:
    """Validates the metrics of the settings on one edition; the summary has every effect and verdict.

    - *limit*: use only this number of papers, the first of the sample. Such a pilot writes no validation record.
    - *retry_failed*: whether to try again the texts and scores that failed for good in earlier runs.
    - *wait_s*: seconds to wait for another process that writes the edition.
    """
    return ended(validate, Job(settings, state, None, limit, retry_failed, wait_s), steps.under_prefect())


def validate(job: Job, run: Steps) -> dict[str, Any]:
    """Does the work of `validate_metrics` with the steps *run*, and returns its summary.

    *run*: the steps, as Prefect tasks (`steps.under_prefect`) or as plain functions (`steps.undecorated`).
    """
    job = scorable(job)
    job = replace(job, changes=chosen_changes(job.settings))
    store, workers = Store(job.state, job.settings.edition.edition), Workers(run, job.settings.run)
    with store.lock("validate", job.wait_s), recorded(store, "validate", job.settings) as progress, workers:
        work = prepare(store, job, workers.steps, progress)
        score(store, job, workers, work, progress)
        progress.stage("judging")
        effects = judge(store, job, work, progress.status["run_id"])
        return conclude(store, job, work, progress, effects)


def judge(store: Store, job: Job, work: Work, run_id: str) -> list[Row]:
    """Computes and stores the effect of every change on every metric, and writes validation records.

    Returns one row per metric and change. A pilot's effects are returned but not stored. A metric gets a validation
    record only after all of its pairs were tried, because the missing pairs may be hard ones.
    """
    rows: list[Row] = []
    whole = work.papers == work.sampled
    missing = {row["signature_id"]: row["missing"] for row in counts(store, work)}
    broken = {row["metric"] for row in reasons_of(store, work) if row["broken"]}
    for metric, signature in work.signatures.items():
        store_separation(store, signature, work.learnt)
        effects = list(effects_of(store, job, work, metric))
        rows += [row | {"metric": metric} for row in effects]
        if not whole:
            continue
        store.write(
            ("clear_effects", {"signature_id": signature.signature_id}),
            ("put_effects", [row | {"run_id": run_id} for row in effects]),
        )
        if missing[signature.signature_id] or metric in broken:
            work.notes.append(f"{metric}: no validation record before every pair is tried")
        elif effects:
            write_validation_record(
                job.state, store.key, signature, effects, untried(job.settings), job.settings.validation, work.learnt
            )
    store_validation_records(store, job.state, work.signature_ids)
    return rows


def effects_of(store: Store, job: Job, work: Work, metric: str) -> Iterator[dict[str, Any]]:
    """Yields one row per change: its effect on the scores of *metric*, or the reason why it has none.

    An effect compares the score of the human review with the score of the changed review. Only pairs that have both
    scores count.
    """
    signature_id = work.signatures[metric].signature_id
    names = [HUMAN, *job.changes.values()]
    papers = {pair.paper_id for signed, pair in work.planned if signed == signature_id}
    by_candidate: dict[str, list[Row]] = {name: [] for name in names}
    for row in store.rows(CANDIDATE_PAIRS, signature_id=signature_id, candidates=names):
        if row["paper_id"] in papers:
            by_candidate[row["candidate_id"]].append(row)
    words = lengths(pair.case for signed, pair in work.planned if signed == signature_id and pair.case)
    validation = job.settings.validation
    by_change = change_effects(
        by_candidate[HUMAN],
        {change: by_candidate[candidate] for change, candidate in job.changes.items()},
        words, validation, by_length=not metric.endswith("length"),
    )  # fmt: skip
    for change, effect in by_change.items():
        yield as_row(effect) | {
            "signature_id": signature_id,
            "change": change,
            "candidate_id": job.changes[change],
            "family": CHANGES[change].family,
            "made_by": maker(validation, change),
        }


def as_row(result: ChangeResult) -> dict[str, Any]:
    """Returns *result*, the effect of one change, as columns of the table ``effects``."""
    return asdict(result)


def conclude(store: Store, job: Job, work: Work, progress: Progress, effects: list[Row]) -> dict[str, Any]:
    """Ends the run, and returns its summary: numbers of pairs by state, every effect, the verdict on each metric."""
    store.copy_for_readers()
    metrics, reasons = counts(store, work), reasons_of(store, work)
    outcome, message = outcome_of(metrics, reasons)
    summary = {
        "edition": store.key,
        "run_id": progress.status["run_id"],
        "outcome": outcome,
        "message": message,
        "papers": work.papers,
        "sampled": work.sampled,
        "writer": work.writer,
        "metrics": metrics,
        "reasons": reasons,
        "effects": effects,
        "untried": untried(job.settings),
        "verdicts": verdicts_of(work.signatures, effects, untried(job.settings)),
        "separations": store.rows(SEPARATION, signature_ids=work.signature_ids),
        "notes": work.notes,
    }
    progress.end(outcome, message, metrics)
    return summary


def verdicts_of(signatures: Mapping[str, Signature], effects: list[Row], untried: list[str]) -> list[Row]:
    """Returns one row per metric with its verdict over all changes.

    - *signatures*: metric → signature.
    - *effects*: rows that `judge` returns.
    - *untried*: changes of Xu et al. 2025 that the settings leave out. No metric passes while a change is left out.

    A metric without effects is undecided.
    """
    by_metric: dict[str, list[Row]] = {metric: [] for metric in signatures}
    for row in effects:
        by_metric[row["metric"]].append(row)
    return [
        {
            "metric": metric,
            "title": recipe_of(metric).title,
            "signature_id": signatures[metric].signature_id,
            "verdict": overall([row["verdict"] for row in rows] + ["undecided"] * len(untried) or ["undecided"]),
            "paper_verdict": overall([row["paper_verdict"] or "undecided" for row in rows] or ["undecided"]),
        }
        for metric, rows in by_metric.items()
    ]

"""Validates metrics: perturbs human reviews, scores them, and checks the scores (Xu et al. 2025, §4.2-4.3).

    import → sample → read → change → write judgments → plan → score → effects → verdicts

The stages are those of a refresh. For each perturbation (here also called a change), the perturbed reviews are scored
as one more candidate. A metric must fall when a review is degraded, and must not rise when a review is manipulated. The
verdict holds for one metric with one evaluation LM and one writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from gre_bench.core.controls import CONTROLS
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Signature, parse_edition_key
from gre_bench.metrics.validation import PairKey, compute_perturbation_effects, count_candidate_words
from gre_bench.perturbations.by_name import PERTURBATIONS
from gre_bench.pipeline.pair_scoring import (
    compute_and_store_auc,
    count_pairs_by_state,
    end_run,
    load_missing_score_reasons,
    score,
)
from gre_bench.pipeline.perturbed_reviews import (
    choose_perturbations,
    find_perturbation_maker,
    list_untried_perturbations,
)
from gre_bench.pipeline.planning import RunPlan
from gre_bench.pipeline.refreshing import check_scoring_job, prepare_scoring
from gre_bench.pipeline.runs.job import Job, Progress, read_last_settings
from gre_bench.pipeline.runs.workers import run_with_workers
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.pipeline.validation_records import store_validation_records, write_validation_record
from gre_bench.stats.effects import combine_verdicts
from gre_bench.store import Row, Store
from gre_bench.store.queries import CANDIDATE_PAIRS, SEPARATION


def validate(job: Job) -> dict[str, Any]:
    """Validates the metrics of the job's settings; returns a summary with every effect and verdict.

    Effects and verdicts are those of all editions together. The summary's numbers of pairs, and the reasons why pairs
    have no score, are those of the job's edition. A pilot, i.e. a run limited to some of the sampled papers
    (`Job.limit`), writes no validation record.
    """
    job = check_scoring_job(job)
    job = replace(job, perturbations=choose_perturbations(job.settings))
    beside = [score_additional_edition(job, key) for key in job.settings.validation.together_with]
    with score_all_pairs(job) as (store, work, progress):
        progress.stage("judging")
        effects, missed = (
            compute_and_store_effects(store, job, work, progress.run_id, beside),
            list_untried_perturbations(job.settings),
        )
        papers = sum(other.papers for other in beside)
        summary = end_run(
            store, work, progress, papers=work.papers + papers, sampled=work.sampled + papers, effects=effects,
            untried=missed, verdicts=compute_verdicts(work.signatures, effects, missed),
            separations=[] if beside else store.rows(SEPARATION, signature_ids=work.signature_ids),
        )  # fmt: skip
        return summary | {"edition": join_edition_names(store, beside)}


class AdditionalEditionScores(NamedTuple):
    """What another edition adds to a validation: its name and its pairs by metric.

    *papers*: the number of planned papers. *trained_on*: the papers that the evaluation LM or the writer was trained
    on.
    """

    edition: str
    scores: dict[str, MetricScores]
    papers: int
    trained_on: TrainingOverlap


class MetricScores(NamedTuple):
    """The scores of one metric in one edition.

    - *rows*: candidate → its scored pairs.
    - *unchanged*: the pairs of references that are scored as candidates; they show how a score depends on length.
    - *words*: pair → the number of words of the candidate's text.
    """

    rows: dict[str, list[Row]]
    unchanged: list[Row]
    words: dict[PairKey, int]


@contextmanager
def score_all_pairs(job: Job) -> Iterator[tuple[Store, RunPlan, Progress]]:
    """Scores every pair of the job's edition, which stays locked within the block."""
    with run_with_workers(job, "validate") as (store, workers, progress):
        work = prepare_scoring(store, job, workers.sign_metrics, progress)
        score(store, job, workers, work, progress)
        yield store, work, progress


def score_additional_edition(job: Job, key: str) -> AdditionalEditionScores:
    """Scores the missing pairs in the validation of the edition *key*, and returns all its scores.

    The edition keeps its own papers and sources; everything else is as *job* says. Raises `SettingsError` if there is
    no such edition or if it is the edition of *job*, and `SourceError` if some pair could not be tried.
    """
    edition, together = parse_edition_key(key), job.settings.edition.edition
    other = Store(job.state, edition)
    if edition == together:
        raise SettingsError(f"validation.together_with: {key} is the edition that is validated; name others only")
    if not other.read_file.is_file():
        raise SettingsError(
            f"validation.together_with: there is no edition {key} under {job.state}; validate it first: "
            f"gre-bench study validate --edition {key}"
        )
    theirs = read_last_settings(other)
    settings = job.settings.model_copy(update={"edition": theirs.edition, "sources": theirs.sources})
    job = check_scoring_job(replace(job, settings=settings))
    with score_all_pairs(job) as (store, work, progress):
        metrics = count_pairs_by_state(store, work)
        if unfinished := [row["metric"] for row in metrics if row["missing"]]:
            raise SourceError(f"edition {key}: pairs of {', '.join(unfinished)} are missing; validate it again")
        scores = {metric: load_metric_scores(store, job, work, metric) for metric in work.signatures}
        progress.end("done", f"validated together with {together}", metrics)
        return AdditionalEditionScores(store.key, scores, work.papers, work.trained_on)


def compute_and_store_effects(
    store: Store, job: Job, work: RunPlan, run_id: str, beside: Sequence[AdditionalEditionScores] = ()
) -> list[Row]:
    """Computes and stores the effect of every perturbation on the scores of every metric; writes validation records.

    Returns one row per metric and perturbation. Effects are not stored if the run was a pilot, limited to some of the
    sampled papers. Effects computed together with other editions (*beside*) are written only to the record, because an
    edition's tables hold only its own effects. A metric gets a record only after all of its pairs were tried, because
    it might do worse on the missing pairs.
    """
    rows: list[Row] = []
    trained_on = work.trained_on.union_with(other.trained_on for other in beside)
    whole = work.papers == work.sampled
    missing = {row["signature_id"]: row["missing"] for row in count_pairs_by_state(store, work)}
    broken = {row["metric"] for row in load_missing_score_reasons(store, work) if row["broken"]}
    for metric, signature in work.signatures.items():
        compute_and_store_auc(store, signature, work.trained_on)
        scores = [load_metric_scores(store, job, work, metric), *(other.scores[metric] for other in beside)]
        effects = list(compute_effects(scores, job, signature.signature_id))
        rows += [row | {"metric": metric} for row in effects]
        if not whole:
            continue
        if not beside:
            store.write(
                ("clear_effects", {"signature_ids": [signature.signature_id]}),
                ("put_effects", [row | {"run_id": run_id} for row in effects]),
            )
        if missing[signature.signature_id] or metric in broken:
            work.notes.append(f"{metric}: no validation record before every pair is tried")
        elif effects:
            name, validation = join_edition_names(store, beside), job.settings.validation
            write_validation_record(
                job.state, name, signature, effects, list_untried_perturbations(job.settings), validation, trained_on
            )
    store_validation_records(store, job.state, list(work.signatures.values()))
    return rows


def join_edition_names(store: Store, beside: Sequence[AdditionalEditionScores]) -> str:
    """Returns the name of all validated editions, such as ``ICLR-2023+ICLR-2024``."""
    return "+".join(sorted({store.key, *(other.edition for other in beside)}))


def load_metric_scores(store: Store, job: Job, work: RunPlan, metric: str) -> MetricScores:
    signature_id = work.signatures[metric].signature_id
    planned = [pair for signed, pair in work.planned if signed == signature_id]
    papers = {pair.paper_id for pair in planned}
    by_candidate: dict[str, list[Row]] = {name: [] for name in (HUMAN, *job.perturbations.values())}
    others = sorted({pair.candidate_id for pair in planned} - {*by_candidate, *CONTROLS})
    unchanged: list[Row] = []
    for row in store.rows(CANDIDATE_PAIRS, signature_id=signature_id, candidates=[*by_candidate, *others]):
        if row["paper_id"] in papers:
            by_candidate.get(row["candidate_id"], unchanged).append(row)
    return MetricScores(by_candidate, unchanged, count_candidate_words(pair.case for pair in planned if pair.case))


def merge_edition_scores(editions: Sequence[MetricScores]) -> MetricScores:
    """Returns the scores of all *editions* as one; a paper counts only in the first edition that has it."""
    rows: dict[str, list[Row]] = {name: [] for name in editions[0].rows}
    unchanged: list[Row] = []
    words: dict[PairKey, int] = {}
    counted: set[str] = set()
    for scores in editions:
        for name, own in scores.rows.items():
            rows[name] += [row for row in own if row["paper_id"] not in counted]
        unchanged += [row for row in scores.unchanged if row["paper_id"] not in counted]
        words = scores.words | words
        counted |= {row["paper_id"] for own in scores.rows.values() for row in own}
    return MetricScores(rows, unchanged, words)


def compute_effects(editions: Sequence[MetricScores], job: Job, signature_id: str) -> Iterator[dict[str, Any]]:
    """Yields one row per perturbation: its effect on the scores of a metric, or the reason why it has none.

    An effect compares the scores of the human review and of the perturbed review, for pairs that have both. *editions*:
    the scores of each edition.
    """
    rows, unchanged, words = merge_edition_scores(editions)
    validation = job.settings.validation
    by_perturbation = {change: rows[candidate] for change, candidate in job.perturbations.items()}
    for change, effect in compute_perturbation_effects(
        rows[HUMAN], by_perturbation, words, validation, unchanged
    ).items():
        yield asdict(effect) | {
            "signature_id": signature_id, "change": change, "candidate_id": job.perturbations[change],
            "family": PERTURBATIONS[change].family, "made_by": find_perturbation_maker(validation, change),
        }  # fmt: skip


def compute_verdicts(signatures: Mapping[str, Signature], effects: list[Row], untried: list[str]) -> list[Row]:
    """Returns one row per metric with its verdict over all perturbations; a metric without effects is undecided.

    *untried*: perturbations of Xu et al. 2025 that the settings leave out. No metric passes while one is left out.
    """
    verdicts: list[Row] = []
    for metric, signature in signatures.items():
        rows = [row for row in effects if row["metric"] == metric]
        verdicts.append(
            {
                "metric": metric,
                "title": find_recipe(metric).title,
                "signature_id": signature.signature_id,
                "verdict": combine_verdicts(
                    [row["verdict"] for row in rows] + ["undecided"] * len(untried) or ["undecided"]
                ),
                "paper_verdict": combine_verdicts(
                    [row["paper_verdict"] or "undecided" for row in rows] or ["undecided"]
                ),
            }
        )
    return verdicts

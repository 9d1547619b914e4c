"""Scores the planned pairs that have no score yet, and commits the scores in chunks of whole papers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby, islice
from operator import itemgetter
from typing import Any

from gre_bench.core.controls import OTHER_PAPER
from gre_bench.core.errors import DuplicateRowError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import HUMAN, Case, Problem, Score, Signature, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.core.terminal import counted
from gre_bench.metrics.scoring import MetricCases, ScoringResult, collect_predictions
from gre_bench.pipeline.planning import RunPlan
from gre_bench.pipeline.runs.job import Job, Progress
from gre_bench.pipeline.runs.workers import ScoringWorkers
from gre_bench.pipeline.training_overlap import TrainingOverlap
from gre_bench.stats.auc import compute_auc
from gre_bench.store import Store, now, queries

Chunk = Sequence[tuple[str, dict[str, list[Case]]]]
"""Papers, each with its cases by signature id."""


def score(store: Store, job: Job, workers: ScoringWorkers, work: RunPlan, progress: Progress) -> None:
    """Scores the planned pairs that have no score yet, in chunks of whole papers; each chunk is committed at once.

    Args:
        store: the edition's store, whose lock the caller holds.
        job: the job, whose settings state the number of papers in a chunk.
        workers: where the evaluation LM runs.
        work: the plan. Remarks on the scoring are added to its notes.
        progress: the run's progress, to which each chunk is reported.
    """
    due = load_unscored_cases(store, work)
    progress.stage("scoring", count_pairs_by_state(store, work))
    progress.expect(sum(len(cases) for by_signature in due.values() for cases in by_signature.values()))
    papers = iter(due.items())
    chunks = iter(lambda: list(islice(papers, job.settings.run.chunk_papers)), [])
    # Papers do not share predictions. If the store has no spans at the start, no chunk needs to look for known ones.
    any_known = bool(store.rows(queries.ANY_SPAN, lm_id=work.lm_id))

    def build_score_arguments(chunk: Chunk) -> dict[str, Any]:
        works = group_cases_by_metric(chunk, work)
        known = read_known_spans(store, job.settings.scoring, work.lm_id, works) if any_known else {}
        settings = {"backends": job.backends, "scoring": job.settings.scoring}
        return {"name": chunk[0][0], **settings, "works": works, "known": known}

    for chunk, result in workers.score_chunks(chunks, build_score_arguments):
        if isinstance(result, ScoringResult):
            scored = result
        else:  # the next run scores the chunk again
            problem = Problem("worker_died", result.why, final=False)
            scored = ScoringResult(
                [Score(item.signature_id, case.paper_id, case.candidate_id, case.reference_id, None, problem)
                 for item in group_cases_by_metric(chunk, work) for case in item.cases], {},
            )  # fmt: skip
        store_scoring_result(store, work, scored, progress.run_id)
        work.notes += [remark for remark in scored.remarks if remark not in work.notes]
        progress.advance(sum(item.problem is None or item.problem.final for item in scored.scores))
        store.copy_for_readers(job.settings.run.read_copy_every_s)


def load_unscored_cases(store: Store, work: RunPlan) -> dict[str, dict[str, list[Case]]]:
    """Returns paper id → signature id → the cases (texts of paper, candidate and reference) without a score."""
    due: dict[str, dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
    for signature_id, planned in groupby(work.planned, itemgetter(0)):
        _, *keys = store.columns(queries.MISSING, signature_ids=[signature_id])
        missing = set(zip(*keys, strict=True))
        for _, pair in planned:
            if pair.case and (pair.paper_id, pair.candidate_id, pair.reference_id) in missing:
                due[pair.paper_id][signature_id].append(pair.case)
    return due


def group_cases_by_metric(chunk: Chunk, work: RunPlan) -> list[MetricCases]:
    """Returns the cases of all papers in *chunk*, grouped by metric."""
    gathered: dict[str, list[Case]] = defaultdict(list)
    for _, by_signature in chunk:
        for signature_id, cases in by_signature.items():
            gathered[signature_id] += cases
    metric_of = {signature.signature_id: metric for metric, signature in work.signatures.items()}
    return [MetricCases(metric_of[name], name, tuple(cases)) for name, cases in gathered.items()]


def read_known_spans(
    store: Store, scoring: ScoringSettings, lm_id: str, works: Sequence[MetricCases]
) -> dict[str, SpanLogprob]:
    """Returns digest of a prediction → its log-probabilities, for those predictions of *works* that the store has.

    A prediction is a text that the evaluation LM predicts, together with the prompt before it.
    """
    recipes = [(find_recipe(item.metric), item) for item in works]
    predictions = [
        prediction
        for recipe, item in recipes
        if recipe.formula
        for prediction in collect_predictions(recipe, item.cases, scoring)
    ]
    return {
        row["prediction"]: SpanLogprob(row["total"], tuple(row["ids"]), tuple(row["logprobs"]), row["escaped"])
        for row in store.rows(queries.SPANS_OF, lm_id=lm_id, predictions=predictions)
    }


def store_scoring_result(store: Store, work: RunPlan, scored: ScoringResult, run_id: str) -> None:
    """Stores the results *scored* in one transaction: log-probabilities, scores, and why pairs have no score.

    A final problem is stored as the pair's result. A transient problem is stored only in the table ``problems``, and
    the next run scores the pair again.
    """
    at = now()
    spans = [
        {"lm_id": work.lm_id, "prediction": prediction, "total": span.total, "ids": span.ids,
         "logprobs": span.logprobs, "escaped": span.escaped}
        for prediction, span in scored.spans.items()
    ]  # fmt: skip
    scores = [
        _build_pair_key(item) | {
            "value": item.value, "problem": item.problem.code if item.problem else None,
            "problem_message": item.problem.message if item.problem else None,
            "broken": bool(item.problem and item.problem.broken), "predictions": item.predictions, "run_id": run_id,
        }
        for item in scored.scores if item.problem is None or item.problem.final
    ]  # fmt: skip
    problems = [
        _build_pair_key(item) | {"run_id": run_id, "problem": item.problem.code, "message": item.problem.message,
                                 "happened_at": at}
        for item in scored.scores if item.problem is not None and not item.problem.final
    ]  # fmt: skip
    try:
        store.write(("add_spans", spans), ("add_scores", scores), ("add_problems", problems))
    except DuplicateRowError:
        # Two papers with the same reference text share its marginal log-probability, hence add_new. This is rare, and a
        # check before each write would become slower as the store grows.
        store.write(("add_new_spans", spans), ("add_scores", scores), ("add_problems", problems))


def _build_pair_key(score: Score) -> dict[str, Any]:
    return {name: getattr(score, name) for name in ("signature_id", "paper_id", "candidate_id", "reference_id")}


def count_pairs_by_state(store: Store, work: RunPlan) -> list[queries.ProgressRow]:
    """Returns how many pairs are planned, scored, failed, excluded or missing, per metric, for candidates of *work*."""
    return store.rows(queries.PROGRESS, signature_ids=work.signature_ids, candidates=work.candidates)


def load_missing_score_reasons(store: Store, work: RunPlan) -> list[queries.ReasonRow]:
    """Returns why pairs have no score, one row per metric, state and reason; only the candidates of *work* count."""
    return store.rows(queries.REASONS, signature_ids=work.signature_ids, candidates=work.candidates)


def end_run(
    store: Store, work: RunPlan, progress: Progress, every_candidate: bool = False, **more: Any
) -> dict[str, Any]:
    """Ends the run of *work*; returns its summary, with the entries *more* added.

    Also updates the store's copy for readers, the file that other processes read while a run writes.

    *every_candidate*: whether to also count the pairs of candidates that the run did not plan. Outcomes:

    - ``done``: every pair has a score or a final reason for having none.
    - ``incomplete``: some pairs have no score, and the next run will try them again.
    - ``fault``: the evaluation LM did not work as it should.
    """
    store.copy_for_readers()
    shown = {"signature_ids": work.signature_ids, "candidates": None if every_candidate else work.candidates}
    metrics, reasons = store.rows(queries.PROGRESS, **shown), store.rows(queries.REASONS, **shown)
    broken = [row for row in reasons if row["broken"]]
    unfinished = sum(row["unfinished"] for row in metrics)
    outcome, message = "done", ""
    if broken:
        outcome, message = "fault", f"{sum(row['pairs'] for row in broken)} pairs failed, first {broken[0]['example']}"
    elif unfinished:
        why = next((f": {row['example'] or row['reason']}" for row in reasons if row["unfinished"]), "")
        outcome, message = "incomplete", f"{counted(unfinished, 'pair')} still missing{why}; run it again"
    progress.end(outcome, message, metrics)
    summary = {"edition": store.key, "run_id": progress.run_id, "outcome": outcome, "message": message}
    return summary | {"writer": work.writer, "metrics": metrics, "reasons": reasons, "notes": work.notes} | more


def compute_and_store_auc(store: Store, signature: Signature, trained_on: TrainingOverlap) -> None:
    """Stores the AUC with which the metric distinguishes human reviews of the same paper from those of other papers.

    *trained_on*: the papers that the evaluation LM or the writer was trained on; they are left out. If too few scores
    remain for an interval, an AUC stored before is deleted.
    """
    signature_id, left_out = (
        signature.signature_id,
        trained_on.get_papers_seen_by(signature.evaluation_lm, signature.writer),
    )
    same, other = (
        [row for row in store.rows(queries.SCORED_PAIRS, signature_id=signature_id, candidate_id=name)
         if row["paper_id"] not in left_out]
        for name in (HUMAN, OTHER_PAPER)
    )  # fmt: skip
    if len({row["paper_id"] for row in same}) < 2 or len(other) < 2:
        store.write(("clear_separation", {"signature_ids": [signature_id]}))
        return
    auc = compute_auc(
        [row["value"] for row in same], [row["paper_id"] for row in same],
        [row["value"] for row in other], [row["paper_id"] for row in other],
    )  # fmt: skip
    by = {"signature_id": signature_id, "same": HUMAN, "other": OTHER_PAPER, "left_out": len(left_out)}
    store.write(("put_separation", [asdict(auc) | by]))

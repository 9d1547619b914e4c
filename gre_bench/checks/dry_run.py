"""Estimates what a refresh would do, and how long it would take, by running its stages on a copy of the store.

The copy is deleted afterwards. An estimate costs nothing: requests to LMs for texts and grades are counted and priced,
but not sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gre_bench.catalogs.models import load as load_models
from gre_bench.checks.bill import RequestBill, count_papers_that_fit_contexts
from gre_bench.core.errors import SourceError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Paper, WrittenText
from gre_bench.core.settings import BudgetSettings
from gre_bench.pipeline.importing import set_job_domain
from gre_bench.pipeline.pair_scoring import group_cases_by_metric, load_unscored_cases
from gre_bench.pipeline.planning import sampled_papers
from gre_bench.pipeline.refreshing import check_job_and_name_candidates, prepare_scoring
from gre_bench.pipeline.runs.job import Job, record_run
from gre_bench.pipeline.runs.spending import list_exceeded_limits, spend_log
from gre_bench.pipeline.validation_records import format_gate_decision, read_verdicts
from gre_bench.pipeline.year_models import list_named_lms
from gre_bench.store import Store
from gre_bench.store.queries import PROGRESS, REASONS
from gre_bench.tasks import steps
from gre_bench.writing.writers import WriterContext, is_rule

TRIED_PAPERS = 2
"""The number of papers whose pairs are scored to measure the pairs per second."""


def estimate_refresh_cost(job: Job, scratch: Path) -> dict[str, Any]:
    """Returns what a refresh by *job* would do: its pairs, its requests to LMs with their cost, and its seconds.

    Pairs are counted by metric and state. The seconds are extrapolated from scoring a few of the pairs that have no
    score. *scratch*: an empty folder for a copy of the store; the caller must delete it. Raises the same errors as a
    refresh.
    """
    job = set_job_domain(check_job_and_name_candidates(job))
    original, copy = (Store(state, job.settings.edition.edition) for state in (job.state, scratch))
    if original.is_readable:
        copy.folder.mkdir(parents=True)
        original.copy.copy_to(copy.file)
    bill = RequestBill(list_named_lms(job.settings).judge)
    trial = replace(
        job,
        state=scratch,
        in_place_of=lambda step, kind: _make_request_counting_step(step, bill, "reviews" if kind == "review" else kind),
    )
    try:
        with copy.lock("dry run"), record_run(copy, "dry run", job.settings) as progress:
            work = prepare_scoring(copy, trial, steps.sign_metrics, progress)
            due = load_unscored_cases(copy, work)
            pairs = sum(len(cases) for by_signature in due.values() for cases in by_signature.values())
            seconds, basis = _estimate_scoring_seconds(trial, due, work, bill)
            to_buy = bill.rows(load_models(job.settings.writing.models))
            papers = [paper for paper in sampled_papers(copy, job.limit) if paper.text]
            fit = count_papers_that_fit_contexts(job.settings, trial.writer_context, papers)
            signed = [work.signatures[name] for name in job.settings.scoring.metrics if name in work.signatures]
            return {
                "edition": copy.key,
                "papers": work.papers,
                "sampled": work.sampled,
                "due": pairs,
                "to_write": bill.texts(),
                "to_buy": to_buy,
                "fit": [asdict(row) | {"trouble": row.trouble} for row in fit],
                "over_budget": list_exceeded_limits(to_buy, job.settings.budget, spend_log(original), original.key),
                "seconds": seconds,
                "basis": basis,
                "metrics": copy.rows(PROGRESS, signature_ids=work.signature_ids),
                "reasons": copy.rows(REASONS, signature_ids=work.signature_ids),
                "verdicts": [
                    row | {"gate": format_gate_decision(row, job.settings)}
                    for row in read_verdicts(job.state, copy.key, signed)
                ],
                "notes": work.notes,
            }
    except SourceError as error:
        # The message must not point to the report of refused rows, which is deleted with the copy.
        raise SourceError(str(error).partition("; all of them:")[0]) from None


def _estimate_scoring_seconds(job: Job, due: dict[str, Any], work: Any, bill: RequestBill) -> tuple[float, str]:
    """Scores the pairs of a few papers. Returns (seconds to score all *due* pairs, the basis of this estimate).

    Pairs that an LM grades are not scored but added to *bill*.
    """
    chunk, pairs = list(due.items()), 0
    for item in group_cases_by_metric(chunk, work):
        if find_recipe(item.metric).asks == "writer":
            bill.add("grades", str(job.settings.scoring.examiner), item.cases)
        else:
            pairs += len(item.cases)
    trial = [
        item for item in group_cases_by_metric(chunk[:TRIED_PAPERS], work) if find_recipe(item.metric).asks != "writer"
    ]
    tried_pairs = sum(len(item.cases) for item in trial)
    if not tried_pairs:
        return 0.0, "nothing is due" if not due else "an LM grades all that is due"
    without_money = job.settings.model_copy(update={"budget": BudgetSettings(requests=0)})
    began = time.monotonic()
    steps.score_papers("trial", replace(job, settings=without_money).backends, job.settings.scoring, trial, {})
    return round((time.monotonic() - began) * pairs / tried_pairs, 1), f"at the pace of {tried_pairs} pairs tried now"


def _make_request_counting_step(
    step: Callable[[str, WriterContext, Sequence[Any]], list[WrittenText]], bill: RequestBill, kind: str
) -> Callable[[str, WriterContext, Sequence[Any]], list[WrittenText]]:
    """Returns a replacement for *step*, a step that writes texts of the kind *kind*.

    The replacement calls *step* only if the writer is a rule. If the writer is an LM, it adds the requests to *bill*,
    and returns a placeholder for each text.
    """

    def counted(name: str, writer_context: WriterContext, items: Sequence[Any]) -> list[WrittenText]:
        if is_rule(name):
            return step(name, writer_context, items)
        bill.add(kind, name, items)
        ids = [item.paper_id if isinstance(item, Paper) else item[0] for item in items]
        return [WrittenText(item, None, "to_be_written", final=False) for item in ids]

    return counted

"""Compares examiners with human scores: which way of asking an LM to grade a text agrees best, and at what cost?

    texts with human scores → instructions that LMs write → grades by every examiner of every LM → the panel → the pairs
    → correlations, differences, tables

The panel combines the grades of several examiners that must first pass an exam. The pairs are pairs of texts, of which
each LM prefers one. The study follows Kim et al. 2023, Kotonya et al. 2023, and PRE, a peer review among LMs. Every
reply is archived before it is read. So a study that is killed can be started again, and pays for nothing twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from prefect import flow

from gre_bench.catalogs.models import Model
from gre_bench.core.terminal import plain
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import FREE, Cost, bin_grades
from gre_bench.examiners.results import Column
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.studies import bounded
from gre_bench.studies.examiners.inputs import GradedItems, Grid, grid
from gre_bench.studies.examiners.job import ExaminerJob, needs_model, prepared
from gre_bench.studies.examiners.panel import baseline, instructions, lost, pairs_of, panel_of, reports
from gre_bench.studies.examiners.results import KIND, Study, keep
from gre_bench.studies.examiners.settings import StudySettings
from gre_bench.studies.guidelines.results import study_folder
from gre_bench.tasks import examine, steps
from gre_bench.tasks.protocol import Steps


@flow(name="examiner-study", flow_run_name="{job.name}", validate_parameters=True, persist_result=False)
def examiner_study(job: ExaminerJob) -> dict[str, Any]:
    """Compares examiners as *job* says; the summary has the results of each examiner.

    The summary also names the folder that holds the files of the study.
    """
    return ended(study, job, steps.under_prefect())


def study(job: ExaminerJob, run: Steps) -> dict[str, Any]:
    """Does the work of `examiner_study` with the steps *run*, and returns its summary.

    *run*: the steps, as Prefect tasks (`steps.under_prefect`) or as plain functions (`steps.undecorated`). Prints one
    line of progress per examiner to standard error, so that standard output holds only the results.
    """
    material, models = prepared(job)
    with bounded(job.writer_context, study_folder(job.state, job.name, material.source, KIND)) as status:
        summary = _compared(job, run, material, models)
        status.say(summary["outcome"], summary["message"])
    return summary


def _compared(job: ExaminerJob, run: Steps, material: GradedItems, models: Mapping[str, Model]) -> dict[str, Any]:
    """Runs the study on *material*, the texts with human scores; writes its files, and returns its summary.

    Asks every examiner for grades. If the settings say so, also combines grades in a panel, and asks each LM which of
    two texts it prefers. *models*: name → entry of the models file.
    """
    written, unsound = instructions(job.settings, run, job.writer_context, material.kind)
    chosen = grid(job.settings, material.kind, written)
    columns = [baseline(name, material.items, job.settings.embedder) for name in job.settings.baselines]
    signatures: dict[str, dict[str, Any]] = {}
    due = _askings(job.settings, chosen)
    for index, (name, examiner, model) in enumerate(due, 1):
        column, signed = _column(job, run, material, models, name, examiner, model)
        columns.append(column)
        signatures[column.title] = signed
        cost = column.cost
        done = f"{len(column.values)} of {len(column.grades)} graded, {cost.replies} replies, {column.seconds:.0f} s"
        print(plain(f"{index} of {len(due)}: {column.title}: {done}"), file=sys.stderr)
    columns += lost(job.settings.models, material.items, unsound)
    columns = [replace(column, excluded=dict(material.lacks)) for column in columns]
    panel, exam_texts = panel_of(job.settings.panel, material, chosen, columns) if job.settings.panel else (None, set())
    columns += panel.columns if panel else []
    played = _pairs(job, run, material, exam_texts)
    return keep(Study(job.name, job.settings, material, chosen, columns, panel, played, signatures, written), job.state)


def _askings(settings: StudySettings, chosen: Grid) -> list[tuple[str, Examiner, str | None]]:
    """Returns (name, examiner, model) for every combination of an examiner of *chosen* and a model of *settings*.

    An examiner that asks none of these models appears once, with the model None.
    """
    return [
        (name, examiner, model)
        for name, examiner in chosen.examiners.items()
        for model in (settings.models if needs_model(settings, examiner) else (None,))
    ]


def _column(
    job: ExaminerJob,
    run: Steps,
    material: GradedItems,
    models: Mapping[str, Model],
    name: str,
    examiner: Examiner,
    model: str | None,
) -> tuple[Column, dict[str, Any]]:
    started = time.monotonic()
    lm = job.settings.evaluation_lm if model is None else None
    grades = run.grade_items(model, job.writer_context, examiner, material.items, lm)
    binned, counts = bin_grades(examiner, grades)
    identity = examine.grader_of(examiner, model, job.writer_context, lm)[1]
    by = model or (identity.name if lm and examiner.aggregation == "logprob" else "")
    usd = _usd(sum((grade.cost for grade in grades), FREE), models.get(model or ""))
    seconds = time.monotonic() - started
    column = Column(
        name, by, "examiner", tuple(binned), {}, counts.before, counts.after, seconds, usd if model else 0.0
    )
    return column, asdict(identity) | {"signature": identity.lm_id}


def _usd(cost: Cost, model: Model | None) -> float | None:
    """Returns what the tokens of *cost* cost in USD at the prices of *model*; None if a price is unknown."""
    if model is None or model.price_in is None or model.price_out is None:
        return None
    return (cost.prompt_tokens * model.price_in + cost.reply_tokens * model.price_out) / 1e6


def _pairs(job: ExaminerJob, run: Steps, material: GradedItems, exam_texts: set[str]) -> Sequence[dict[str, Any]]:
    if job.settings.pairwise is None:
        return []
    texts = [text for text in material.texts if text.item_id not in material.lacks]
    pairs = pairs_of(texts, job.settings.pairwise)
    preferences_of = {
        model: run.prefer_pairs(model, job.writer_context, pairs, material.kind) for model in job.settings.models
    }
    return reports(pairs, preferences_of, texts, job.settings.pairwise, job.settings.panel, exam_texts)

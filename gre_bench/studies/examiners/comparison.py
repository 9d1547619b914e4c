"""Compares examiners with human scores: which way of grading texts with an LM agrees best with humans, at what cost?

    texts with human scores → instructions that LMs write → grades by every examiner with every LM → the panel
    → preferences between two texts → correlations, differences, tables

The panel combines the grades of the examiners that passed an exam. Each LM also states which of two texts it prefers.
The study follows Kim et al. 2023, Kotonya et al. 2023, and PRE, a peer review among LMs. Every reply is archived before
it is read, so a study that is killed and continued pays for nothing twice.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gre_bench.catalogs.models import Model
from gre_bench.core.terminal import remove_control_characters
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.grading import FREE, bin_grades
from gre_bench.examiners.rater_results import RaterGrades
from gre_bench.pipeline.runs.running_studies import run_within_budget
from gre_bench.studies.examiners.inputs import HumanScoredTexts, build_examiner_grid
from gre_bench.studies.examiners.results import KIND, write_examiner_study
from gre_bench.studies.examiners.study import (
    ExaminerJob,
    build_game_reports,
    build_problem_columns,
    choose_text_pairs,
    grade_by_baseline,
    needs_model,
    obtain_instructions,
    prepare_study,
    run_panel,
)
from gre_bench.studies.guidelines import make_study_folder
from gre_bench.tasks import examine, steps
from gre_bench.writing.spend_log import compute_cost_usd


def compare(job: ExaminerJob) -> dict[str, Any]:
    """Compares examiners as *job* says; the summary has each examiner's results, and the study's folder.

    Prints one line of progress per examiner to standard error, because standard output is for the results.
    """
    material, models = prepare_study(job)
    settings, context = job.settings, job.writer_context
    with run_within_budget(context, make_study_folder(job.state, job.name, material.source, KIND)) as say:
        written, unsound = obtain_instructions(settings, context, material.kind)
        chosen = build_examiner_grid(settings, material.kind, written)
        columns = [grade_by_baseline(name, material.items, settings.embedder) for name in settings.baselines]
        signatures: dict[str, dict[str, Any]] = {}
        due = [
            (name, examiner, model)
            for name, examiner in chosen.examiners.items()
            for model in (settings.models if needs_model(settings, examiner) else (None,))
        ]
        for index, (name, examiner, model) in enumerate(due, 1):
            column, signed = _grade_all_texts(job, material, models, name, examiner, model)
            columns.append(column)
            signatures[column.title] = signed
            graded = f"{len(column.values)} of {len(column.grades)} graded, {column.cost.replies} replies"
            line = f"{index} of {len(due)}: {column.title}: {graded}, {column.seconds:.0f} s"
            print(remove_control_characters(line), file=sys.stderr)
        columns += build_problem_columns(settings.models, material.items, unsound)
        columns = [replace(column, excluded=dict(material.lacks)) for column in columns]
        panel, exam_texts = run_panel(settings.panel, material, chosen, columns) if settings.panel else (None, set())
        columns += panel.columns if panel else []
        played: Sequence[dict[str, Any]] = []
        if settings.pairwise is not None:
            texts = [text for text in material.texts if text.item_id not in material.lacks]
            pairs = choose_text_pairs(texts, settings.pairwise)
            preferences = {model: steps.prefer_pairs(model, context, pairs, material.kind) for model in settings.models}
            played = build_game_reports(pairs, preferences, texts, settings.pairwise, settings.panel, exam_texts)
        summary = write_examiner_study(
            job.state, job.name, settings, material, chosen, columns, panel, played, signatures, written
        )
        say(summary["outcome"], summary["message"])
    return summary


def _grade_all_texts(
    job: ExaminerJob, material: HumanScoredTexts, models: Mapping[str, Model], name: str, examiner: Examiner,
    model: str | None,
) -> tuple[RaterGrades, dict[str, Any]]:  # fmt: skip
    """Returns the grades that *examiner* gives all texts with the LM *model*, and the grader's identity and signature.

    *model*: None for an examiner that uses none of the study's LMs.
    """
    started = time.monotonic()
    lm = job.settings.evaluation_lm if model is None else None
    grades = steps.grade_items(model, job.writer_context, examiner, material.items, lm)
    binned, counts = bin_grades(examiner, grades)
    identity = examine.build_grader(examiner, model, job.writer_context, lm)[1]
    by = model or (identity.name if lm and examiner.aggregation == "logprob" else "")
    spent, entry = sum((grade.cost for grade in grades), FREE), models.get(model or "")
    usd = compute_cost_usd(entry, spent.prompt_tokens, spent.reply_tokens) if entry else None
    seconds = time.monotonic() - started
    column = RaterGrades(
        name, by, "examiner", tuple(binned), {}, counts.before, counts.after, seconds, usd if model else 0.0
    )
    return column, asdict(identity) | {"signature": identity.lm_id}

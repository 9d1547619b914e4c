"""Examiners against human scores: which way of asking an LM to grade a text follows humans most closely, at what cost.

    texts with human scores → instructions that LMs write → grades by every examiner of every LM → the panel → the pairs
    → correlations, differences, tables

Kim et al. 2023, Kotonya et al. 2023 and PRE. Every reply is archived before it is read: a study that is killed
anywhere is started again and pays for nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.cli.views import screen
from gre_bench.core.errors import SettingsError
from gre_bench.examiners.asking import FREE, Cost
from gre_bench.examiners.binning import bin_grades
from gre_bench.examiners.examiner import Examiner
from gre_bench.examiners.results.column import Column
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.studies import bounded
from gre_bench.studies.examiners.baselines import baseline
from gre_bench.studies.examiners.grid import Grid, grid
from gre_bench.studies.examiners.inputs import Material, from_edition, from_file
from gre_bench.studies.examiners.instructions import instructions, lost
from gre_bench.studies.examiners.pairs import pairs_of, reports
from gre_bench.studies.examiners.panel import check_panel, panel_of
from gre_bench.studies.examiners.results import KIND, Study, keep
from gre_bench.studies.examiners.settings import StudySettings
from gre_bench.studies.guidelines.results import study_folder
from gre_bench.tasks import steps
from gre_bench.writing.catalog import Desk, study_account


@dataclass(frozen=True, slots=True)
class ExaminerJob:
    """A study: its *name*, its *settings*, and its texts: those of the file *items*, or an *edition*'s reviews.

    *again*: refusals and empty replies of earlier runs are asked for anew.
    """

    name: str
    settings: StudySettings
    items: Path | None = None
    edition: str | None = None
    limit: int | None = None
    again: bool = False
    state: Path = Path("state")

    @property
    def desk(self) -> Desk:
        """Where the models and the reply archive are, and who pays."""
        return Desk(self.state / "replies", self.settings.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.settings.budget)  # fmt: skip


@flow(name="examiner-study", flow_run_name="{job.name}", validate_parameters=True, persist_result=False)
def examiner_study(job: ExaminerJob) -> dict[str, Any]:
    """Compares examiners; the summary has every outcome, and the folder that holds all of it."""
    return ended(study, job, steps)


def study(job: ExaminerJob, run: Any) -> dict[str, Any]:
    """`examiner_study` with the steps given: `gre_bench.tasks.steps` itself, or ``steps.undecorated()``.

    Progress goes to the error stream, one line an examiner: the tables and the JSON stand alone.
    """
    material, models = prepared(job)
    with bounded(job.desk, study_folder(job.state, job.name, material.source, KIND)) as standing:
        summary = _compared(job, run, material, models)
        standing.say(summary["outcome"], summary["message"])
    return summary


def _compared(job: ExaminerJob, run: Any, material: Material, models: Mapping[str, Model]) -> dict[str, Any]:
    """Everything that is asked, and what comes of it."""
    written, unsound = instructions(job.settings, run, job.desk, material.kind)
    chosen = grid(job.settings, material.kind, written)
    columns = [baseline(name, material.items, job.settings.embedder) for name in job.settings.baselines]
    signatures: dict[str, dict[str, Any]] = {}
    due = _asked(job.settings, chosen)
    for place, (name, examiner, model) in enumerate(due, 1):
        column, signed = _column(job, run, material, models, name, examiner, model)
        columns.append(column)
        signatures[column.title] = signed
        cost = column.cost
        done = f"{len(column.values)} of {len(column.grades)} graded, {cost.replies} replies, {column.seconds:.0f} s"
        screen.say(f"{place} of {len(due)}: {column.title}: {done}", screen.err)
    columns += lost(job.settings.models, material.items, unsound)
    columns = [replace(column, excluded=dict(material.lacks)) for column in columns]
    panel, asked = panel_of(job.settings.panel, material, chosen, columns) if job.settings.panel else (None, set())
    columns += panel.columns if panel else []
    played = _pairs(job, run, material, asked)
    return keep(Study(job.name, job.settings, material, chosen, columns, panel, played, signatures, written), job.state)


def prepared(job: ExaminerJob) -> tuple[Material, dict[str, Model]]:
    """What is to be graded, and by whom; `SettingsError` or `SourceError` for what cannot be asked."""
    if (job.items is None) == (job.edition is None):
        raise SettingsError("name the texts: --items FILE, or --edition EDITION for its graded reviews (one of them)")
    models = load_models(job.settings.models_file)
    wanted = [*job.settings.models, *(one.model for one in job.settings.generated.values())]
    for model in wanted:
        if model not in models:
            raise SettingsError(f"no model {model!r} in the models file; known: {', '.join(models)}")
    material = from_edition(job.state, job.edition, job.limit) if job.edition else from_file(job.items, job.limit)
    if job.settings.item not in (None, material.kind):
        raise SettingsError(f"item = {job.settings.item}, and the texts are of kind {material.kind}: leave item out")
    if not material.items:
        why = ", ".join(sorted(set(material.lacks.values())))
        raise SettingsError(f"none of {len(material.texts)} texts can be graded: {why}")
    chosen = grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    if job.settings.pairwise and not job.settings.models:
        raise SettingsError("pairwise needs an LM to ask: name models")
    if not job.settings.models and any(needs_model(job.settings, one) for one in chosen.examiners.values()):
        raise SettingsError('the examiners need an LM to ask: models = ["NAME"] in the settings, or --model NAME')
    if job.settings.panel:
        check_panel(job.settings.panel, chosen)
    return material, models


def needs_model(settings: StudySettings, examiner: Examiner) -> bool:
    """Whether *examiner* asks an LM of the models file."""
    by_lm = examiner.aggregation == "logprob" and settings.evaluation_lm is not None
    return examiner.form.answer != "nothing" and not by_lm


def _asked(settings: StudySettings, chosen: Grid) -> list[tuple[str, Examiner, str | None]]:
    """Every examiner with every LM it asks; with None where it asks none of the models file."""
    return [
        (name, examiner, model)
        for name, examiner in chosen.examiners.items()
        for model in (settings.models if needs_model(settings, examiner) else (None,))
    ]


def _column(
    job: ExaminerJob,
    run: Any,
    material: Material,
    models: Mapping[str, Model],
    name: str,
    examiner: Examiner,
    model: str | None,
) -> tuple[Column, dict[str, Any]]:
    started = time.monotonic()
    lm = job.settings.evaluation_lm if model is None else None
    grades = run.grade_items(model, job.desk, examiner, material.items, lm)
    binned, counts = bin_grades(examiner, grades)
    identity = steps.grader_of(examiner, model, job.desk, lm)[1]
    by = model or (identity.name if lm and examiner.aggregation == "logprob" else "")
    usd = _usd(sum((grade.cost for grade in grades), FREE), models.get(model or ""))
    taken = time.monotonic() - started
    column = Column(name, by, "examiner", tuple(binned), {}, counts.before, counts.after, taken, usd if model else 0.0)
    return column, asdict(identity) | {"signature": identity.lm_id}


def _usd(cost: Cost, model: Model | None) -> float | None:
    """What the replies cost at the prices of *model*, USD; None where they are unknown."""
    if model is None or model.price_in is None or model.price_out is None:
        return None
    return (cost.prompt_tokens * model.price_in + cost.reply_tokens * model.price_out) / 1e6


def _pairs(job: ExaminerJob, run: Any, material: Material, asked: set[str]) -> Sequence[dict[str, Any]]:
    if job.settings.pairwise is None:
        return []
    texts = [text for text in material.texts if text.item_id not in material.lacks]
    pairs = pairs_of(texts, job.settings.pairwise)
    said = {model: run.prefer_pairs(model, job.desk, pairs, material.kind) for model in job.settings.models}
    return reports(pairs, said, texts, job.settings.pairwise, job.settings.panel, asked)

"""The job of an examiner study: checks it before the study starts, and estimates its requests and cost.

An estimate sends nothing. Chats in which an LM writes an examiner's instructions are not counted. The examiner's own
chats are estimated with placeholder instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gre_bench.catalogs.models import Model
from gre_bench.catalogs.models import load as load_models
from gre_bench.core.errors import SettingsError
from gre_bench.examiners import pairwise
from gre_bench.examiners.examiner import Examiner, chats, filter_chat
from gre_bench.examiners.grading import filter_sampling, samplings
from gre_bench.pipeline.runs.studies import over_budget, quoted
from gre_bench.studies.examiners.inputs import GradedItems, StudySettings, from_edition, from_file, grid
from gre_bench.studies.examiners.panel import check_panel, pairs_of
from gre_bench.studies.examiners.results import KIND
from gre_bench.writing.catalog import WriterContext, open_examiner, open_logprobs, study_account

if TYPE_CHECKING:
    from gre_bench.pipeline.runs.studies import Asking


@dataclass(frozen=True, slots=True)
class ExaminerJob:
    """An examiner study to run.

    - *items*: a file with the texts to grade. If it is None, the graded reviews of *edition* are the texts.
    - *limit*: the number of texts to use; None means all.
    - *again*: whether to repeat a request to which an earlier run got a refusal or an empty reply.
    - *state*: the folder that keeps everything a run makes.
    """

    name: str
    settings: StudySettings
    items: Path | None = None
    edition: str | None = None
    limit: int | None = None
    again: bool = False
    state: Path = Path("state")

    @property
    def writer_context(self) -> WriterContext:
        """What a text writer needs: the models file, the reply archive, the account and its budget."""
        return WriterContext(self.state / "replies", self.settings.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.settings.budget)  # fmt: skip


def prepared(job: ExaminerJob) -> tuple[GradedItems, dict[str, Model]]:
    """Checks *job*; returns the texts to be graded, and all LMs of the models file by name.

    Raises `SettingsError` or `SourceError`, before anything is sent, if the study cannot be run.
    """
    if (job.items is None) == (job.edition is None):
        raise SettingsError("name the texts: --items FILE, or --edition EDITION for its graded reviews (one of them)")
    models = load_models(job.settings.models_file)
    wanted = [*job.settings.models, *(generated.model for generated in job.settings.generated.values())]
    for model in wanted:
        if model not in models:
            raise SettingsError(f"no model {model!r} in the models file; known: {', '.join(models)}")
    material = from_file(job.items, job.limit) if job.items else from_edition(job.state, job.edition or "", job.limit)
    if job.settings.item not in (None, material.kind):
        raise SettingsError(f"item = {job.settings.item}, and the texts are of kind {material.kind}: leave item out")
    if not material.items:
        why = ", ".join(sorted(set(material.lacks.values())))
        raise SettingsError(f"none of {len(material.texts)} texts can be graded: {why}")
    chosen = grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    if job.settings.pairwise and not job.settings.models:
        raise SettingsError("pairwise needs an LM to ask: name models")
    if not job.settings.models and any(needs_model(job.settings, examiner) for examiner in chosen.examiners.values()):
        raise SettingsError('the examiners need an LM to ask: models = ["NAME"] in the settings, or --model NAME')
    if job.settings.panel:
        check_panel(job.settings.panel, chosen)
    return material, models


def needs_model(settings: StudySettings, examiner: Examiner) -> bool:
    """Returns whether *examiner* sends requests to an LM of the models file.

    Two kinds of examiners do not: the random baseline, and an examiner that reads probabilities of the evaluation LM.
    """
    by_lm = examiner.aggregation == "logprob" and settings.evaluation_lm is not None
    return examiner.form.answer != "nothing" and not by_lm


def estimate(job: ExaminerJob) -> dict[str, Any]:
    """Returns the numbers of texts and examiners, and one row per LM with its requests, tokens and cost.

    The rows are those of `quoted`. ``over_budget`` names the budget limits that the study may exceed. Retries are not
    counted. A chat that several examiners share is counted once for each examiner. Raises `SettingsError` or
    `SourceError` if the study cannot be run.
    """
    material, _ = prepared(job)
    items, context = material.items, job.writer_context
    chosen = grid(job.settings, material.kind, dict.fromkeys(job.settings.generated, "Not yet written."))
    pairs = pairs_of(material.texts, job.settings.pairwise) if job.settings.pairwise else []
    rows = []
    for name in job.settings.models:
        plain = open_examiner(name, context)
        asking: list[Asking] = []
        for examiner in chosen.examiners.values():
            if not needs_model(job.settings, examiner):
                continue
            writer = open_logprobs(name, context) if examiner.aggregation == "logprob" else plain.writer
            item_chats = [chat for item in items for chat in chats(examiner, item)]
            asking += [(writer, item_chats, sampling) for sampling in samplings(examiner, plain.sampling)]
            if examiner.filtering:
                filters = [filter_chat(examiner, item) for item in items]
                asking.append((plain.writer, filters, filter_sampling(examiner, plain.sampling)))
        asking.append((plain.writer, pairwise.chats(pairs, material.kind), pairwise.SAMPLING))
        rows.append(quoted(name, asking))
    return {
        "study": job.name, "texts": len(material.texts), "excluded": len(material.lacks),
        "examiners": len(chosen.examiners), "models": rows, "over_budget": over_budget(context, rows),
    }  # fmt: skip

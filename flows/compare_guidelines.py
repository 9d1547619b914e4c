"""Compares LM ratings under guidelines with human ratings: which guideline brings an LM closest to humans?

    papers and human ratings → a rating of each paper by each model under each condition → RMSE, tests, tables

"Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review". Every reply is archived before
it is read, so a study that is killed at any point can be started again and pays for nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prefect import flow

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import digest
from gre_bench.core.settings import BudgetSettings
from gre_bench.guidelines.ratings import Rating
from gre_bench.pipeline.runs.endings import ended
from gre_bench.pipeline.runs.quote import over_budget, quoted
from gre_bench.pipeline.runs.studies import bounded
from gre_bench.prompts.conditions import Condition
from gre_bench.studies.guidelines.inputs import RatedPapers, conditions, from_edition, from_files, from_reviews
from gre_bench.studies.guidelines.results import KIND, Study, keep, study_folder
from gre_bench.tasks import examine, steps
from gre_bench.tasks.protocol import Steps
from gre_bench.writing.catalog import WriterContext, study_account


@dataclass(frozen=True, slots=True)
class GuidelineJob:
    """A study: its *name*, the models, the conditions, and the papers to rate.

    The papers are those of an *edition*, or of the files *papers* and *ratings*. *guidelines*: the user's own files, by
    name. *limit*: use only the first papers. *again*: ask again if earlier runs got a refusal or an empty reply.
    """

    name: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    papers: Path | None = None
    ratings: Path | None = None
    edition: str | None = None
    guidelines: Mapping[str, Path] = field(default_factory=dict)
    models_file: Path | None = None
    limit: int | None = None
    again: bool = False
    seed: int = 0
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)

    @property
    def writer_context(self) -> WriterContext:
        """The context of the study's LMs: models file, reply archive, spending account and budget."""
        return WriterContext(self.state / "replies", self.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.budget)  # fmt: skip


@flow(name="compare-guidelines", flow_run_name="{job.name}", validate_parameters=True, persist_result=False)
def compare_guidelines(job: GuidelineJob) -> dict[str, Any]:
    """Compares guidelines as *job* says; the summary has the results of each condition and the folder of the files."""
    return ended(compare, job, steps.under_prefect())


def compare(job: GuidelineJob, run: Steps) -> dict[str, Any]:
    """Does the work of `compare_guidelines` with the steps *run*, and returns its summary.

    *run* is ``steps.under_prefect()`` or ``steps.undecorated()``.
    """
    material, chosen = prepared(job)
    papers = list(material.contents.items())
    ratings: list[Rating] = []
    with bounded(job.writer_context, study_folder(job.state, job.name, material.source)) as status:
        for model in job.models:
            for condition in chosen:
                ratings += run.rate_papers(model, job.writer_context, condition, papers)
        signed = {f"{model} · {condition.name}": signature(job, model, condition)
                  for model in job.models for condition in chosen}  # fmt: skip
        summary = keep(Study(job.name, material.source, ratings, material.human, signed, job.seed), job.state)
        status.say(summary["outcome"], summary["message"])
    return summary


def compare_given(name: str, reviews: Path, state: Path, seed: int = 0) -> dict[str, Any]:
    """Does as `compare`, with LM reviews and human ratings from the folder *reviews*; asks no LM.

    *name* is the study's name. `gre_bench.ingest.datasets.rated_reviews` states the form of the files. *seed* is that
    of the bootstrap.
    """
    ratings, human, source = from_reviews(reviews)
    study_folder(state, name, source)
    return keep(Study(name, source, ratings, human, {}, seed), state)


def prepared(job: GuidelineJob) -> tuple[RatedPapers, list[Condition]]:
    """Returns the papers and the conditions; raises `SettingsError` or `SourceError` if they cannot be used."""
    if not job.models:
        raise SettingsError("name at least one model of the models file: --model NAME")
    for model in job.models:
        examine.guided(model, job.writer_context)
    chosen = conditions(job.conditions, job.guidelines)
    if job.edition and (job.papers or job.ratings):
        raise SettingsError("an edition has papers and ratings of its own: leave out --papers-file and --ratings")
    if job.edition:
        return from_edition(job.state, job.edition, job.limit), chosen
    if not job.papers or not job.ratings:
        raise SettingsError("name the papers: --edition EDITION, or --papers-file FILE and --ratings FILE")
    return from_files(job.papers, job.ratings, job.limit), chosen


def signature(job: GuidelineJob, model: str, condition: Condition) -> dict[str, str]:
    """Returns what a rating depends on besides the paper: identity of the LM, and digests of sampling and prompt."""
    lm = examine.guided(model, job.writer_context)
    return {
        "writer": lm.writer.identity,
        "sampling": digest(asdict(lm.sampling)),
        "condition": condition.name,
        "template": condition.template,
        "sha256": condition.sha256,
    }


def estimate(job: GuidelineJob) -> dict[str, Any]:
    """Returns the estimated number and cost of the requests that the study still needs; sends nothing.

    ``models`` has one row per model, as `quoted` returns it. ``over_budget`` names the limits that the requests may
    exceed.
    """
    material, chosen = prepared(job)
    able = [content for content in material.contents.values() if content]
    rows = []
    for model in job.models:
        lm = examine.guided(model, job.writer_context)
        chats = [condition.chat(content) for condition in chosen for content in able]
        rows.append(quoted(model, [(lm.writer, chats, lm.sampling)]))
    return {"study": job.name, "papers": len(able), "without_text": len(material.contents) - len(able),
            "conditions": [condition.name for condition in chosen], "models": rows,
            "over_budget": over_budget(job.writer_context, rows)}  # fmt: skip

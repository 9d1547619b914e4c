"""Compares LM ratings under guidelines with human ratings: with which guideline is an LM closest to humans?

    papers and human ratings → a rating of each paper by each model under each condition → RMSE, tests, tables

A condition is a variant of the prompt for reviews: with one guideline, or without any (see "Evaluating the Impact of
Reviewer Guideline Design on LLM-Based Automated Peer Review"). Every reply is archived before it is read, so a study
that is killed and continued pays for nothing twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import digest
from gre_bench.core.settings import BudgetSettings
from gre_bench.pipeline.runs.running_studies import estimate_request_cost, list_exceeded_budgets, run_within_budget
from gre_bench.prompts.conditions import GuidelineCondition
from gre_bench.studies.guidelines import (
    KIND,
    RatedPapers,
    load_conditions,
    load_rated_papers_from_edition,
    load_rated_papers_from_files,
    load_ratings_from_folder,
    make_study_folder,
    write_guideline_study,
)
from gre_bench.tasks import examine, steps
from gre_bench.writing.writers import WriterContext, study_account


@dataclass(frozen=True, slots=True)
class GuidelineJob:
    """A study that compares guidelines: its models, its conditions, and the papers to rate.

    - *models*: names in the models file. *conditions*: names of variants of the prompt for reviews.
    - *papers*, *ratings*: files with the papers and the human ratings. Both may come from an *edition* instead.
    - *guidelines*: the user's own guidelines, name → file.
    - *limit*: how many papers to use, counted from the first; None means all.
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
    state: Path = Path("state")
    budget: BudgetSettings = field(default_factory=BudgetSettings)

    @property
    def writer_context(self) -> WriterContext:
        return WriterContext(self.state / "replies", self.models_file, self.again,
                    account=study_account(KIND, self.name), budget=self.budget)  # fmt: skip


def run_guideline_comparison(job: GuidelineJob) -> dict[str, Any]:
    """Compares guidelines as *job* says; the summary has each condition's results, and the study's folder.

    A condition is a variant of the prompt for reviews: with one guideline, or without any.
    """
    material, chosen = load_papers_and_conditions(job)
    papers, asked_for = list(material.contents.items()), list(product(job.models, chosen))
    with run_within_budget(job.writer_context, make_study_folder(job.state, job.name, material.source)) as say:
        ratings = [
            rating
            for model, condition in asked_for
            for rating in steps.rate_papers(model, job.writer_context, condition, papers)
        ]
        signed = {
            f"{model} · {condition.name}": rating_signature(job, model, condition) for model, condition in asked_for
        }
        summary = write_guideline_study(job.state, job.name, material.source, ratings, material.human, signed)
        say(summary["outcome"], summary["message"])
    return summary


def compare_guidelines_of_given_reviews(name: str, reviews: Path, state: Path) -> dict[str, Any]:
    """Does the work of `run_guideline_comparison` with LM reviews and human ratings from the folder *reviews*.

    Sends no requests. `gre_bench.ingest.datasets.rated` describes the files in *reviews*.
    """
    ratings, human, source = load_ratings_from_folder(reviews)
    make_study_folder(state, name, source)
    return write_guideline_study(state, name, source, ratings, human, {})


def load_papers_and_conditions(job: GuidelineJob) -> tuple[RatedPapers, list[GuidelineCondition]]:
    """Returns the papers of *job* with their human ratings, and the conditions (variants of the prompt for reviews).

    Raises `SettingsError` or `SourceError` if the job cannot be done.
    """
    if not job.models:
        raise SettingsError("name at least one model of the models file: --model NAME")
    for model in job.models:
        examine.open_examiner_lm(model, job.writer_context)
    chosen = load_conditions(job.conditions, job.guidelines)
    if job.edition and (job.papers or job.ratings):
        raise SettingsError("an edition has papers and ratings of its own: leave out --papers-file and --ratings")
    if job.edition:
        return load_rated_papers_from_edition(job.state, job.edition, job.limit), chosen
    if not job.papers or not job.ratings:
        raise SettingsError("name the papers: --edition EDITION, or --papers-file FILE and --ratings FILE")
    return load_rated_papers_from_files(job.papers, job.ratings, job.limit), chosen


def rating_signature(job: GuidelineJob, model: str, condition: GuidelineCondition) -> dict[str, str]:
    """Returns what a rating depends on besides the paper: the LM, a digest of its sampling options, and the prompt."""
    lm = examine.open_examiner_lm(model, job.writer_context)
    return {
        "writer": lm.writer.identity,
        "sampling": digest(asdict(lm.sampling)),
        "condition": condition.name,
        "template": condition.template,
        "sha256": condition.sha256,
    }


def estimate_comparison_cost(job: GuidelineJob) -> dict[str, Any]:
    """Returns the estimated number and cost of the requests that the study still needs; sends nothing.

    ``models`` has one row per model (see `estimate_request_cost`), and ``over_budget`` one line for each limit that may
    be exceeded.
    """
    material, chosen = load_papers_and_conditions(job)
    able = [content for content in material.contents.values() if content]
    rows = []
    for model in job.models:
        lm = examine.open_examiner_lm(model, job.writer_context)
        chats = [condition.chat(content) for condition in chosen for content in able]
        rows.append(estimate_request_cost(model, [(lm.writer, chats, lm.sampling)]))
    return {"study": job.name, "papers": len(able), "without_text": len(material.contents) - len(able),
            "conditions": [condition.name for condition in chosen], "models": rows,
            "over_budget": list_exceeded_budgets(job.writer_context, rows)}  # fmt: skip

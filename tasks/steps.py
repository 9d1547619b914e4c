"""Every Prefect task, in pipeline order. Plain values in, plain values out, over a batch; none opens the store.

`undecorated` gives the same functions without Prefect: everything works with them too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from gre_bench.changes import catalog as changes
from gre_bench.changes.catalog import CHANGES
from gre_bench.changes.material import Material
from gre_bench.core.errors import ChangeError, GreBenchError, Paused, SettingsError
from gre_bench.core.records import Chat, LMIdentity, Paper, Signature, SpanLogprob, Written
from gre_bench.core.settings import EmbedderSettings, EvaluationLMSettings, ScoringSettings
from gre_bench.guidelines.asking import Answer
from gre_bench.guidelines.ratings import Rating
from gre_bench.guidelines.review_points import FieldedReview
from gre_bench.ingest.openreview.fetch_steps import Asked, Reached, bring_notes, bring_papers, freeze
from gre_bench.ingest.pdf.reader import PdfReader
from gre_bench.ingest.pdf.text import PdfText
from gre_bench.ingest.records.paper_text import body_of
from gre_bench.ingest.snapshot.snapshot import Snapshot
from gre_bench.lm.catalog import open_lm
from gre_bench.lm.chats import chat_lm
from gre_bench.metrics.catalog import EXAMINER, Recipe, recipe_of
from gre_bench.metrics.scoring import Metric, MetricWork, Scored, score
from gre_bench.metrics.signing import NOTHING, signature
from gre_bench.prompts.conditions import Condition
from gre_bench.writing.catalog import Desk, scribe, writes_reviews
from gre_bench.writing.examiner import ExaminerLM, open_examiner, open_logprobs

if TYPE_CHECKING:
    from gre_bench.examiners.asking import Asked as Instructed
    from gre_bench.examiners.examiner import Examiner, ItemKind
    from gre_bench.examiners.grading import Grade
    from gre_bench.examiners.metric import Grader
    from gre_bench.examiners.panel.pairwise import Pair, Preference
    from gre_bench.examiners.wordings import Item
    from gre_bench.tuning.cache_ngram import HeldOut
    from gre_bench.tuning.pairs import JudgedPaper, Metric
    from gre_bench.tuning.settings import TuningSettings

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Instruments:
    """What metrics ask: an evaluation LM, an embedder, an examiner at its desk. Each is opened if a metric asks it."""

    evaluation_lm: EvaluationLMSettings
    embedder: EmbedderSettings
    desk: Desk


def _worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """Faults of the moment are tried again; what the user must mend is not."""
    return not isinstance(state.result(raise_on_failure=False), GreBenchError)


def _show_pause(_task: Any, run: Any, state: Any) -> None:
    """Has a task run that a pause ended shown as ``Paused`` and completed: nothing failed, the next run goes on.

    To the flow the pause is raised all the same; the state it failed in stays in the task run's history.
    """
    pause = state.result(raise_on_failure=False)
    if not isinstance(pause, Paused):
        return
    from prefect.states import Completed
    from prefect.utilities.engine import emit_task_run_state_change_event

    shown = Completed(name="Paused", message=str(pause), state_details=state.state_details)
    run.state, run.state_id, run.state_type, run.state_name = shown, shown.id, shown.type, shown.name
    emit_task_run_state_change_event(run, initial_state=state, validated_state=shown)


WRITING: dict[str, Any] = {
    "tags": ["writing"],
    "retries": 2,
    "retry_delay_seconds": [2, 20],
    "retry_condition_fn": _worth_retrying,
    "on_failure": [_show_pause],
    "timeout_seconds": 12 * HOUR,
    "cache_policy": NO_CACHE,
    "persist_result": False,
}


FETCHING: dict[str, Any] = {
    "tags": ["openreview"],
    "timeout_seconds": 48 * HOUR,
    "cache_policy": NO_CACHE,
    "persist_result": False,
}


@task(name="fetch notes", task_run_name="notes of {asked.take}", **FETCHING)
def fetch_notes(asked: Asked) -> Reached:
    """Submissions and reviews of a venue-year into the fetch's journal, as far as OpenReview allows."""
    return bring_notes(asked, secret)


@task(name="fetch papers", task_run_name="papers of {asked.take}", **FETCHING)
def fetch_papers(asked: Asked) -> Reached:
    """Versions and PDFs of the sampled papers into the fetch's journal, as far as OpenReview allows."""
    return bring_papers(asked, secret)


@task(name="seal snapshot", tags=["cpu"], timeout_seconds=HOUR, cache_policy=NO_CACHE, persist_result=False)
def seal_snapshot(asked: Asked) -> dict[str, Any]:
    """The snapshot of what was fetched: its folder, digest and counts."""
    return freeze(asked)


def secret(where: str) -> str:
    """What ``env:NAME`` (a variable of the environment) or ``block:NAME`` (a Prefect Secret) holds; empty if unset."""
    kind, _, name = where.partition(":")
    if kind == "env":
        return os.environ.get(name, "").strip()
    from prefect.blocks.system import Secret

    try:
        return str(Secret.load(name).get())
    except ValueError:
        raise SettingsError(f"no Prefect Secret block {name!r}; make it, or name a variable: env:NAME") from None


@task(name="read papers", tags=["cpu"], timeout_seconds=2 * HOUR, cache_policy=NO_CACHE, persist_result=False)
def read_papers(snapshot: str, paper_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Texts of some papers of a snapshot, rows of the table ``texts``; a paper without PDF or text has no row.

    Each row has *words* too: (page, words by fate) of each page, or of page 0 for a text that is given.

    PDFs are read in child processes with limits, as many at a time as there are cores.
    """
    opened = Snapshot.open(Path(snapshot))
    rows = {paper_id: _given_text(paper_id, opened.text(paper_id)) for paper_id in paper_ids}
    # Bytes are fetched one file at a time, as each is read: hundreds of PDFs do not fit into memory.
    known = opened.papers()
    due = {paper_id: known[paper_id]["pdf"] for paper_id in paper_ids if rows[paper_id] is None and paper_id in known}
    due = {paper_id: sha256 for paper_id, sha256 in due.items() if sha256}
    with PdfReader() as reader:
        for paper_id, read in reader.read_all(due, lambda paper_id: opened.pdf(paper_id) or b""):
            rows[paper_id] = _pdf_text(paper_id, due[paper_id], read)
    return [row for row in rows.values() if row]


def writer_identity(name: str, task_name: str, desk: Desk) -> str:
    """What of the writer *name* goes into signatures; `SettingsError` if there is no such writer."""
    return scribe(name, desk).identity(task_name)


def reviewers_among(names: Sequence[str], desk: Desk) -> list[str]:
    """Those of *names* that can be asked for reviews; the others are known by reviews that were imported."""
    return [name for name in names if writes_reviews(name, desk)]


@task(name="write reviews", task_run_name="reviews by {name}", **WRITING)
def write_reviews(name: str, desk: Desk, papers: Sequence[Paper]) -> list[Written]:
    """Reviews of *papers* by the candidate *name* (Xu et al. 2025, C.3)."""
    return scribe(name, desk).reviews(papers)


def change_identity(change: str, name: str, desk: Desk, like: Material) -> str:
    """What of *change*, made by a rule or by the writer *name*, goes into the record of its texts."""
    made, task = changes.identity(change, like), CHANGES[change].task
    return made if task is None else f"{scribe(name, desk).identity(task)} · {made}"


@task(name="write changes", task_run_name="{change} by {name}", **WRITING)
def write_changes(change: str, name: str, desk: Desk, materials: Sequence[Material]) -> list[Written]:
    """*materials* changed, by rule or by the writer *name* (Xu et al. 2025, D.3 and D.4)."""
    made: dict[str, Written] = {}
    for item in materials:
        try:
            found = changes.check(change, "review", item)
            if found.task is None:
                made[item.key] = Written(item.key, changes.apply(change, "review", item), "ok")
        except ChangeError as error:
            made[item.key] = Written(item.key, None, error.code, str(error))
    if due := [item for item in materials if item.key not in made]:
        made |= {item.item: item for item in scribe(name, desk).changed(CHANGES[change].task or "", due)}
    return [made[item.key] for item in materials]


@task(name="write judgments", task_run_name="judgments by {name}", **WRITING)
def write_judgments(name: str, desk: Desk, reviews: Sequence[tuple[str, str]]) -> list[Written]:
    """Judgments of *reviews*, each (review id, text), by the writer *name* (Xu et al. 2025, C.1)."""
    return scribe(name, desk).judgments(reviews)


@task(name="write synopses", task_run_name="synopses by {name}", **WRITING)
def write_assw(name: str, desk: Desk, papers: Sequence[Paper]) -> list[Written]:
    """Author-stated strengths and weaknesses of *papers* by the writer *name* (Xu et al. 2025, C.4)."""
    return scribe(name, desk).assw(papers)


@task(name="rate under guideline", task_run_name="{name} under {condition.name}", **WRITING)
def rate_papers(name: str, desk: Desk, condition: Condition, papers: Sequence[tuple[str, str]]) -> list[Rating]:
    """Ratings of *papers*, each (paper id, content), by the LM *name* under a guideline *condition*."""
    from gre_bench.guidelines.reviewing import rate

    lm = guided(name, desk)
    return rate(lm.writer, lm.sampling, name, condition, papers)


@task(name="judge review quality", task_run_name="{criterion} by {name}", **WRITING)
def judge_reviews(name: str, desk: Desk, criterion: str, reviews: Sequence[FieldedReview]) -> list[Answer[int]]:
    """Points of *reviews* for one of the criteria that an LM judges, by the LM *name*."""
    from gre_bench.guidelines.asking import ask
    from gre_bench.guidelines.consistency import CRITERIA

    lm, asked = guided(name, desk), CRITERIA[criterion]
    return ask(lm.writer, lm.sampling, [asked.chat(review) for review in reviews], asked.points)


@task(name="generate guideline", task_run_name="guideline by {name}", **WRITING)
def generate_guideline(name: str, desk: Desk, reviews: Sequence[FieldedReview]) -> Answer[str]:
    """A guideline made from a group of *reviews* by the LM *name*."""
    from gre_bench.guidelines.generation import generate

    lm = guided(name, desk)
    return generate(lm.writer, lm.sampling, reviews)


def guided(name: str, desk: Desk) -> ExaminerLM:
    """The LM *name* of the models file, for work under guidelines; `SettingsError` names the known ones."""
    from gre_bench.catalogs.models import load as load_models

    if name not in (models := load_models(desk.models)):
        raise SettingsError(f"no model {name!r} in the models file; known: {', '.join(models)}")
    return open_examiner(name, desk)


def grader_of(
    examiner: Examiner, name: str | None, desk: Desk, evaluation_lm: EvaluationLMSettings | None = None
) -> tuple[Grader, LMIdentity]:
    """What grades as *examiner* says, asking the LM *name* of the models file, and what of both goes into signatures.

    Aggregation logprob asks the *evaluation_lm* if there is one, else the endpoint's likeliest tokens.
    """
    from gre_bench.examiners.metric import asked, by_endpoint, by_lm, by_nobody, by_writer

    if examiner.form.answer == "nothing":
        return by_nobody(examiner), asked(examiner)
    if examiner.aggregation == "logprob" and evaluation_lm is not None:
        lm = chat_lm(open_lm(evaluation_lm))
        return by_lm(examiner, lm), asked(examiner, lm=lm.identity)
    found = open_examiner(name, desk)
    if examiner.aggregation != "logprob":
        return by_writer(examiner, found.writer, found.sampling), asked(examiner, found.writer.identity, found.sampling)
    shown = open_logprobs(name, desk)
    return by_endpoint(examiner, shown, found.writer, found.sampling), asked(examiner, shown.identity, found.sampling)


@task(name="grade by examiner", task_run_name="{examiner.name} by {name}", **WRITING)
def grade_items(
    name: str | None,
    desk: Desk,
    examiner: Examiner,
    items: Sequence[Item],
    evaluation_lm: EvaluationLMSettings | None = None,
) -> list[Grade]:
    """Grades of *items* as *examiner* says, by the LM *name*: one grade or problem each, in order, binning aside."""
    return grader_of(examiner, name, desk, evaluation_lm)[0](items)


@task(name="prefer one of two", task_run_name="pairs by {name}", **WRITING)
def prefer_pairs(name: str, desk: Desk, pairs: Sequence[Pair], item: ItemKind) -> list[Preference]:
    """Which text of each of *pairs* the LM *name* prefers, asked in both orders."""
    from gre_bench.examiners.panel.pairwise import prefer

    return prefer(pairs, open_examiner(name, desk).writer, item)


@task(name="write instructions", task_run_name="instructions by {name}", **WRITING)
def write_instructions(name: str, desk: Desk, chat: Chat) -> Instructed[str]:
    """Instructions for examiners by the LM *name*, sound by the checks of `gre_bench.examiners.generated`."""
    from gre_bench.examiners.asking import ask
    from gre_bench.examiners.generated import sound

    found = open_examiner(name, desk)
    return ask(found.writer, [chat], found.sampling, sound)[0]


@task(name="sign metrics", tags=["evaluation-lm"], timeout_seconds=HOUR, cache_policy=NO_CACHE, persist_result=False)
def sign_metrics(
    instruments: Instruments, scoring: ScoringSettings, writer: str, assw_writer: str | None = None
) -> tuple[LMIdentity, dict[str, Signature]]:
    """Identity of the evaluation LM (of nothing, if no metric asks it), and the signature of each metric's scores."""
    recipes = {name: recipe_of(name) for name in scoring.metrics}
    by_logprobs = any(recipe.formula for recipe in recipes.values())
    identity = open_lm(instruments.evaluation_lm).identity if by_logprobs else NOTHING
    return identity, {
        name: signature(
            recipe,
            identity if recipe.formula else _asked(recipe, instruments, scoring),
            scoring,
            writer,
            assw_writer,
        )
        for name, recipe in recipes.items()
    }


def _asked(recipe: Recipe, instruments: Instruments, scoring: ScoringSettings) -> LMIdentity:
    """Identity of what *recipe* asks that asks no evaluation LM."""
    if recipe.asks == "embedder":
        from gre_bench.lm.embedders.catalog import open_embedder

        return open_embedder(instruments.embedder).identity
    if recipe.name.startswith(EXAMINER):
        from gre_bench.examiners.metric import check_metric

        examiner = _examiner(recipe, scoring)
        check_metric(examiner)
        return grader_of(examiner, scoring.examiner, instruments.desk)[1]
    if recipe.asks == "writer":
        from gre_bench.metrics.lm_examiner import PROMPT

        return open_examiner(scoring.examiner, instruments.desk).identity(PROMPT)
    from gre_bench.metrics.overlap import OVERLAPS

    return replace(NOTHING, engine_version=OVERLAPS[_MEASURES.get(recipe.name, recipe.name)].identity)


def _opened(recipe: Recipe, signature_id: str, instruments: Instruments, scoring: ScoringSettings) -> Metric:
    """The metric of *recipe* that asks no evaluation LM."""
    if recipe.asks == "embedder":
        from gre_bench.lm.embedders.catalog import open_embedder
        from gre_bench.metrics.bertscore import BertScore

        return BertScore(open_embedder(instruments.embedder), signature_id)
    if recipe.name.startswith(EXAMINER):
        from gre_bench.examiners.metric import ExaminerMetric

        examiner = _examiner(recipe, scoring)
        return ExaminerMetric(examiner, grader_of(examiner, scoring.examiner, instruments.desk)[0], signature_id)
    if recipe.asks == "writer":
        from gre_bench.metrics.lm_examiner import LMExaminer

        found = open_examiner(scoring.examiner, instruments.desk)
        return LMExaminer(found.writer, found.sampling, signature_id)
    from gre_bench.metrics.overlap import OVERLAPS, Overlap

    return Overlap(OVERLAPS[_MEASURES.get(recipe.name, recipe.name)], signature_id)


def _examiner(recipe: Recipe, scoring: ScoringSettings) -> Examiner:
    """The examiner of the settings that *recipe* names; `SettingsError` for a combination that cannot be."""
    from gre_bench.examiners.examiner import examiner_of

    name = recipe.name.removeprefix(EXAMINER)
    return examiner_of(scoring.examiners[name], f"scoring.examiners.{name}")


_MEASURES = {"judgments_length": "length"}
"""Metrics that are a measure of another name, of another text."""


@task(
    name="score papers",
    task_run_name="score {name}",
    tags=["evaluation-lm"],
    retries=2,
    retry_delay_seconds=[2, 20],
    retry_condition_fn=_worth_retrying,
    on_failure=[_show_pause],
    timeout_seconds=6 * HOUR,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def score_papers(
    name: str,
    instruments: Instruments,
    scoring: ScoringSettings,
    works: Sequence[MetricWork],
    known: Mapping[str, SpanLogprob],
) -> Scored:
    """Scores of all *works* of some papers; *known* spans (by address) are not computed again."""

    def other(recipe: Recipe, signature_id: str) -> Metric:
        return _opened(recipe, signature_id, instruments, scoring)

    return score(works, scoring, lambda: open_lm(instruments.evaluation_lm), other, known)


@task(
    name="show leaderboard",
    tags=["report"],
    retries=1,
    timeout_seconds=300,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def show_leaderboard(edition: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """The leaderboard as a Prefect table artifact, ``leaderboard-<edition>``."""
    from prefect.artifacts import create_table_artifact

    key = "leaderboard-" + "".join(mark if mark.isalnum() else "-" for mark in edition.lower())
    create_table_artifact(key=key, table=artifact_rows(rows), description=f"GRE-bench {edition}: mean scores in nats")


def artifact_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """*rows* as an artifact takes them, which is JSON: nothing is an empty text, a day its ISO form."""
    return [{name: _cell(value) for name, value in row.items()} for row in rows]


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, date) else value


@task(
    name="train cache-ngram", tags=["training"], timeout_seconds=6 * HOUR, cache_policy=NO_CACHE, persist_result=False
)
def train_cache_ngram(papers: Sequence[Sequence[str]], kept: Sequence[Sequence[str]] | None, folder: Path) -> HeldOut:
    """Trains the evaluation LM on the judgments of *papers*, writes it to *folder*, gives its held-out figures."""
    from gre_bench.tuning.cache_ngram import save, train

    model, figures = train(papers, kept)
    save(model, folder)
    return figures


@task(
    name="fine-tune evaluation LM",
    tags=["training", "evaluation-lm"],
    timeout_seconds=48 * HOUR,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def fine_tune_lm(
    base: Path,
    papers: Sequence[JudgedPaper],
    kept: Sequence[JudgedPaper],
    metrics: Sequence[Metric],
    settings: TuningSettings,
    folder: Path,
    data: Mapping[str, Any],
) -> dict[str, Any]:
    """Fine-tunes the evaluation LM in *base* (Xu et al. 2025, appendix E) into *folder*; its training record."""
    from gre_bench.tuning.fine_tuning import fine_tune

    return fine_tune(base, papers, kept, metrics, settings, folder, data)


@task(
    name="fit mixture",
    tags=["training", "evaluation-lm"],
    timeout_seconds=24 * HOUR,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def fit_mixture(
    lm: EvaluationLMSettings, folder: Path, papers: Sequence[Sequence[str]], kept: Sequence[Sequence[str]]
) -> dict[str, Any]:
    """Fits a copying mixture over the evaluation LM of *lm* to *kept*, into *folder*; its figures there."""
    from gre_bench.tuning.token_mixture import fit_into

    return fit_into(folder, open_lm(lm), papers, kept)


def undecorated() -> SimpleNamespace:
    """The steps as plain functions: no engine, no server, no artifacts."""
    writing = (read_papers, write_reviews, write_changes, write_judgments, write_assw)
    training = (train_cache_ngram, fine_tune_lm, fit_mixture)
    fetching = (fetch_notes, fetch_papers, seal_snapshot)
    guidelines = (rate_papers, judge_reviews, generate_guideline)
    examiners = (grade_items, prefer_pairs, write_instructions)
    tasks = (*fetching, *writing, *guidelines, *examiners, sign_metrics, score_papers, *training)
    plain = {step.fn.__name__: step.fn for step in tasks}
    return SimpleNamespace(
        **plain,
        writer_identity=writer_identity,
        reviewers_among=reviewers_among,
        change_identity=change_identity,
        show_leaderboard=lambda edition, rows: None,
    )


def _given_text(paper_id: str, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    body, sha256 = body_of(text), hashlib.sha256(text.encode()).hexdigest()
    status = "doubtful" if body.doubts else "ok"
    row = {"paper_id": paper_id, "origin": "given", "sha256": sha256, "status": status, "pages": None}
    words = [(body.words.page, dict(body.words.words))]
    return row | {"abstract": body.abstract, "text": body.text, "notes": list(body.doubts), "words": words}


def _pdf_text(paper_id: str, sha256: str, read: PdfText) -> dict[str, Any]:
    """The row of a PDF, and its words by page and fate; where its status says that the text is not the paper's, it has
    none."""
    row = {"paper_id": paper_id, "origin": "pdf", "sha256": sha256, "status": read.status, "pages": read.pages}
    words = [(page.page, dict(page.words)) for page in read.words]
    return row | {"abstract": read.abstract, "text": read.usable, "notes": read.remarks(), "words": words}

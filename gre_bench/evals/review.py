"""The inspect_ai task ``gre_bench/review``, in which a model reviews the papers of an edition, and its scorers.

A `SingleReviewScorer` scores single reviews as the edition's board does: with the same writer of judgments, evaluation
LM and references. It reads a copy of the edition's database and stores nothing, so many evaluations can run during a
refresh. The scorers are GEM and GEM-S, in nats. inspect_ai's *mean* and *stderr* are computed as on boards. The scorers
also score any log whose samples are papers of an edition: ``inspect score LOG --scorer gre_bench/gem -S edition=KEY``.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.core.metrics import find_recipe
from gre_bench.core.records import Candidate, Paper, Sampling
from gre_bench.ingest.records.inspect_logs import extract_review_from_output, get_paper_id_of_sample, get_stop_reason
from gre_bench.metrics.cases import ReviewWithJudgments, SampledPaper, plan_edition_pairs
from gre_bench.metrics.scoring import MetricCases
from gre_bench.pipeline.importing import set_job_domain
from gre_bench.pipeline.own_reviews import find_judgments_writers, find_pilot_limit, format_rule_edition_command
from gre_bench.pipeline.pair_scoring import read_known_spans
from gre_bench.pipeline.planning import load_sample_entries, sampled_papers
from gre_bench.pipeline.runs.job import Job, read_last_settings
from gre_bench.prompts.library import load
from gre_bench.stats.intervals import clustered_error
from gre_bench.store import ReadersCopyStore, Store, missing_edition_error
from gre_bench.store.queries import CURRENT_SIGNATURES
from gre_bench.tasks import steps
from gre_bench.writing.lm_writer import build_paper_chat

METRICS = ("gem", "gem_s_abstract")
"""The metrics that can score a single review against the references of its paper."""
PROMPT = "review"

REVIEWER = "model"
"""The name of the scored candidate, which does not affect scores."""


@dataclass(frozen=True, slots=True)
class ReviewScore:
    """The scores of one review against the references of its paper, or the reason why it has none.

    *nats*: reference id → score in nats; references without a score are absent. *problem*: a code for the reason why
    the review or one of the references has no score; empty if there is none. *detail*: the problem in words.
    *judgments*: the judgments that were scored.
    """

    nats: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    detail: str = ""
    judgments: str | None = None


class SingleReviewScorer:
    """Scores single reviews as the board of *edition* does. Use `open_board` to make one."""

    def __init__(self, state: Path, edition: str):
        self._store = store = ReadersCopyStore(state, edition)
        self.key = store.key
        self._job = job = set_job_domain(Job(read_last_settings(store), state))
        current = {row["metric"]: row["signature_id"] for row in store.read(CURRENT_SIGNATURES)}
        if not current:
            raise SettingsError(f"edition {store.key} has no board yet; run: gre-bench refresh --edition {store.key}")
        self.metrics = tuple(metric for metric in METRICS if metric in current)
        if not self.metrics:
            raise SettingsError(
                f"the board of {store.key} has neither {' nor '.join(METRICS)}; it has {', '.join(current)}"
            )
        writer, configured = find_judgments_writers(store, job)
        name = job.settings.writing.judgments
        if writer is None or configured is None or name is None:
            raise SettingsError(
                f"{store.key} is scored with judgments by {writer}, which nothing here writes; make an edition of the "
                f"same papers whose judgments are written by rule: {format_rule_edition_command(job.settings)}"
            )
        self._writer, self._judged_by = writer, name  # the identity of the writer, and its name in the settings
        self._scoring = job.settings.scoring.model_copy(update={"metrics": self.metrics})
        self._lm, self.signatures = steps.sign_metrics(job.backends, self._scoring, self._writer)
        for name, signature in self.signatures.items():
            if signature.signature_id != current[name]:
                raise SettingsError(
                    f"{name} of {store.key} is signed {current[name]}, and now would be {signature.signature_id}; "
                    f"scores of different signatures are never mixed: gre-bench refresh --edition {store.key}"
                )
        entries = load_sample_entries(store, {}, self._writer, None, self._scoring.synopsis_of)
        self._entries = {entry.paper.paper_id: entry for entry in entries}
        self._lock = Lock()

    def papers(self, limit: int | None = None) -> list[Paper]:
        """Returns the first *limit* papers of the edition's sample; None means all papers that the board scores."""
        if limit is not None and limit < 1:
            raise SettingsError(f"limit {limit}: a review needs at least one paper")
        return sampled_papers(self._store, limit or find_pilot_limit(self._store))

    def score(self, metric: str, paper_id: str, review: str) -> ReviewScore:
        """Converts *review* to judgments and scores it by *metric* against the references of the paper *paper_id*.

        If the review cannot be scored, the result states the problem. Calls from several threads run one at a time,
        because they share one LM.
        """
        entry = self._entries.get(paper_id)
        if entry is None:
            return ReviewScore(problem="unknown_paper", detail=f"{paper_id} is not a paper of the sample of {self.key}")
        with self._lock:
            (written,) = steps.write_judgments(
                self._judged_by, self._job.writer_context, [(f"{paper_id}:{REVIEWER}", review)]
            )
            if not written.text:
                return ReviewScore(problem=written.outcome, detail=written.detail)
            return self._score_judgments(metric, entry, review, written.text)

    def _score_judgments(self, metric: str, entry: SampledPaper, review: str, judgments: str) -> ReviewScore:
        response = ReviewWithJudgments(f"{entry.paper.paper_id}:{REVIEWER}", review, {self._writer: judgments})
        planned_pairs = plan_edition_pairs(
            [replace(entry, responses={REVIEWER: response})],
            [Candidate(REVIEWER, "model")],
            find_recipe(metric),
            self._writer,
            self._scoring.form,
        )
        cases = tuple(pair.case for pair in planned_pairs if pair.case)
        lacking = next((pair for pair in planned_pairs if pair.case is None), None)
        problem, detail = (lacking.reason or "", lacking.detail or "") if lacking else ("", "")
        if not cases:
            return ReviewScore({}, problem, detail, judgments)
        works = [MetricCases(metric, self.signatures[metric].signature_id, cases)]
        known = read_known_spans(self._store, self._scoring, self._lm.lm_id, works)
        tools = self._job.backends
        scores = steps.score_papers(entry.paper.paper_id, tools, self._scoring, works, known).scores
        for item in scores:
            if item.problem is not None:
                problem, detail = item.problem.code, item.problem.message
        nats = {item.reference_id: item.value for item in scores if item.value is not None}
        return ReviewScore(nats, problem, detail, judgments)


def open_board(edition: str, state: str | Path = "state") -> SingleReviewScorer:
    """Returns the scorer of single reviews for *edition*, whose data is in the folder *state*.

    Returns the same object until the edition's data changes. Raises `SettingsError` if the edition does not exist or
    has no board with GEM or GEM-S. Also raises it if its writer of judgments is not available, or if new scores would
    have other signatures than the board.
    """
    store = Store(Path(state).resolve(), edition)
    if not store.exists:
        raise missing_edition_error(Path(state), store.key)
    return _open_cached_board(Path(state).resolve(), store.key, store.read_file.name)


@lru_cache(maxsize=2)
def _open_cached_board(state: Path, key: str, copy: str) -> SingleReviewScorer:
    return SingleReviewScorer(state, key)


@contextmanager
def errors_for_users() -> Iterator[None]:
    """Turns a `GreBenchError` into inspect_ai's `PrerequisiteError`, which inspect_ai shows as one line."""
    try:
        yield
    except GreBenchError as error:
        raise PrerequisiteError(str(error)) from None


@metric
def mean() -> Metric:
    """Returns the inspect_ai metric *mean*: the mean score in nats over all (review, reference) pairs, as on boards."""

    def compute_mean(scores: list[SampleScore]) -> float:
        values, _ = _split_values_and_papers(scores)
        return math.fsum(values) / len(values) if values else math.nan

    return compute_mean


@metric
def stderr() -> Metric:
    """Returns the inspect_ai metric *stderr*: the standard error of `mean`, clustered by paper; NaN below 2 papers."""

    def compute_stderr(scores: list[SampleScore]) -> float:
        values, papers = _split_values_and_papers(scores)
        return clustered_error(values, papers)[0] if len(set(papers)) > 1 else math.nan

    return compute_stderr


@scorer(metrics=[mean(), stderr()])
def gem(edition: str, state: str = "state") -> Scorer:
    """Returns the inspect_ai scorer GEM, which scores a review as the board of *edition* does (Xu et al. 2025, §3).

    *state*: the folder that holds everything a run makes.
    """
    return _make_scorer("gem", edition, state)


@scorer(metrics=[mean(), stderr()])
def gem_s_abstract(edition: str, state: str = "state") -> Scorer:
    """Returns the inspect_ai scorer GEM-S: like `gem`, but the evaluation LM also reads the paper's abstract (§3.2)."""
    return _make_scorer("gem_s_abstract", edition, state)


SCORERS = {"gem": gem, "gem_s_abstract": gem_s_abstract}


def _make_scorer(name: str, edition: str, state: str) -> Scorer:
    with errors_for_users():
        board = open_board(edition, state)
        if name not in board.metrics:
            raise PrerequisiteError(f"the board of {board.key} has no {name}; it has {', '.join(board.metrics)}")

    async def score(state: TaskState, target: Target) -> Score:
        review, problem = extract_review_from_output(state.output.completion, get_stop_reason(state.output))
        if review is None:
            return Score.unscored(reason=problem, explanation=f"the output is {problem}")
        paper_id = get_paper_id_of_sample(state.sample_id, state.metadata)
        scored = await anyio.to_thread.run_sync(board.score, name, paper_id, review)
        return _build_inspect_score(scored, board.signatures[name].signature_id)

    return score


def _build_inspect_score(scored: ReviewScore, signature_id: str) -> Score:
    """Returns *scored* as an inspect_ai score: the mean over the references, in nats.

    The metadata has the score for each reference. If there is none, the sample counts as unscored.
    """
    metadata = {"nats": scored.nats, "signature": signature_id}
    if not scored.nats:
        judged = {"answer": scored.judgments, "metadata": metadata}
        return Score.unscored(reason=scored.problem, explanation=scored.detail or scored.problem, **judged)
    value = math.fsum(scored.nats.values()) / len(scored.nats)
    lacking = f"some references have no score ({scored.problem}: {scored.detail})" if scored.problem else None
    return Score(value=value, answer=scored.judgments, explanation=lacking, metadata=metadata)


def _split_values_and_papers(scores: list[SampleScore]) -> tuple[list[float], list[str]]:
    """Returns (values, paper ids), two lists with one item per (review, reference) pair.

    The value of each pair is the mean score of its review.
    """
    values: list[float] = []
    papers: list[str] = []
    for index, item in enumerate(scores):
        count = len((item.score.metadata or {}).get("nats", ())) or 1
        values += [item.score.as_float()] * count
        papers += [str(item.sample_id if item.sample_id is not None else index)] * count
    return values, papers


_log = logging.getLogger(__name__)


@task
def review(edition: str, state: str = "state", limit: int | None = None) -> Task:
    """Returns the inspect_ai task: the model reviews papers of *edition*, and GEM and GEM-S score its reviews.

    *state*: the folder that holds everything a run makes. *limit*: review only this many papers, the first ones of the
    sample; None means all papers that the board scores. The prompt is from Xu et al. 2025, C.3. Temperature and token
    limit are the benchmark's defaults, unless inspect_ai's options override them. Papers without a text are skipped
    with a warning.
    """
    with errors_for_users():
        board = open_board(edition, state)
        papers = board.papers(limit)
        samples = [
            Sample(id=paper.paper_id, input=paper.whole, metadata={"paper_id": paper.paper_id, "title": paper.title})
            for paper in papers
            if paper.text
        ]
        lacking = [paper.paper_id for paper in papers if not paper.text]
        if not samples:
            raise SettingsError(f"none of the {len(papers)} papers of {board.key} has a text to review")
    if lacking:
        _log.warning("papers of %s without a text, which nobody reviews: %s", board.key, ", ".join(lacking))
    sampling = Sampling()
    return Task(
        dataset=MemoryDataset(samples, name=board.key),
        solver=review_prompt(),
        scorer=[SCORERS[metric](edition, state) for metric in board.metrics],
        config=GenerateConfig(temperature=sampling.temperature, max_tokens=sampling.max_tokens),
        metadata={
            "edition": board.key,
            "prompt_sha256": load(PROMPT).sha256,
            "signatures": {metric: signature.signature_id for metric, signature in board.signatures.items()},
            "papers_without_text": lacking,
        },
    )


@solver
def review_prompt() -> Solver:
    """Returns the solver that asks the model to review one paper, the sample's input (Xu et al. 2025, C.3)."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        chat = build_paper_chat(PROMPT, state.input_text)
        state.messages = [ChatMessageSystem(content=chat.system), ChatMessageUser(content=chat.user)]
        return await generate(state)

    return solve

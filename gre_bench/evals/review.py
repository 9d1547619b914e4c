"""The inspect_ai task ``gre_bench/review``, in which a model reviews the papers of an edition, and its scorers.

The scorers are GEM and GEM-S, in nats, with the metrics *mean* and *stderr* computed as on boards. They score any log
whose samples are papers of an edition: ``inspect score LOG --scorer gre_bench/gem -S edition=KEY``.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio.to_thread
from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from gre_bench.core.errors import GreBenchError, SettingsError
from gre_bench.core.records import Sampling
from gre_bench.evals.board import ReviewScore, open_board
from gre_bench.ingest.records.inspect_logs import paper_of, read_output, stop_of
from gre_bench.prompts.library import load
from gre_bench.stats.intervals import clustered_error
from gre_bench.writing.lm_writer import chat_of


@contextmanager
def errors_for_users() -> Iterator[None]:
    """Turns a `GreBenchError` raised in the block into inspect_ai's `PrerequisiteError`.

    inspect_ai shows that error as one line without a traceback.
    """
    try:
        yield
    except GreBenchError as error:
        raise PrerequisiteError(str(error)) from None


@metric
def mean() -> Metric:
    """Returns the inspect_ai metric *mean*: the mean score in nats over all (review, reference) pairs, as on boards."""

    def computed(scores: list[SampleScore]) -> float:
        values, _ = _pairs(scores)
        return math.fsum(values) / len(values) if values else math.nan

    return computed


@metric
def stderr() -> Metric:
    """Returns the inspect_ai metric *stderr*: the standard error of `mean` in nats, clustered by paper.

    It is NaN if there is only one paper.
    """

    def computed(scores: list[SampleScore]) -> float:
        values, papers = _pairs(scores)
        return clustered_error(values, papers)[0] if len(set(papers)) > 1 else math.nan

    return computed


@scorer(metrics=[mean(), stderr()])
def gem(edition: str, state: str = "state") -> Scorer:
    """Returns the inspect_ai scorer GEM: scores a review against the human reviews of its paper, as the board does.

    *edition*: the edition's name, such as ``ICLR-2025``. *state*: the folder that keeps everything a run makes.
    Source: Xu et al. 2025, §3.
    """
    return _scorer("gem", edition, state)


@scorer(metrics=[mean(), stderr()])
def gem_s_abstract(edition: str, state: str = "state") -> Scorer:
    """Returns the inspect_ai scorer GEM-S: as `gem`, but the evaluation LM also reads the paper's abstract.

    *edition*: the edition's name, such as ``ICLR-2025``. *state*: the folder that keeps everything a run makes.
    Source: Xu et al. 2025, §3.2.
    """
    return _scorer("gem_s_abstract", edition, state)


SCORERS = {"gem": gem, "gem_s_abstract": gem_s_abstract}


def _scorer(name: str, edition: str, state: str) -> Scorer:
    with errors_for_users():
        board = open_board(edition, state)
        if name not in board.metrics:
            raise PrerequisiteError(f"the board of {board.key} has no {name}; it has {', '.join(board.metrics)}")

    async def score(state: TaskState, target: Target) -> Score:
        review, problem = read_output(state.output.completion, stop_of(state.output))
        if review is None:
            return Score.unscored(reason=problem, explanation=f"the output is {problem}")
        paper_id = paper_of(state.sample_id, state.metadata)
        scored = await anyio.to_thread.run_sync(board.score, name, paper_id, review)
        return _as_score(scored, board.signatures[name].signature_id)

    return score


def _as_score(scored: ReviewScore, signature_id: str) -> Score:
    """Returns the scores of a review as one inspect_ai score: their mean over the references, in nats.

    The score's metadata has the value for each reference. A review without any value is marked as unscored.
    """
    metadata = {"nats": scored.nats, "signature": signature_id}
    if not scored.nats:
        judged = {"answer": scored.judgments, "metadata": metadata}
        return Score.unscored(reason=scored.problem, explanation=scored.detail or scored.problem, **judged)
    value = math.fsum(scored.nats.values()) / len(scored.nats)
    lacking = f"some references have no score ({scored.problem}: {scored.detail})" if scored.problem else None
    return Score(value=value, answer=scored.judgments, explanation=lacking, metadata=metadata)


def _pairs(scores: list[SampleScore]) -> tuple[list[float], list[str]]:
    """Returns (values, paper ids), two lists of the same length with one item for each (review, reference) pair.

    A review's mean over its references stands for the value of each pair.
    """
    values: list[float] = []
    papers: list[str] = []
    for index, item in enumerate(scores):
        count = len((item.score.metadata or {}).get("nats", ())) or 1
        values += [item.score.as_float()] * count
        papers += [str(item.sample_id if item.sample_id is not None else index)] * count
    return values, papers


PROMPT = "review"
_log = logging.getLogger(__name__)


@task
def review(edition: str, state: str = "state", limit: int | None = None) -> Task:
    """Returns the inspect_ai task: the model reviews papers of *edition*, and GEM and GEM-S score its reviews.

    *edition*: the edition's name, such as ``ICLR-2025``.
    *state*: the folder that keeps everything a run makes.
    *limit*: review only the first *limit* papers of the sample; None: all papers that the board scores.

    The prompt is that of Xu et al. 2025, C.3. Temperature and token limit are the benchmark's defaults, unless
    inspect_ai's options change them. Papers without a text are left out with a warning.
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
        chat = chat_of(PROMPT, state.input_text)
        state.messages = [ChatMessageSystem(content=chat.system), ChatMessageUser(content=chat.user)]
        return await generate(state)

    return solve

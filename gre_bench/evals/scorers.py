"""GEM and GEM-S as scorers of inspect_ai, in nats, with the metrics *mean* and *stderr* computed as on boards.

They score any log whose samples are papers of an edition: ``inspect score LOG --scorer gre_bench/gem -S edition=KEY``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio.to_thread
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from gre_bench import stats
from gre_bench.core.errors import GreBenchError
from gre_bench.evals.board import ReviewScore, open_board
from gre_bench.ingest.records.inspect_logs import paper_of, read_output, stop_of


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
        return stats.clustered_error(values, papers) if len(set(papers)) > 1 else math.nan

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

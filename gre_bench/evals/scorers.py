"""GEM and GEM-S as scorers of inspect_ai, in nats, and the metrics that make them a board's numbers.

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
def told() -> Iterator[None]:
    """An expected failure as inspect_ai tells one: its line, without a traceback."""
    try:
        yield
    except GreBenchError as error:
        raise PrerequisiteError(str(error)) from None


@metric
def mean() -> Metric:
    """Mean over pairs of a review and a reference, as on a board: a paper weighs by its references. In nats."""

    def computed(scores: list[SampleScore]) -> float:
        values, _ = _pairs(scores)
        return math.fsum(values) / len(values) if values else math.nan

    return computed


@metric
def stderr() -> Metric:
    """Standard error of that mean in nats, clustered by paper, as a board's intervals have it; NaN of one paper."""

    def computed(scores: list[SampleScore]) -> float:
        values, papers = _pairs(scores)
        return stats.clustered_error(values, papers) if len(set(papers)) > 1 else math.nan

    return computed


@scorer(metrics=[mean(), stderr()])
def gem(edition: str, state: str = "state") -> Scorer:
    """GEM of a review against the human reviews of its paper, as the board of *edition* has it (Xu et al. 2025, §3)."""
    return _scorer("gem", edition, state)


@scorer(metrics=[mean(), stderr()])
def gem_s_abstract(edition: str, state: str = "state") -> Scorer:
    """GEM-S: the same given the paper's abstract (Xu et al. 2025, §3.2)."""
    return _scorer("gem_s_abstract", edition, state)


SCORERS = {"gem": gem, "gem_s_abstract": gem_s_abstract}


def _scorer(name: str, edition: str, state: str) -> Scorer:
    with told():
        board = open_board(edition, state)
        if name not in board.metrics:
            raise PrerequisiteError(f"the board of {board.key} has no {name}; it has {', '.join(board.metrics)}")

    async def score(state: TaskState, target: Target) -> Score:
        review, problem = read_output(state.output.completion, stop_of(state.output))
        if review is None:
            return Score.unscored(reason=problem, explanation=f"the output is {problem}")
        paper_id = paper_of(state.sample_id, state.metadata)
        found = await anyio.to_thread.run_sync(board.score, name, paper_id, review)
        return _told_of(found, board.signatures[name].signature_id)

    return score


def _told_of(found: ReviewScore, signature_id: str) -> Score:
    """*found* as a score: the mean over references in nats, each reference's nats among its metadata."""
    metadata = {"nats": found.nats, "signature": signature_id}
    if not found.nats:
        more = {"answer": found.judgments, "metadata": metadata}
        return Score.unscored(reason=found.problem, explanation=found.detail or found.problem, **more)
    value = math.fsum(found.nats.values()) / len(found.nats)
    lacking = f"some references have no score ({found.problem}: {found.detail})" if found.problem else None
    return Score(value=value, answer=found.judgments, explanation=lacking, metadata=metadata)


def _pairs(scores: list[SampleScore]) -> tuple[list[float], list[str]]:
    """Each paper's value once for each of its references, and whose it is."""
    values: list[float] = []
    papers: list[str] = []
    for place, item in enumerate(scores):
        count = len((item.score.metadata or {}).get("nats", ())) or 1
        values += [item.score.as_float()] * count
        papers += [str(item.sample_id if item.sample_id is not None else place)] * count
    return values, papers

"""The inspect_ai task ``gre_bench/review``: a model reviews the papers of an edition and is scored as on the board."""

from __future__ import annotations

import logging

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.solver import Generate, Solver, TaskState, solver

from gre_bench.core.errors import SettingsError
from gre_bench.core.records import Sampling
from gre_bench.evals.board import open_board
from gre_bench.evals.scorers import SCORERS, errors_for_users
from gre_bench.prompts.library import load
from gre_bench.writing.lm_writer import chat_of

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

"""Lets an LM review papers under a guideline, and reads the ratings from its reviews."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Problem, Sampling, Writer
from gre_bench.guidelines.asking import ParsedReply, ask
from gre_bench.guidelines.ratings import Rating, normalised, overall_rating, temporary_score
from gre_bench.prompts.conditions import Condition

NO_TEXT = Problem("no_text", "the paper has no text")


def rate(
    writer: Writer, sampling: Sampling, model: str, condition: Condition, papers: Sequence[tuple[str, str]]
) -> list[Rating]:
    """Returns the rating of each of *papers*, in the same order.

    - *writer*: the LM that reviews.
    - *model*: the name of the LM in the ratings.
    - *condition*: the guideline.
    - *papers*: pairs (paper id, text of the paper).

    A paper without text gets the problem ``no_text``, and no request is sent for it.
    """
    able = [(paper_id, content) for paper_id, content in papers if content.strip()]
    answers = ask(writer, sampling, [condition.chat(content) for _, content in able], overall_rating)
    results = {paper_id: answer for (paper_id, _), answer in zip(able, answers, strict=True)}
    return [_rating(paper_id, model, condition, results.get(paper_id)) for paper_id, _ in papers]


def _rating(paper_id: str, model: str, condition: Condition, answer: ParsedReply[int] | None) -> Rating:
    if answer is None:
        return Rating(paper_id, model, condition.name, None, NO_TEXT)
    recomputed = None
    if condition.rubric and answer.text:
        with suppress(ReplyError):
            recomputed = normalised(temporary_score(answer.text))
    return Rating(paper_id, model, condition.name, answer.value, answer.problem, recomputed, answer.text)

"""Lets an LM make a guideline that imitates the authors of a group of reviews.

Source: "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review", appendix A.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Sampling, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.guidelines import checklist
from gre_bench.guidelines.asking import ParsedReply, ask
from gre_bench.guidelines.review_points import LENGTH_FIELDS, SCORE_FIELDS, FieldedReview
from gre_bench.guidelines.strict_yaml import block
from gre_bench.prompts.library import fill

SHOWN = (*LENGTH_FIELDS, *SCORE_FIELDS, "rating", "confidence")
"""The fields of a review that the LM sees: those of table 3, except the date."""


def generate(writer: Writer, sampling: Sampling, reviews: Sequence[FieldedReview]) -> ParsedReply[str]:
    """Asks the LM *writer* for a guideline that imitates the authors of *reviews*.

    Returns the text of the guideline, or the problem if no reply could be read. The text is a checklist of ten good and
    ten bad questions. It can serve as the guideline of a `Condition`.
    """
    return ask(writer, sampling, [chat(reviews)], guideline)[0]


def chat(reviews: Sequence[FieldedReview]) -> Chat:
    """Returns the chat that asks for a guideline and shows all *reviews* to the LM."""
    texts = [f"## Review {number}\n\n{_shown(review.fields)}" for number, review in enumerate(reviews, start=1)]
    return fill("guideline_generation", count=str(len(texts)), reviews="\n\n".join(texts))


def guideline(text: str) -> str:
    """Returns the guideline in the reply *text*.

    Raises `ReplyError` unless it is a checklist of ten good and ten bad questions.
    """
    reply = block(without_thinking(text)[0]).strip()
    questions = checklist.read(reply)
    if not questions.counts:
        raise ReplyError(
            f"no_checklist: {len(questions.good)} good and {len(questions.bad)} bad questions, not 10 and 10"
        )
    return f"{checklist.PREAMBLE}\n\n{reply[reply.index(checklist.ROOT) :]}"


def _shown(fields: Mapping[str, str]) -> str:
    return "\n\n".join(f"{name.capitalize()}: {fields[name]}" for name in SHOWN if fields.get(name))

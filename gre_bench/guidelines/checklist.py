"""Reads a checklist: a guideline of yes-or-no questions, which an LM made to imitate a group of reviewers.

"Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review" defines the form (listing 1) and
prints examples (listings 10 to 12).

Lets an LM make a guideline that imitates the authors of a group of reviews.

Source: "Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review", appendix A.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Sampling, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.guidelines.ratings import QUESTIONS
from gre_bench.guidelines.replies import ParsedReply, ask, block, mapping
from gre_bench.guidelines.review_quality import LENGTH_FIELDS, SCORE_FIELDS, FieldedReview
from gre_bench.prompts.library import fill

ROOT = "peer_review_behavior_checklist"
SIDES = ("good_paper", "bad_paper")
PREAMBLE = "Provide the following based on the Peer Review Behavior Checklist:"
"""The line before each printed checklist."""


@dataclass(frozen=True, slots=True)
class Checklist:
    """The questions of a checklist.

    - *good*: the questions whose answer Yes speaks for a paper.
    - *bad*: the questions whose answer Yes speaks against a paper.
    """

    good: tuple[str, ...]
    bad: tuple[str, ...]

    @property
    def counts(self) -> bool:
        """Whether the checklist has ten good and ten bad questions.

        A rubric needs that number to compute a rating from the answers.
        """
        return len(self.good) == len(self.bad) == QUESTIONS


def read(text: str) -> Checklist:
    """Returns the checklist in *text*; lines before the checklist are ignored.

    Raises `ReplyError`: ``no_yaml`` if the text is not YAML, ``no_checklist`` if a part of the checklist is missing.
    """
    start = text.find(f"{ROOT}:")
    if start < 0:
        raise ReplyError(f"no_checklist: no {ROOT}")
    tree = mapping(text[start:])[ROOT]
    if not isinstance(tree, dict) or set(tree) != set(SIDES):
        raise ReplyError(f"no_checklist: it lacks the parts {' and '.join(SIDES)}")
    return Checklist(*(tuple(_questions(side, tree[side])) for side in SIDES))


def _questions(side: str, groups: object) -> list[str]:
    if not isinstance(groups, dict) or not groups:
        raise ReplyError(f"no_checklist: {side} has no categories")
    questions = []
    for category, items in groups.items():
        if not isinstance(items, list) or not items:
            raise ReplyError(f"no_checklist: {side}.{category} has no questions")
        for item in items:
            question = item.get("question") if isinstance(item, dict) else None
            if not isinstance(question, str) or not question.strip():
                raise ReplyError(f"no_checklist: {side}.{category} has an item without a question")
            questions.append(question.strip())
    return questions


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
    questions = read(reply)
    if not questions.counts:
        raise ReplyError(
            f"no_checklist: {len(questions.good)} good and {len(questions.bad)} bad questions, not 10 and 10"
        )
    return f"{PREAMBLE}\n\n{reply[reply.index(ROOT) :]}"


def _shown(fields: Mapping[str, str]) -> str:
    return "\n\n".join(f"{name.capitalize()}: {fields[name]}" for name in SHOWN if fields.get(name))

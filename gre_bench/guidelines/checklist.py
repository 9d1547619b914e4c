"""Checklists: guidelines of yes-or-no questions, which an LM writes to imitate the authors of a group of reviews.

"Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review" defines the form (listing 1) and
prints examples (listings 10 to 12). Appendix A.3 describes how checklists are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gre_bench.core.asking import ChatOutcome
from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat, Sampling, Writer
from gre_bench.core.replies import without_thinking
from gre_bench.guidelines.quality_points import LENGTH_FIELDS, SCORE_FIELDS, FieldedReview
from gre_bench.guidelines.ratings import QUESTIONS
from gre_bench.guidelines.yaml_replies import find_last_fenced_block, parse_yaml_mapping, request_and_parse_replies
from gre_bench.prompts.library import fill_prompt

ROOT = "peer_review_behavior_checklist"
SIDES = ("good_paper", "bad_paper")
PREAMBLE = "Provide the following based on the Peer Review Behavior Checklist:"
"""The line before each printed checklist."""
SHOWN = (*LENGTH_FIELDS, *SCORE_FIELDS, "rating", "confidence")
"""The fields of a review that the LM sees: all fields of table 3, except the date."""


@dataclass(frozen=True, slots=True)
class Checklist:
    """The questions of a checklist. A yes to a question in *good* speaks for the paper, in *bad* against it."""

    good: tuple[str, ...]
    bad: tuple[str, ...]

    @property
    def has_ten_good_and_ten_bad(self) -> bool:
        """Whether there are ten good and ten bad questions, as needed to compute a rating from the answers."""
        return len(self.good) == len(self.bad) == QUESTIONS


def parse_checklist(text: str) -> Checklist:
    """Returns the checklist in *text*; lines before the checklist are ignored.

    Raises `ReplyError`: ``no_yaml`` if the text is not YAML, ``no_checklist`` if a part of the checklist is missing.
    """
    start = text.find(f"{ROOT}:")
    if start < 0:
        raise ReplyError(f"no_checklist: no {ROOT}")
    tree = parse_yaml_mapping(text[start:])[ROOT]
    if not isinstance(tree, dict) or set(tree) != set(SIDES):
        raise ReplyError(f"no_checklist: it lacks the parts {' and '.join(SIDES)}")
    return Checklist(*(_parse_questions(side, tree[side]) for side in SIDES))


def _parse_questions(side: str, groups: object) -> tuple[str, ...]:
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
    return tuple(questions)


def generate_checklist(writer: Writer, sampling: Sampling, reviews: Sequence[FieldedReview]) -> ChatOutcome[str]:
    """Asks the LM *writer* for a checklist that imitates the authors of *reviews*; returns its text, or the problem."""
    return request_and_parse_replies(writer, sampling, [build_generation_chat(reviews)], extract_checklist_text)[0]


def build_generation_chat(reviews: Sequence[FieldedReview]) -> Chat:
    texts = []
    for number, review in enumerate(reviews, start=1):
        fields = [f"{name.capitalize()}: {review.fields[name]}" for name in SHOWN if review.fields.get(name)]
        texts.append(f"## Review {number}\n\n" + "\n\n".join(fields))
    return fill_prompt("guideline_generation", count=str(len(texts)), reviews="\n\n".join(texts))


def extract_checklist_text(text: str) -> str:
    """Returns the text of the checklist in the reply *text*, with the line `PREAMBLE` before it.

    Raises `ReplyError` unless it has ten good and ten bad questions.
    """
    reply = find_last_fenced_block(without_thinking(text)[0]).strip()
    questions = parse_checklist(reply)
    if not questions.has_ten_good_and_ten_bad:
        raise ReplyError(
            f"no_checklist: {len(questions.good)} good and {len(questions.bad)} bad questions, not 10 and 10"
        )
    return f"{PREAMBLE}\n\n{reply[reply.index(ROOT) :]}"

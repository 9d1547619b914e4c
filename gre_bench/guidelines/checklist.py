"""Reads a checklist: a guideline of yes-or-no questions, which an LM made to imitate a group of reviewers.

"Evaluating the Impact of Reviewer Guideline Design on LLM-Based Automated Peer Review" defines the form (listing 1) and
prints examples (listings 10 to 12).
"""

from __future__ import annotations

from dataclasses import dataclass

from gre_bench.core.errors import ReplyError
from gre_bench.guidelines.ratings import QUESTIONS
from gre_bench.guidelines.strict_yaml import mapping

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

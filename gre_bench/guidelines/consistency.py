"""Points that an LM gives to a human review, by three criteria: its references and two kinds of consistency.

Prompts and replies have the form of listings 2, 3 and 4 of "Evaluating the Impact of Reviewer Guideline Design on
LLM-Based Automated Peer Review". The reply is YAML with a score and a word that describes the score. A reply is
rejected if the score or the word is missing. It is also rejected if the listing assigns another word to that score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import ReplyError
from gre_bench.core.records import Chat
from gre_bench.core.replies import without_thinking
from gre_bench.guidelines.review_points import SCORE_FIELDS, FieldedReview
from gre_bench.guidelines.strict_yaml import block, mapping
from gre_bench.prompts.library import fill, load

_AGREES = {2: "consistent", 1: "somewhat inconsistent", 0: "inconsistent"}


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion by which an LM judges a review.

    - *prompt*: the name of the prompt.
    - *needs*: the fields that a review must have to be judged.
    - *word*: the field of the reply with the word that describes the score.
    - *words*: the right word for each score.
    - *typed*: further fields of the reply, each with a function that tests its value.
    """

    name: str
    prompt: str
    needs: tuple[str, ...]
    word: str
    words: dict[int, str]
    typed: tuple[tuple[str, Callable[[Any], bool]], ...] = ()

    @property
    def most(self) -> int:
        """The highest score that the criterion allows."""
        return max(self.words)

    def chat(self, review: FieldedReview) -> Chat:
        """Returns the chat that asks about *review*, which must have all fields that the prompt shows."""
        return fill(self.prompt, **{name: review.fields[name] for name in load(self.prompt).fields})

    def points(self, text: str) -> int:
        """Returns the score that the reply *text* gives the review.

        Raises `ReplyError`: ``no_yaml``, ``no_score``, ``score_off_scale``, ``contradiction`` (score and word do not
        match) or ``bad_field`` (a field of *typed* fails its test).
        """
        tree = mapping(block(without_thinking(text)[0]))
        score = tree.get("quality_score")
        if isinstance(score, bool) or not isinstance(score, int):
            raise ReplyError(f"no_score: quality_score is {score!r:.40}")
        if score not in self.words:
            raise ReplyError(f"score_off_scale: quality_score is {score}, not 0 to {self.most}")
        if tree.get(self.word) != self.words[score]:
            raise ReplyError(f"contradiction: quality_score {score} but {self.word} {tree.get(self.word)!r:.40}")
        for name, right in self.typed:
            if not right(tree.get(name)):
                raise ReplyError(f"bad_field: {name} is {tree.get(name)!r:.40}")
        return score


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "reference_quality", "guideline_reference_quality", ("summary", "strengths", "weaknesses", "questions"),
            "reference_quality", {3: "high", 2: "high", 1: "medium", 0: "low"},
            (("suggests_references", _truth), ("reference_count", _count), ("points_out_missing_citations", _truth)),
        ),
        Criterion(
            "content_consistency", "guideline_content_consistency", ("rating", "summary", "strengths", "weaknesses"),
            "content_consistency", _AGREES,
        ),
        Criterion(
            "subscore_consistency", "guideline_subscore_consistency", ("rating", *SCORE_FIELDS),
            "subscore_consistency", _AGREES,
        ),
    )
}  # fmt: skip
"""The three criteria by name, with 0-3, 0-2 and 0-2 points (appendix A.2)."""

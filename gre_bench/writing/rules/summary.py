"""Sums up a review's strengths and its weaknesses in one phrase each, by rule.

It is the built-in replacement for D.4.2's summaries. Each phrase holds the first two points that the rule for judgments
calls praised, or criticized, shortened and joined by "and".
"""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.writing.rules.judgments import judgments_of
from gre_bench.writing.rules.review_lexicon import UNFINISHED

WRITER = "rule-elongation-2"

_NAMED = 2
_LONGEST = 12
"""The most words in a point."""


def summaries_of(review: str) -> tuple[str, str]:
    """Returns the strengths and the weaknesses of *review*, each empty if there are none.

    If nothing is criticized, the weaknesses are the suggestions or questions.
    """
    lines = [line.removeprefix("The reviewer ").rstrip(".").split(" ", 1) for line in judgments_of(review).splitlines()]
    claims = {stance: [claim for said, claim in lines if said == stance] for stance in {said for said, _ in lines}}
    weak = claims.get("criticizes") or claims.get("suggests") or claims.get("questions") or []
    return _phrase(claims.get("appreciates", [])), _phrase(weak)


def _phrase(claims: Sequence[str]) -> str:
    return " and ".join(_short(claim) for claim in claims[:_NAMED])


def _short(claim: str) -> str:
    words = claim.split()[:_LONGEST]
    while len(words) > 1 and words[-1].lower().strip(",;:(") in UNFINISHED:
        words.pop()
    return " ".join(words).rstrip(" ,;:(-")

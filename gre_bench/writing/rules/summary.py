"""Sums up a review by rule in two phrases: one for its strengths and one for its weaknesses.

This is the built-in replacement for an LM with the prompts of Xu et al. 2025, D.4.2. The rule for judgments first finds
the claims that the review appreciates and those that it criticizes. The first phrase joins the first two appreciated
claims. The second phrase joins the first two criticized claims. Long claims are cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.writing.rules.judgments import judgments_of
from gre_bench.writing.rules.review_lexicon import UNFINISHED

WRITER = "rule-elongation-3"

_NAMED = 2
_LONGEST = 12
"""The most words of a claim that are kept."""


def summaries_of(review: str) -> tuple[str, str]:
    """Returns (phrase of strengths, phrase of weaknesses) of *review*; a phrase is empty if there is nothing to sum up.

    If the review criticizes nothing, its suggestions count as weaknesses. If it has no suggestions either, its
    questions count as weaknesses.
    """
    lines = [line.removeprefix("The reviewer ").rstrip(".").split(" ", 1) for line in judgments_of(review).splitlines()]
    claims = {
        stance: [claim for line_stance, claim in lines if line_stance == stance]
        for stance in {line_stance for line_stance, _ in lines}
    }
    weak = claims.get("criticizes") or claims.get("suggests") or claims.get("questions") or []
    return _phrase(claims.get("appreciates", [])), _phrase(weak)


def _phrase(claims: Sequence[str]) -> str:
    return " and ".join(_short(claim) for claim in claims[:_NAMED])


def _short(claim: str) -> str:
    words = claim.split()[:_LONGEST]
    while len(words) > 1 and words[-1].lower().strip(",;:(") in UNFINISHED:
        words.pop()
    return " ".join(words).rstrip(" ,;:(-")

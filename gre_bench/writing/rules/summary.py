"""A review's strengths and its weaknesses in one phrase each, by rule (the embedded stand-in for D.4.2's summaries).

They are the first two things that the rule for judgments finds praised, and blamed, cut short and joined by "and".
"""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.writing.rules.judgments import judgments_of
from gre_bench.writing.rules.review_lexicon import UNFINISHED

WRITER = "rule-elongation-2"

_NAMED = 2
_LONGEST = 12
"""Words a point, at most."""


def summaries_of(review: str) -> tuple[str, str]:
    """Strengths and weaknesses of *review*; empty where there are none.

    Where nothing is blamed, what is suggested or questioned is what could be improved.
    """
    found = [line.removeprefix("The reviewer ").rstrip(".").split(" ", 1) for line in judgments_of(review).splitlines()]
    claims = {stance: [claim for said, claim in found if said == stance] for stance in {said for said, _ in found}}
    weak = claims.get("criticizes") or claims.get("suggests") or claims.get("questions") or []
    return _phrase(claims.get("appreciates", [])), _phrase(weak)


def _phrase(claims: Sequence[str]) -> str:
    return " and ".join(_short(claim) for claim in claims[:_NAMED])


def _short(claim: str) -> str:
    words = claim.split()[:_LONGEST]
    while len(words) > 1 and words[-1].lower().strip(",;:(") in UNFINISHED:
        words.pop()
    return " ".join(words).rstrip(" ,;:(-")

"""Changes reviews by rule, without an LM: fills in deleted sentences, reviews an abstract, sums up a review.

Each function is the built-in replacement for an LM with a prompt of Xu et al. 2025: `completed` for D.3.2, `review_of`
for D.3.3, and `summaries_of` for D.4.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from gre_bench.changes.deletion import MISSING, blanked
from gre_bench.changes.material import ChangeInput
from gre_bench.core.resources import resource
from gre_bench.core.review_text import Kind, Section, split
from gre_bench.writing.rules.claims import UNFINISHED
from gre_bench.writing.rules.extractive import review_of as extracted
from gre_bench.writing.rules.judgments import judgments_of

WRITERS = {
    "completion": "rule-completion-1",
    "abstract_only": "rule-abstract-only-1",
    "elongation": "rule-elongation-3",
}

_LONGEST_CLAIM = 12
"""The most words of a claim that a summary keeps."""

_ASPECTS = (
    "The abstract is written in a clear way. The quality of the work seems reasonable from its description. The "
    "novelty over existing work is not easy to judge. Whether the results can be reproduced depends on details that "
    "the abstract does not give."
)
_VERDICT = (
    "{summary} The topic is relevant, and the claims of the abstract are promising. The evidence for them has to be "
    "convincing for the paper to be accepted."
)


@cache
def vague() -> tuple[str, ...]:
    """Returns the vague sentences of ``data/rules``, each of which fits a review of any paper.

    They do not praise or criticise, and they name nothing.
    """
    return tuple(resource("data", "rules", "vague.txt").read_text("utf-8").splitlines())


def completed(material: ChangeInput) -> str:
    """Returns the review in *material* with a vague sentence in place of each deleted sentence.

    This restores the length of the review but not its content. No vague sentence is repeated before all of them have
    been used.
    """
    chance = material.chance("completion")
    first, *pieces = blanked(material).split(MISSING)
    fillers: list[str] = []
    while len(fillers) < len(pieces):
        fillers += chance.sample(vague(), len(vague()))
    return first + "".join(filler + piece for filler, piece in zip(fillers, pieces, strict=False))


def review_of(title: str, abstract: str) -> str:
    """Returns a review in four sections, in the form of reviews at ICLR 2023, from title and abstract alone.

    The first two sections come from the rule `extractive`. The last two say only what holds for any abstract. The
    review is empty if the rule `extractive` finds nothing in *abstract*.
    """
    parts: dict[Kind, Section] = {part.kind: part for part in split(extracted(title, abstract, None, "abstract"))}
    if not parts:
        return ""
    summary = " ".join(sentence.text for sentence in parts["summary"].sentences)
    lists: list[str] = []
    for kind in ("strengths", "weaknesses", "questions"):
        points = [f"{number}. {sentence.text}" for number, sentence in enumerate(parts[kind].sentences, start=1)]
        lists.append("\n".join([f"{kind.capitalize()}:", *points]))
    sections = (
        ("Summary Of The Paper", summary),
        ("Strength And Weaknesses", "\n\n".join(lists)),
        ("Clarity, Quality, Novelty And Reproducibility", _ASPECTS),
        ("Summary Of The Review", _VERDICT.format(summary=summary)),
    )
    return "\n\n".join(f"{heading}:\n\n{text}" for heading, text in sections)


def summaries_of(review: str) -> tuple[str, str]:
    """Returns (phrase of strengths, phrase of weaknesses) of *review*; a phrase is empty if there is nothing to sum up.

    Each phrase joins the first two claims that the review appreciates or criticizes, cut if they are long. If the
    review criticizes nothing, its suggestions count as weaknesses. If it has no suggestions either, its questions
    count as weaknesses.
    """
    claims: dict[str, list[str]] = {}
    for line in judgments_of(review).splitlines():
        stance, claim = line.removeprefix("The reviewer ").rstrip(".").split(" ", 1)
        claims.setdefault(stance, []).append(claim)
    weak = claims.get("criticizes") or claims.get("suggests") or claims.get("questions") or []
    return _phrase(claims.get("appreciates", [])), _phrase(weak)


def _phrase(claims: Sequence[str]) -> str:
    kept = []
    for claim in claims[:2]:
        words = claim.split()[:_LONGEST_CLAIM]
        while len(words) > 1 and words[-1].lower().strip(",;:(") in UNFINISHED:
            words.pop()
        kept.append(" ".join(words).rstrip(" ,;:(-"))
    return " and ".join(kept)

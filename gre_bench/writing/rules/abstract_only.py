"""Writes a review from a paper's title and abstract alone, by rule. The review has the form of reviews at ICLR 2023.

This is the built-in replacement for an LM with the prompt of Xu et al. 2025, D.3.3. The first two sections of the
review come from the rule `extractive`, which reads the abstract. The last two sections say only what holds for any
abstract.
"""

from __future__ import annotations

from gre_bench.core.review_text import Kind, Section, split
from gre_bench.writing.rules.extractive import review_of as extracted

WRITER = "rule-abstract-only-1"

_ASPECTS = (
    "The abstract is written in a clear way. The quality of the work seems reasonable from its description. The "
    "novelty over existing work is not easy to judge. Whether the results can be reproduced depends on details that "
    "the abstract does not give."
)
_VERDICT = (
    "{summary} The topic is relevant, and the claims of the abstract are promising. The evidence for them has to be "
    "convincing for the paper to be accepted."
)


def review_of(title: str, abstract: str) -> str:
    """Returns a review in four sections; empty if the rule `extractive` finds nothing in *abstract*."""
    parts: dict[Kind, Section] = {part.kind: part for part in split(extracted(title, abstract, None, "abstract"))}
    if not parts:
        return ""
    summary = " ".join(sentence.text for sentence in parts["summary"].sentences)
    listed: tuple[tuple[str, Kind], ...] = (
        ("Strengths", "strengths"),
        ("Weaknesses", "weaknesses"),
        ("Questions", "questions"),
    )
    mixed = "\n\n".join(
        f"{name}:\n"
        + "\n".join(f"{number}. {sentence.text}" for number, sentence in enumerate(parts[kind].sentences, start=1))
        for name, kind in listed
    )
    sections = (
        ("Summary Of The Paper", summary),
        ("Strength And Weaknesses", mixed),
        ("Clarity, Quality, Novelty And Reproducibility", _ASPECTS),
        ("Summary Of The Review", _VERDICT.format(summary=summary)),
    )
    return "\n\n".join(f"{heading}:\n\n{text}" for heading, text in sections)

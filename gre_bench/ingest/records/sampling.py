"""Who is reviewed, and who reviews: the sample of an edition and the roles of its human reviews.

Papers with enough human reviews are drawn by a seeded order; per paper one human review is the human candidate
and two are the references, the same for every candidate (Xu et al. 2025, §4.2 and §5).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from gre_bench.core.errors import SourceError
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.core.settings import EditionSettings

REFERENCES = 2


@dataclass(frozen=True, slots=True)
class Role:
    """One human review's part in the sample: place 0 is the candidate, 1 and up are references."""

    paper_id: str
    position: int
    role: Literal["candidate", "reference"]
    place: int
    review_id: str


@dataclass(frozen=True, slots=True)
class Draw:
    """The roles of all sampled papers, and how many papers were known and eligible."""

    roles: tuple[Role, ...]
    known: int
    eligible: int


def draw(papers: Sequence[Paper], reviews: Iterable[Review], settings: EditionSettings) -> Draw:
    """The sample of *papers* by *settings*; `SourceError` if fewer than two papers are eligible.

    The order of a drawn sample is the order of the source where every paper states its row, else the seeded order.
    """
    human: dict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.candidate == HUMAN:
            human[review.paper_id].append(review)
    chosen = {paper.paper_id: _chosen(human[paper.paper_id], settings) for paper in papers}
    eligible = [paper for paper in papers if chosen[paper.paper_id]]
    if len(eligible) < 2:
        needs = (
            f"at least {settings.min_reviews} human reviews"
            if settings.roles == "seeded"
            else f"human reviews in slots {settings.candidate_slot}, {settings.reference_slots}"
        )
        raise SourceError(
            f"{len(eligible)} of {len(papers)} papers are eligible, and a sample needs 2; a paper needs {needs}"
        )
    eligible.sort(key=lambda paper: _rank(settings.seed, paper.paper_id))
    sampled = eligible[: settings.papers]
    if all(paper.source_row is not None for paper in sampled):
        sampled.sort(key=lambda paper: (paper.source_row, paper.paper_id))
    roles = [
        Role(paper.paper_id, position, "reference" if place else "candidate", place, review_id)
        for position, paper in enumerate(sampled)
        for place, review_id in enumerate(chosen[paper.paper_id])
    ]
    return Draw(tuple(roles), len(papers), len(eligible))


def _chosen(reviews: list[Review], settings: EditionSettings) -> list[str]:
    """Review ids of the human candidate and then the references; empty if the paper is not eligible."""
    if settings.roles == "slots":
        by_slot = {review.slot: review.review_id for review in reviews}
        wanted = (settings.candidate_slot, *settings.reference_slots)
        return [by_slot[slot] for slot in wanted] if all(slot in by_slot for slot in wanted) else []
    if len(reviews) < settings.min_reviews:
        return []
    ids = sorted(review.review_id for review in reviews)
    Random(f"{settings.seed}:{reviews[0].paper_id}").shuffle(ids)
    return ids[: 1 + REFERENCES]


def _rank(seed: int, paper_id: str) -> bytes:
    return hashlib.sha256(f"{seed}:{paper_id}".encode()).digest()

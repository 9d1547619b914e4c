"""Samples the papers of an edition and assigns the roles of their human reviews.

Papers with enough human reviews are sampled in a seeded order. One human review of each paper is the human candidate.
Two others, or as many as ``edition.references`` states, are the references, which are the same for every candidate (Xu
et al. 2025, §4.2 and §5).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from gre_bench.core.errors import SourceError
from gre_bench.core.known_names import format_name_list
from gre_bench.core.records import HUMAN, Paper, Review
from gre_bench.core.settings import EditionSettings
from gre_bench.core.terminal import counted
from gre_bench.core.training_registers import PaperTexts, Register, load_named_registers
from gre_bench.ingest.records.cells import ImportResult
from gre_bench.ingest.records.notes import unwrap_value
from gre_bench.ingest.records.row_files import read_ids, read_rows

SHOWN = 5


@dataclass(frozen=True, slots=True)
class ReviewRole:
    """The role of a human review of a sampled paper. *position*: the paper's index in the sample.

    *place*: 0 for the human candidate; references count from 1. If every human review is to be a reference, the review
    at place 0 is both candidate and reference. The only review of a paper is a reference and not a candidate.
    """

    paper_id: str
    position: int
    role: Literal["candidate", "reference"]
    place: int
    review_id: str


@dataclass(frozen=True, slots=True)
class SamplingResult:
    """The roles of the human reviews of all sampled papers.

    - *known*: the number of papers considered.
    - *eligible*: how many of them have enough human reviews and are not left out by a setting.
    - *short*: the ids of papers that are in the user's list of papers, but have too few human reviews.
    - *trained_on*: how many papers ``edition.avoid_trained_on`` left out.
    - *not_human*: how many reviews ``edition.not_human`` left out.
    """

    roles: tuple[ReviewRole, ...]
    known: int
    eligible: int
    short: tuple[str, ...] = ()
    trained_on: int = 0
    not_human: int = 0

    @property
    def notes(self) -> list[str]:
        some = f"{', '.join(self.short[:SHOWN])}{' ...' if len(self.short) > SHOWN else ''}"
        notes = [f"{len(self.short)} papers of the list have too few human reviews: {some}"] if self.short else []
        notes += [f"{self.trained_on} papers were not drawn: edition.avoid_trained_on"] if self.trained_on else []
        out = f"{counted(self.not_human, 'review')} taken out of the human reviews: edition.not_human"
        return notes + ([out] if self.not_human else [])


def draw_papers_and_roles(
    papers: Sequence[Paper], reviews: Iterable[Review], settings: EditionSettings
) -> SamplingResult:
    """Samples from *papers*, or from the user's list of them, and assigns roles to their human *reviews*.

    If every paper states its row in the source, the sample is in the order of the rows; otherwise, it is in the seeded
    order. Raises `SourceError` if fewer than two papers are eligible, or if a list names unknown ids.
    """
    reviews = [review for review in reviews if review.candidate == HUMAN]
    apart = read_not_human_ids(reviews, settings.not_human)
    human: dict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.review_id not in apart:
            human[review.paper_id].append(review)
    advice = "they were withdrawn, or are of another venue or year: remove them"
    only = _read_id_list(settings.only, "paper", (paper.paper_id for paper in papers), "that are kept here", advice)
    texts = [
        PaperTexts(paper.paper_id, paper.abstract, tuple(item.text for item in human[paper.paper_id] if item.text))
        for paper in papers
    ]
    registers = load_named_registers(settings.avoid_trained_on)
    trained_on = frozenset[str]().union(*(register.trained_on(texts) for register in registers))
    chosen = {paper.paper_id: _choose_reviews_for_roles(human[paper.paper_id], settings) for paper in papers}
    eligible = [
        paper
        for paper in papers
        if chosen[paper.paper_id] and paper.paper_id not in trained_on and (only is None or paper.paper_id in only)
    ]
    if len(eligible) < 2:
        barred = f"; {len(trained_on)} are barred by edition.avoid_trained_on" if trained_on else ""
        raise SourceError(
            f"{len(eligible)} of {len(papers)} papers are eligible, and a sample needs 2; a paper needs "
            f"{_describe_needed_reviews(settings, sum(map(bool, human.values())))}{barred}"
        )
    eligible.sort(key=lambda paper: hashlib.sha256(f"{settings.seed}:{paper.paper_id}".encode()).digest())
    sampled = eligible[: settings.papers]
    if all(paper.source_row is not None for paper in sampled):
        sampled.sort(key=lambda paper: (paper.source_row, paper.paper_id))
    roles = [
        ReviewRole(paper.paper_id, position, "reference" if index else "candidate", index, review_id)
        for position, paper in enumerate(sampled)
        for index, review_id in enumerate(chosen[paper.paper_id])
    ]
    short = tuple(name for name in only or () if not chosen[name])
    return SamplingResult(tuple(roles), len(papers), len(eligible), short, len(trained_on), len(apart))


def _describe_needed_reviews(settings: EditionSettings, reviewed: int) -> str:
    """Returns in words which human reviews a paper needs to be eligible.

    *reviewed*: the number of papers with at least one human review.
    """
    if settings.roles == "slots":
        return f"human reviews in slots {settings.candidate_slot}, {settings.reference_slots}"
    if settings.effective_min_reviews == 1:
        return "a human review, as its reference"
    needs = f"at least {settings.effective_min_reviews} human reviews: its references and the human candidate"
    more = " (edition.references=all with edition.min_reviews=1 also takes papers with one, its reference)"
    return needs + (more if reviewed > 1 else "")


def read_not_human_ids(reviews: Iterable[Review], file: Path | None) -> frozenset[str]:
    """Returns the ids in the list *file*; raises `SourceError` for ids that are not human reviews in *reviews*."""
    known = (review.review_id for review in reviews)
    return frozenset(_read_id_list(file, "review", known, "human reviews here", "correct or remove them") or ())


def _read_id_list(
    file: Path | None, kind: str, known: Iterable[str], among: str, advice: str
) -> dict[str, None] | None:
    """Returns the ids in the list *file* as keys; None if *file* is None.

    Raises `SourceError` if some of the ids are not in *known*.

    *kind*, *among*, *advice*: words for the error message.
    """
    if file is None:
        return None
    ids, known = dict.fromkeys(read_ids(file, kind)), set(known)
    if unknown := [name for name in ids if name not in known]:
        raise SourceError(
            f"{file.name}: {len(unknown)} of {len(ids)} {kind}s are not among the {len(known)} {among}: "
            f"{format_name_list(unknown, SHOWN)}; {advice}"
        )
    return ids


def _choose_reviews_for_roles(reviews: list[Review], settings: EditionSettings) -> list[str]:
    """Returns the ids of one paper's *reviews* that get a role, candidate first; empty if the paper is not eligible."""
    if settings.roles == "slots":
        by_slot = {review.slot: review.review_id for review in reviews}
        wanted = (settings.candidate_slot, *settings.reference_slots)
        return [by_slot[slot] for slot in wanted] if all(slot in by_slot for slot in wanted) else []
    if len(reviews) < settings.effective_min_reviews:
        return []
    ids = sorted(review.review_id for review in reviews)
    Random(f"{settings.seed}:{reviews[0].paper_id}").shuffle(ids)
    return ids if settings.references == "all" else ids[: 1 + settings.references]


_FEWEST_TEXT_CHARACTERS = 200
"""A note's field counts as the text of a review if it has at least this many characters."""


def build_evaluation_set_register(path: Path) -> Register:
    """Returns the digests of the papers in the evaluation set *path*, as a register.

    Training leaves out the papers of such a register. The rows of the file are papers, reviews or OpenReview notes,
    in any format that `read_rows` accepts. Each row names its paper in the field ``forum``, ``paper_id`` or ``id``.
    Raises `SourceError` for an unreadable row.
    """
    imported = ImportResult()
    rows, _ = read_rows(path, imported)
    if imported.refusals:
        first = imported.refusals[0]
        raise SourceError(f"evaluation set {path.name}: row {first.number}: {first.reason}; correct the file")
    entries: set[str] = set()
    for number, row in rows:
        name = row.get("forum") or row.get("paper_id") or row.get("id")
        if not isinstance(name, str):
            raise SourceError(f"evaluation set {path.name}: row {number} names no paper (forum, paper_id or id)")
        texts = [text for column in ("review", "text") if (text := _unwrap_text(row.get(column)))]
        entries |= PaperTexts(name, _unwrap_text(row.get("abstract")), tuple(texts)).entries
        if isinstance(content := row.get("content"), Mapping):
            fields = (_unwrap_text(value) for column, value in content.items() if column != "abstract")
            texts = [text for text in fields if text and len(text) >= _FEWEST_TEXT_CHARACTERS]
            entries |= PaperTexts(name, _unwrap_text(content.get("abstract")), tuple(texts)).entries
    return Register(path.name, frozenset(entries))


def _unwrap_text(value: object) -> str | None:
    text = unwrap_value(value)
    return text if isinstance(text, str) else None

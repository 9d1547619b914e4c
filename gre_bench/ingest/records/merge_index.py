"""Compares a file's rows with known records: a row is new, known, fills in missing fields, or conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from gre_bench.core.records import HUMAN, Judgments, Paper, Review, Synopsis
from gre_bench.ingest.records.cells import RefusedError

UNKNOWN, CONFLICT, UNFINISHED = "unknown_paper", "conflict", "unfinished"
"""Codes of refusals: the paper is unknown; the store holds another record in that position; the text may still come."""

Record = TypeVar("Record", Paper, Review)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused row: its number in the file (from 1), what the row is about, and the reason.

    *code*: `UNKNOWN`, `CONFLICT` or `UNFINISHED`, with the *paper_id* of the row.
    """

    number: int
    item: str
    reason: str
    code: str = ""
    paper_id: str | None = None


@dataclass(slots=True)
class Imported:
    """The new records of a file, and what became of its rows.

    Every row was *added* (it brought new records), *unchanged* (known already) or refused. *named* are the candidates
    that rows of reviews name; *unnamed* counts rows that name none. *left_out* counts records outside the selection, by
    kind (a sample leaves out many of a large file). *notes*: further remarks on the file, one per line.
    """

    papers: list[Paper] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    judgments: list[Judgments] = field(default_factory=list)
    synopses: list[Synopsis] = field(default_factory=list)
    added: int = 0
    unchanged: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    ignored_columns: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    unnamed: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def count(self, changed: bool) -> None:
        """Counts one row; *changed* says whether it was new."""
        self.added += changed
        self.unchanged += not changed


class Papers:
    """The papers known by id; *new* holds those that a file added or completed."""

    def __init__(self, known: Mapping[str, Paper]):
        self.known = dict(known)
        self.new: dict[str, Paper] = {}

    def put(self, paper: Paper) -> bool:
        """Adds *paper* and returns whether it holds anything new.

        Raises `RefusedError` if its id exists with other content.
        """
        old = self.known.get(paper.paper_id)
        whole = paper if old is None else filled(old, paper)
        if whole is None:
            raise RefusedError("this paper id is already there with other content")
        if whole != old:
            self.known[whole.paper_id] = self.new[whole.paper_id] = whole
        return whole != old


class MergeIndex:
    """The known reviews, judgments and papers, which decide whether a row is new, known or in conflict."""

    def __init__(self, reviews: Mapping[str, Review], judgments: Mapping[tuple[str, str], str], papers: Iterable[str]):
        self.reviews = dict(reviews)
        self.judgments = dict(judgments)
        self.papers = set(papers)
        self.new_papers: dict[str, Paper] = {}
        self.new_reviews: dict[str, Review] = {}
        self.positions = {_position(review): review.review_id for review in reviews.values() if _position(review)}

    def whole(self, review: Review, judgments: Judgments | None, named: bool) -> tuple[Review, Judgments | None]:
        """Returns *review* with the fields that the known review of its id adds, and *judgments* unchanged.

        A row that is not *named*, that is, names no candidate, may match the review of any candidate. Raises
        `RefusedError` if the known review states something else.
        """
        old = self.reviews.get(review.review_id)
        if old is None:
            return review, judgments
        found = filled(old, review if named else replace(review, candidate=old.candidate))
        if found is None:
            raise RefusedError(f"review id {review.review_id} is already there with other content", CONFLICT)
        return found, judgments

    def check(self, review: Review, make_papers: bool) -> None:
        """Raises `RefusedError` if the paper is unknown, or another review holds the same position (see `_position`).

        With *make_papers*, an unknown paper is allowed.
        """
        if review.paper_id not in self.papers and not make_papers:
            raise RefusedError(f"paper {review.paper_id} is not known; import it first", UNKNOWN)
        holder = self.positions.get(_position(review), review.review_id)
        if _position(review) and holder != review.review_id:
            position = " ".join(str(part) for part in _position(review)[1:])
            raise RefusedError(f"{position} already has review {holder} of paper {review.paper_id}", CONFLICT)

    def put(self, imported: Imported, review: Review, judgments: Judgments | None, source_row: int | None) -> bool:
        """Adds the new parts of a row to this index, and new judgments to *imported*; returns whether anything is new.

        An unknown paper is added with nothing but its id and *source_row*. Raises `RefusedError` if the known judgments
        of the same writer differ.
        """
        changed = self.reviews.get(review.review_id) != review
        if judgments is not None:
            old = self.judgments.get((judgments.review_id, judgments.writer))
            if old is not None and old != judgments.text:
                reason = f"judgments of {judgments.writer} for this review are already there, and differ"
                raise RefusedError(reason, CONFLICT)
            if old is None:
                self.judgments[judgments.review_id, judgments.writer] = judgments.text
                imported.judgments.append(judgments)
                changed = True
        if review.paper_id not in self.papers:
            self.papers.add(review.paper_id)
            self.new_papers[review.paper_id] = Paper(review.paper_id, source_row=source_row)
        if self.reviews.get(review.review_id) != review:
            self.reviews[review.review_id] = self.new_reviews[review.review_id] = review
            self.positions[_position(review)] = review.review_id
        return changed


def filled(old: Record, new: Record) -> Record | None:
    """Returns *old* with the fields that only *new* states; None if the two disagree."""
    merged = {}
    for field_ in fields(old):
        before, after = getattr(old, field_.name), getattr(new, field_.name)
        if before not in (None, "") and after not in (None, "") and before != after:
            return None
        merged[field_.name] = after if before in (None, "") else before
    return replace(old, **merged)


def _position(review: Review) -> tuple[str, str, str | int] | tuple[()]:
    """Returns the only position a review can take: a model's only review of a paper, a human's numbered slot."""
    if review.candidate != HUMAN:
        return (review.paper_id, "candidate", review.candidate)
    return () if review.slot is None else (review.paper_id, "slot", review.slot)

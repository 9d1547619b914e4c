"""Compares a file's rows with known records: a row is new, known, fills in missing fields, or conflicts.

The known records are those that the store has already.
"""

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
    """A refused row.

    - *number*: the number of the row in the file, from 1.
    - *item*: what the row is about, such as the id of a review.
    - *reason*: why it is refused, for the user.
    - *code*: the kind of reason, such as `UNKNOWN`, `CONFLICT` or `UNFINISHED`; empty if no caller has to know it.
    - *paper_id*: the paper of the row; None if unknown, which it never is if there is a *code*.
    """

    number: int
    item: str
    reason: str
    code: str = ""
    paper_id: str | None = None


@dataclass(slots=True)
class Imported:
    """The new records of a file, and what became of its rows.

    - *papers*, *reviews*, *judgments*, *synopses*: the new records.
    - *paper_ids*, *review_ids*: the papers and reviews of all accepted rows, of known ones too.
    - *added*, *unchanged*: how many rows brought new records, and how many were known already.
    - *refusals*: the other rows, each with the reason why it was refused.
    - *columns*, *ignored_columns*: the columns of the file, and those of them that are not read.
    - *named*: the candidates that rows of reviews name.
    - *unnamed*: how many rows of reviews name no candidate.
    - *left_out*: {kind: how many records of this kind are outside the requested sample or selection}.
    - *notes*: further remarks on the file, one per line.
    """

    papers: list[Paper] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    judgments: list[Judgments] = field(default_factory=list)
    synopses: list[Synopsis] = field(default_factory=list)
    paper_ids: set[str] = field(default_factory=set)
    review_ids: set[str] = field(default_factory=set)
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
        """Counts one row: as added if *changed*, otherwise as unchanged."""
        self.added += changed
        self.unchanged += not changed


class Papers:
    """Papers by id: *known* holds all, and *new* only those that a file added or completed.

    *accepted* holds the ids of all papers of the file, of unchanged ones too.
    """

    def __init__(self, known: Mapping[str, Paper]):
        self.known = dict(known)
        self.new: dict[str, Paper] = {}
        self.accepted: set[str] = set()

    def put(self, paper: Paper) -> bool:
        """Adds *paper*, or completes the known paper of the same id; returns whether anything changed.

        Raises `RefusedError` if the known paper has other content.
        """
        old = self.known.get(paper.paper_id)
        whole = paper if old is None else filled(old, paper)
        if whole is None:
            raise RefusedError("this paper id is already there with other content")
        self.accepted.add(paper.paper_id)
        if whole != old:
            self.known[whole.paper_id] = self.new[whole.paper_id] = whole
        return whole != old


class MergeIndex:
    """The known reviews, judgments and papers, to decide whether a row is new, known or in conflict.

    *reviews* are by id. *judgments* are texts by (review id, writer). *papers* holds ids.
    """

    def __init__(self, reviews: Mapping[str, Review], judgments: Mapping[tuple[str, str], str], papers: Iterable[str]):
        self.reviews = dict(reviews)
        self.judgments = dict(judgments)
        self.papers = set(papers)
        self.new_papers: dict[str, Paper] = {}
        self.new_reviews: dict[str, Review] = {}
        self.positions = {_position(review): review.review_id for review in reviews.values() if _position(review)}

    def whole(self, review: Review, judgments: Judgments | None, named: bool) -> tuple[Review, Judgments | None]:
        """Fills in missing fields of *review* from the known review of the same id; returns the result and *judgments*.

        *named* says whether the row names a candidate. A row that names none may match a review of any candidate.
        Raises `RefusedError` if the known review states something else.
        """
        old = self.reviews.get(review.review_id)
        if old is None:
            return review, judgments
        merged = filled(old, review if named else replace(review, candidate=old.candidate))
        if merged is None:
            raise RefusedError(f"review id {review.review_id} is already there with other content", CONFLICT)
        return merged, judgments

    def check(self, review: Review, make_papers: bool) -> None:
        """Raises `RefusedError` if the paper of *review* is unknown, or if another review holds the same position.

        `_position` says what a position is. If *make_papers*, the paper may be unknown.
        """
        if review.paper_id not in self.papers and not make_papers:
            raise RefusedError(f"paper {review.paper_id} is not known; import it first", UNKNOWN)
        holder = self.positions.get(_position(review), review.review_id)
        if _position(review) and holder != review.review_id:
            position = " ".join(str(part) for part in _position(review)[1:])
            raise RefusedError(f"{position} already has review {holder} of paper {review.paper_id}", CONFLICT)

    def put(self, imported: Imported, review: Review, judgments: Judgments | None, source_row: int | None) -> bool:
        """Adds what is new in a row to this index, and new judgments to *imported*; returns whether anything was new.

        An unknown paper is added with nothing but its id and *source_row*, the value of the column ``row``. Raises
        `RefusedError` if other judgments of the same writer are known for this review.
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
        imported.review_ids.add(review.review_id)
        return changed


def filled(old: Record, new: Record) -> Record | None:
    """Returns *old*, completed with the fields that only *new* states.

    Returns None if *old* and *new* state different values for a field.
    """
    merged = {}
    for field_ in fields(old):
        before, after = getattr(old, field_.name), getattr(new, field_.name)
        if before not in (None, "") and after not in (None, "") and before != after:
            return None
        merged[field_.name] = after if before in (None, "") else before
    return replace(old, **merged)


def _position(review: Review) -> tuple[str, str, str | int] | tuple[()]:
    """Returns the position of *review* among the reviews of its paper, which only one review can hold.

    - By a model: (paper id, ``candidate``, name of the model).
    - By a human: (paper id, ``slot``, number of the slot), or () if the review has no slot.
    """
    if review.candidate != HUMAN:
        return (review.paper_id, "candidate", review.candidate)
    return () if review.slot is None else (review.paper_id, "slot", review.slot)

"""Rows of the queries of ``sql/queries/ingest.sql``."""

from __future__ import annotations

from typing import TypedDict


class PapersRow(TypedDict):
    """`papers`: one row per known paper."""

    paper_id: str
    title: str
    abstract: str | None
    text: str | None
    source_row: int | None


class ReviewsRow(TypedDict):
    """`reviews`: one row per known review."""

    review_id: str
    paper_id: str
    candidate: str
    text: str | None
    slot: int | None
    rating: float | None
    grade: float | None


class SnapshotRow(TypedDict):
    """`snapshot`: at most one row: the snapshot imported last."""

    digest: str
    path: str


class TextsRow(TypedDict):
    """`texts`: one row per paper whose text was read from a snapshot."""

    paper_id: str
    origin: str
    sha256: str
    status: str
    pages: int | None
    abstract: str | None
    text: str | None
    notes: list[str]


class TextStatesRow(TypedDict):
    """`text_states`: one row per paper whose text was read from a snapshot: what became of the reading, papers
    without text first.
    """

    paper_id: str
    origin: str
    status: str
    pages: int | None
    characters: int | None
    words: int | None
    kept: int | None
    hidden: int | None
    dropped: int | None
    notes: list[str]


class TextWordsRow(TypedDict):
    """`text_words`: one row per paper, page and fate of words there."""

    paper_id: str
    page: int
    fate: str
    words: int | None


class ImportedDomainRow(TypedDict):
    """`imported_domain`: at most one row: what is reviewed, by the last imported file that tells."""

    domain: str | None


class ImportedFilesRow(TypedDict):
    """`imported_files`: one row per imported file: its name and what it held."""

    file: str
    sha256: str
    kind: str

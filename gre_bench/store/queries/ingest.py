"""The queries of ``sql/queries/ingest.sql`` and their rows."""

from __future__ import annotations

from typing import TypedDict

from gre_bench.store.queries import Query


class PaperRow(TypedDict):
    """One row per known paper."""

    paper_id: str
    title: str
    abstract: str | None
    text: str | None
    source_row: int | None


PAPERS = Query("papers", PaperRow)


class ReviewRow(TypedDict):
    """One row per known review."""

    review_id: str
    paper_id: str
    candidate: str
    text: str | None
    slot: int | None
    rating: float | None
    grade: float | None


REVIEWS = Query("reviews", ReviewRow)


class SnapshotRow(TypedDict):
    """At most one row: the snapshot imported last."""

    digest: str
    path: str


SNAPSHOT = Query("snapshot", SnapshotRow)


class PaperTextRow(TypedDict):
    """One row per paper whose text was read from a snapshot."""

    paper_id: str
    origin: str
    sha256: str
    status: str
    pages: int | None
    abstract: str | None
    text: str | None
    notes: list[str]


TEXTS = Query("texts", PaperTextRow)


class TextStateRow(TypedDict):
    """One row per paper whose text was read from a snapshot: the outcome of reading it, papers without text first."""

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


TEXT_STATES = Query("text_states", TextStateRow)


class TextWordsRow(TypedDict):
    """One row per paper, page and outcome of its words (*fate*): the number of words on the page with this outcome."""

    paper_id: str
    page: int
    fate: str
    words: int


TEXT_WORDS = Query("text_words", TextWordsRow)


class ImportedDomainRow(TypedDict):
    """At most one row: the domain, as stated by the last imported file that states one."""

    domain: str | None


IMPORTED_DOMAIN = Query("imported_domain", ImportedDomainRow)


class ImportedFileRow(TypedDict):
    """One row per imported file: its name and what it held."""

    file: str
    sha256: str
    kind: str


IMPORTED_FILES = Query("imported_files", ImportedFileRow)

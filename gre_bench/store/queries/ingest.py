"""The queries of ``sql/queries/ingest.sql`` and their rows."""

from __future__ import annotations

from typing import TypedDict

from gre_bench.store.queries import Query


class PaperRow(TypedDict):
    """One row per known paper.

    *source_row*: position of the paper in the file it was imported from, if it has one.
    """

    paper_id: str
    title: str
    abstract: str | None
    text: str | None
    source_row: int | None


PAPERS = Query("papers", PaperRow)


class ReviewRow(TypedDict):
    """One row per known review.

    *candidate*: the author; ``human`` for all human reviews. *slot*: position among the paper's human reviews, if
    stated.
    *rating*: the reviewer's rating of the paper. *grade*: a human rating of the review itself.
    """

    review_id: str
    paper_id: str
    candidate: str
    text: str | None
    slot: int | None
    rating: float | None
    grade: float | None


REVIEWS = Query("reviews", ReviewRow)


class SnapshotRow(TypedDict):
    """At most one row: the snapshot imported last, with its *path* below ``snapshots/`` of the state folder."""

    digest: str
    path: str


SNAPSHOT = Query("snapshot", SnapshotRow)


class PaperTextRow(TypedDict):
    """One row per paper whose text was read from a snapshot.

    *origin*: ``pdf``, or ``given`` if the snapshot holds the text itself. *sha256*: digest of the PDF or of the given
    text.
    *status*: ``ok``, or why the text is missing or doubtful. *abstract*: as found in the PDF.
    *text*: the body, without references and appendices. *notes*: remarks made while reading.
    """

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
    """One row per paper whose text was read from a snapshot: the outcome of reading. Papers without text come first.

    *origin*: ``pdf`` or ``given``. *status*: ``ok``, or why the text is missing or doubtful.
    *characters*: length of the text. *words*: number of words on all pages of the PDF.
    *kept*, *hidden*, *dropped*: how many of these words became text, were hidden on the page, or were dropped by a
    rule.
    *notes*: remarks made while reading.
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


TEXT_STATES = Query("text_states", TextStateRow)


class TextWordsRow(TypedDict):
    """One row per paper, page and *fate*: the number of words on the page with this fate.

    *page*: from 1; 0 for a text without pages. *fate*: ``kept``, ``hidden``, or the rule that dropped the words.
    """

    paper_id: str
    page: int
    fate: str
    words: int


TEXT_WORDS = Query("text_words", TextWordsRow)


class ImportedDomainRow(TypedDict):
    """At most one row: the domain, such as papers or restaurants, from the last imported file that states a domain."""

    domain: str | None


IMPORTED_DOMAIN = Query("imported_domain", ImportedDomainRow)


class ImportedFileRow(TypedDict):
    """One row per imported file.

    *kind*: what the file held: papers, reviews, notes, graded (reviews with human grades), or
    yelp (reviews of the Yelp data set).
    """

    file: str
    sha256: str
    kind: str


IMPORTED_FILES = Query("imported_files", ImportedFileRow)

"""The queries of ``sql/queries/writing.sql`` and their rows."""

from __future__ import annotations

from typing import TypedDict

from gre_bench.store.queries import Query


class JudgmentsRow(TypedDict):
    """One row per review and writer: the judgments that the writer made of the review."""

    review_id: str
    writer: str
    text: str


JUDGMENTS = Query("judgments", JudgmentsRow)


class DescribedJudgmentsRow(TypedDict):
    """One row per candidate of the requested reviews.

    *reviews* counts them, *judged* those with judgments. *median_lines* is the median number of lines of the judgments;
    *covered* is the mean share of a review's distinct words that they keep. *longest_id* names the longest.
    """

    candidate_id: str
    reviews: int
    judged: int
    median_lines: float | None
    covered: float | None
    longest_id: str


DESCRIBED_JUDGMENTS = Query("described_judgments", DescribedJudgmentsRow)


class JudgedExampleRow(TypedDict):
    """One row per candidate and writer: the first line of the candidate's longest judgments in the sample."""

    candidate_id: str
    writer: str
    example: str


JUDGED_EXAMPLES = Query("judged_examples", JudgedExampleRow)


class SynopsisRow(TypedDict):
    """One row per paper with a synopsis of the requested kind by the requested writer."""

    paper_id: str
    text: str


SYNOPSES = Query("synopses", SynopsisRow)


class AskedForRow(TypedDict):
    """One row per candidate, writer that was asked for its reviews, and whether a request was answered (*wrote*)."""

    candidate: str
    writer: str
    wrote: bool


ASKED_FOR = Query("asked_for", AskedForRow)


class UnwrittenRow(TypedDict):
    """One row per text that a writer was asked for and did not deliver: the outcome, and whether it is final."""

    item: str
    outcome: str
    detail: str
    final: bool


UNWRITTEN = Query("unwritten", UnwrittenRow)


class TextOutcomesRow(TypedDict):
    """One row per task, writer and outcome of the requested texts; a text cut at the token limit counts as cut."""

    task: str
    writer: str
    outcome: str
    texts: int
    to_be_asked_again: int
    from_the_archive: int
    prompt_tokens: int | None
    reply_tokens: int | None


TEXT_OUTCOMES = Query("text_outcomes", TextOutcomesRow)


class OutcomesRow(TypedDict):
    """One row per candidate, purpose and LM: how many of the requested texts and grades had each outcome.

    The last attempt at a text or grade counts.
    """

    candidate: str
    purpose: str | None
    model: str | None
    asked: int
    ok: int
    cut: int
    refused: int
    empty: int
    unparsable: int
    rate_limited: int
    failed: int
    not_asked: int | None


OUTCOMES = Query("outcomes", OutcomesRow)

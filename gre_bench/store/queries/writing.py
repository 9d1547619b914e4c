"""The queries of ``sql/queries/writing.sql`` and their rows."""

from __future__ import annotations

from typing import TypedDict

from gre_bench.store.queries import Query


class JudgmentsRow(TypedDict):
    """One row per review and writer: the judgments (*text*) that the writer made from the review."""

    review_id: str
    writer: str
    text: str


JUDGMENTS = Query("judgments", JudgmentsRow)


class DescribedJudgmentsRow(TypedDict):
    """One row per candidate of the requested reviews.

    *reviews*: number of requested reviews by the candidate. *judged*: number of these reviews with judgments.
    *median_lines*: median number of judgments per review. *longest_id*: the review with the most judgments.
    *covered*: mean share of a review's distinct words that also occur in its judgments.
    """

    candidate_id: str
    reviews: int
    judged: int
    median_lines: float | None
    covered: float | None
    longest_id: str


DESCRIBED_JUDGMENTS = Query("described_judgments", DescribedJudgmentsRow)


class JudgedExampleRow(TypedDict):
    """One row per candidate and writer: an example of the judgments that the writer made.

    *example*: the first line of the judgments of one sampled review, the one with the most judgments.
    """

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
    """One row per candidate and writer, if the writer was asked for reviews of the candidate.

    *wrote*: True if the writer delivered a review, False if a request failed. If both happened, there are two rows.
    """

    candidate: str
    writer: str
    wrote: bool


ASKED_FOR = Query("asked_for", AskedForRow)


class UnwrittenRow(TypedDict):
    """One row per text that one writer was asked for but did not deliver.

    *item*: id of the review or paper. *outcome*: the kind of failure, such as ``refused``. *detail*: the error message.
    *final*: True if the text will not be requested again.
    """

    item: str
    outcome: str
    detail: str
    final: bool


UNWRITTEN = Query("unwritten", UnwrittenRow)


class TextOutcomesRow(TypedDict):
    """One row per task, writer and outcome: the number of requested texts and the tokens that these texts took.

    *task*: review, judgments or assw (synopses). *outcome*: ``ok``, ``cut`` for a text cut at the token limit, or why
    there is no text. *from_the_archive*: texts answered by the archive of earlier replies.
    """

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
    """One row per candidate, purpose and LM: the number of requested texts and grades with each outcome.

    *purpose*: reviews, judgments, synopses, or grades of a metric. *asked*: all requests. *cut*: texts cut at the token
    limit. *not_asked*: requests that could not be made, for example because a text was missing. Only the last attempt
    at each text or grade counts.
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

"""Rows of the queries of ``sql/queries/writing.sql``."""

from __future__ import annotations

from typing import TypedDict


class JudgmentsRow(TypedDict):
    """`judgments`: one row per review and writer."""

    review_id: str
    writer: str
    text: str | None


class DescribedJudgmentsRow(TypedDict):
    """`described_judgments`: one row per candidate of the reviews given: how many have judgments, their median of
    lines, and the words that they keep.
    """

    candidate_id: str
    reviews: int
    judged: int
    median_lines: float | None
    covered: float | None
    longest_id: str | None


class JudgedExamplesRow(TypedDict):
    """`judged_examples`: one row per candidate and writer: the first judgment of its review that has most of them,
    in the sample.
    """

    candidate_id: str
    writer: str
    example: str | None


class SynopsesRow(TypedDict):
    """`synopses`: one row per paper with a synopsis of this kind by this writer."""

    paper_id: str
    text: str | None


class AskedForRow(TypedDict):
    """`asked_for`: one row per candidate and writer that was asked for reviews; in a review's item the candidate
    stands last.
    """

    candidate: str
    writer: str
    wrote: bool | None


class UnwrittenRow(TypedDict):
    """`unwritten`: one row per text of a task and writer that was asked for in vain."""

    item: str
    outcome: str | None
    detail: str | None
    final: bool


class TextOutcomesRow(TypedDict):
    """`text_outcomes`: one row per task, writer and outcome of the texts that were asked for; a text cut at the
    token limit counts as cut.
    """

    task: str
    writer: str
    outcome: str | None
    texts: int
    to_be_asked_again: int
    from_the_archive: int
    prompt_tokens: int | None
    reply_tokens: int | None


class OutcomesRow(TypedDict):
    """`outcomes`: one row per candidate, purpose and LM that was asked: what became of the texts and grades, by
    the last attempt at each.
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

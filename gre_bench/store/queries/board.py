"""The queries of ``sql/queries/board.sql`` and their rows."""

from __future__ import annotations

from datetime import date
from typing import TypedDict

from gre_bench.store.queries import Query
from gre_bench.store.queries.runs import SettingsRow


class LeaderboardRow(TypedDict):
    """One row per requested signature and candidate; validated metrics come first.

    Within a signature the best candidate comes first, and candidates without a rank last.
    """

    metric: str
    rank: int | None
    candidate: str
    kind: str
    mean: float | None
    low: float | None
    high: float | None
    flat_low: float | None
    flat_high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    difference_p: float | None
    difference_papers: int | None
    chance: float | None
    above_chance: float | None
    above_chance_low: float | None
    above_chance_high: float | None
    above_chance_p: float | None
    above_chance_p_holm: float | None
    above_chance_papers: int | None
    surely_above_chance: bool | None
    expected: int
    planned: int
    scored: int
    failed: int
    excluded: int
    missing: int
    papers: int
    unranked: str | None
    validation: str
    rank_low: int | None
    rank_high: int | None
    likely_low: int | None
    likely_high: int | None
    next_candidate: str | None
    next_difference: float | None
    next_low: float | None
    next_high: float | None
    next_p: float | None
    tied: bool | None
    more_papers: int | None
    difference_p_holm: float | None
    tests: int | None
    untested: str | None
    words: float | None
    human_words: float | None
    at_length: float | None
    at_length_low: float | None
    at_length_high: float | None
    extrapolated: bool | None
    shortest: int | None
    longest: int | None
    asked: int | None
    unusable: int | None
    judged: int | None
    unparsable: int | None
    lines: int | None
    strays: int | None
    median_lines: float | None
    human_lines: float | None
    covered: float | None
    few_lines: bool | None
    prompt_tokens: int | None
    reply_tokens: int | None
    usd: float | None
    conflict: str | None
    contamination: str
    family: str | None
    cutoff: date | None
    released: date | None
    model: str | None
    guideline: str | None
    group_name: str | None
    note: str | None
    signature_id: str
    plan_papers: int | None
    sampled: int


LEADERBOARD = Query("leaderboard", LeaderboardRow)


WHOLE_BOARD = Query("whole_board", LeaderboardRow)
"""The same rows as `LEADERBOARD`, but contaminated candidates are ranked too."""


class RankedRow(TypedDict):
    """One row per signature asked for, board, group and ranked candidate: group by group, best first."""

    signature_id: str
    board: str
    group_name: str | None
    candidate: str
    rank: int


RANKED = Query("ranked", RankedRow)


BOARD_SETTINGS = Query("board_settings", SettingsRow)
"""At most one row: the settings of the run that planned the shown leaderboard; a later run may have others."""


class BoardTextRow(TypedDict):
    """One row per candidate, task (its reviews, or their judgments) and writer that was asked for them.

    *asked*: the texts asked for. *unusable*: those that gave no text. *unstated*: replies without a count of tokens.
    """

    candidate_id: str
    task: str
    writer: str
    asked: int
    unusable: int
    unstated: int
    prompt_tokens: int | None
    reply_tokens: int | None


BOARD_TEXTS = Query("board_texts", BoardTextRow)


class JudgedCandidateRow(TypedDict):
    """One row per candidate: what one writer made of its reviews.

    *judged* counts the reviews that it read, *unparsable* those of them without a judgment. *lines* counts all lines
    that it wrote, *strays* those that are no judgment. *median_lines* is the median of judgments per review. *covered*
    is the mean share of a review's distinct words that its judgments keep.
    """

    candidate_id: str
    judged: int
    unparsable: int
    lines: int
    strays: int
    median_lines: float | None
    covered: float | None


BOARD_JUDGMENTS = Query("board_judgments", JudgedCandidateRow)


class TextLengthRow(TypedDict):
    """One row per paper and candidate on the boards: the number of words a metric reads (of judgments or review)."""

    candidate_id: str
    paper_id: str
    words: int


BOARD_LENGTHS = Query("board_lengths", TextLengthRow)


class AnchoredRow(TypedDict):
    """One row per signature and candidate: its mean difference, by paper, from the mean of the requested anchors.

    Anchors are candidates that other candidates are compared with; they have no row themselves.
    """

    metric: str
    signature_id: str
    candidate: str
    kind: str
    papers: int
    difference: float
    low: float | None
    high: float | None
    se: float | None
    mean: float
    above_chance: float | None
    above_chance_high: float | None
    surely_above_chance: bool | None
    contamination: str
    unranked: str | None


ANCHORED = Query("anchored", AnchoredRow)


class StrataRow(TypedDict):
    """One row per signature, stratum, value of the stratum and candidate: the candidate's scores on these papers.

    Of a stratum's values, the one with most papers comes first.
    """

    signature_id: str
    stratum: str
    value: str
    candidate: str
    kind: str
    papers: int
    mean: float
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None


STRATA = Query("strata", StrataRow)


class SampledStrataRow(TypedDict):
    """One row per stratum and value: the number of sampled papers with this value; versions of the PDF come first."""

    stratum: str
    value: str
    papers: int


SAMPLED_STRATA = Query("sampled_strata", SampledStrataRow)


class CleanGapRow(TypedDict):
    """One row per requested signature: the mean score of contaminated models less that of the other models.

    They are compared within a group of candidates, by paper and reference. A signature without a group that has both
    has no row.
    """

    metric: str
    signature_id: str
    gap: float
    low: float | None
    high: float | None
    papers: int


CLEAN_GAP = Query("clean_gap", CleanGapRow)


class HumanDifferenceRow(TypedDict):
    """One row per candidate and paper of one signature: its mean score less the human baseline's."""

    candidate_id: str
    paper_id: str
    difference: float


HUMAN_DIFFERENCES = Query("human_differences", HumanDifferenceRow)


class ExposureRow(TypedDict):
    """One row per role and name of an LM: whether it may have been trained on the reviews (*status*), and its dates.

    The roles are candidate, evaluation LM and writer.
    """

    role: str
    name: str
    status: str
    family: str | None
    cutoff: date | None
    released: date | None


EXPOSURES = Query("exposures", ExposureRow)

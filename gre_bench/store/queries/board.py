"""The queries of ``sql/queries/board.sql`` and their rows."""

from __future__ import annotations

from datetime import date
from typing import TypedDict

from gre_bench.store.queries import Query
from gre_bench.store.queries.runs import SettingsRow


class LeaderboardRow(TypedDict):
    """One row per requested signature and candidate: the candidate's line on the board.

    Validated metrics come first. Within a signature the best candidate comes first, and candidates without a rank last.
    Scores and differences are in the metric's unit. A field is None if the value is unknown or not computed.

    - *mean*, *low*, *high*: the mean score with its 90% interval, clustered by paper.
    - *flat_low*, *flat_high*: the 90% interval of *mean* under the assumption that pairs are independent.
    - *difference*: *mean* less that of the human baseline, paired by paper; with its 90% interval.
    - *difference_p*, *difference_p_holm*: p-value of the difference, uncorrected and Holm-corrected.
    - *difference_papers*: number of papers behind the difference.
    - *chance*: mean score of the candidate's reviews moved to other papers.
    - *above_chance*: mean score less *chance*, on pairs with both scores; with its 90% interval.
    - *surely_above_chance*: whether a test at 5% shows that the candidate scores above chance.
    - *expected*: number of different (paper, reference) over all candidates. *planned*: number of pairs planned for
      this candidate.
    - *scored*, *failed*, *excluded*, *missing*: number of planned pairs in each state. *papers*: papers with a score.
    - *unranked*: why the candidate has no rank. *validation*: the outcome of the metric's validation, in words.
    - *rank_low*, *rank_high*: the ranks that the tests allow, at 95% for all ranks at once.
    - *likely_low*, *likely_high*: the 95% bootstrap interval of this candidate's rank alone.
    - *next_candidate*: the candidate one rank below. *next_difference*: how much lower that candidate scores.
    - *next_low*, *next_high*: the 90% interval of *next_difference*. *next_p*: the Holm-corrected p-value.
    - *tied*: whether *next_difference* is not significant at 5%.
    - *more_papers*: additional papers with which *next_difference* would be significant with probability 80%.
    - *tests*: number of tests in the same Holm correction. *untested*: why candidates are not tested against each
      other.
    - *words*: mean number of words of the texts that the metric reads. *shortest*, *longest*: words of the shortest and
      the longest text.
    - *human_words*: geometric mean length of the human baseline's texts, in words.
    - *at_length*: the candidate's score at the length *human_words*, with its 90% interval.
    - *extrapolated*: whether *human_words* lies outside the range of the candidate's texts.
    - *asked*: number of requested reviews and judgments. *unusable*: number of requests that gave no text.
    - *judged*: number of reviews that the writer read. *unparsable*: how many of these reviews gave no judgment.
    - *lines*: number of lines of all judgments. *strays*: how many of these lines use none of the four openings.
    - *median_lines*: median number of judgments per review. *human_lines*: the same for the human baseline.
    - *covered*: mean share of a review's distinct words that also occur in its judgments.
    - *few_lines*: whether *median_lines* is below half of *human_lines*.
    - *usd*: cost at listed prices.
    - *conflict*: the evaluation LM or writer that belongs to the candidate's own model family.
    - *contamination*: clean, contaminated or unknown; ``none`` for a candidate that is no model. *cutoff*: last day of
      the model's training texts.
    - *released*: day on which the edition's reviews were first shown.
    - *group_name*: the group that the candidate is ranked in; None: the main group. *note*: a remark for readers.
    - *plan_papers*: papers planned under the signature. *sampled*: papers in the edition's sample.
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
    """One row per requested signature, board and ranked candidate.

    Candidates are sorted by group, and within a group by rank, the best first.
    *board*: ``clean`` is a ranking without contaminated models, ``all`` a ranking of every model.
    *group_name*: None for the main group.
    """

    signature_id: str
    board: str
    group_name: str | None
    candidate: str
    rank: int


RANKED = Query("ranked", RankedRow)


BOARD_SETTINGS = Query("board_settings", SettingsRow)
"""At most one row: the settings of the run that planned the shown leaderboard; a later run may have others."""


class BoardTextRow(TypedDict):
    """One row per candidate, task and writer: the requests to the writer and the tokens that these requests took.

    *task*: ``review`` or ``judgments``. *asked*: number of requested texts. *unusable*: number of requests without a
    text.
    *unstated*: number of replies for which the endpoint stated no count of tokens.
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
    """One row per candidate: counts of the judgments that one writer made of the candidate's reviews.

    - *judged*: number of reviews that the writer read. *unparsable*: how many of these reviews gave no judgment.
    - *lines*: number of lines that the writer wrote. *strays*: how many of these lines are no judgment.
    - *median_lines*: median number of judgments per review.
    - *covered*: mean share of a review's distinct words that also occur in its judgments.
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
    """One row per paper and candidate on the boards: the number of words of the candidate's text.

    If the metric reads judgments, the text is the review's judgments; otherwise it is the review as written.
    """

    candidate_id: str
    paper_id: str
    words: int


BOARD_LENGTHS = Query("board_lengths", TextLengthRow)


class AnchoredRow(TypedDict):
    """One row per signature and candidate: the candidate's mean difference from the requested anchors.

    The anchors' mean score is subtracted pair by pair, then differences are averaged by paper. Anchors have no row.

    - *papers*: number of papers behind the difference. *low*, *high*, *se*: 90% interval and standard error of the
      difference.
    - *mean*: the candidate's mean score. *above_chance*: its score above chance.
    - *surely_above_chance*: whether a test at 5% shows that the candidate scores above chance.
    - *contamination*: clean, contaminated, unknown or none. *unranked*: why the candidate has no rank.
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
    """One row per signature, stratum, value and candidate: the candidate's scores on the papers with this value.

    A stratum is a property of papers, such as the decision; *value* is what the papers share, such as ``accept``.
    Within a stratum, the value with the most papers comes first.

    *papers*: number of papers with this value. *low*, *high*: 90% interval of the mean score.
    *difference*: *mean* less that of the human baseline, paired by paper, with its 90% interval.
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
    """One row per stratum and value: the number of sampled papers with this value.

    The stratum ``PDF version`` comes first.
    """

    stratum: str
    value: str
    papers: int


SAMPLED_STRATA = Query("sampled_strata", SampledStrataRow)


class CleanGapRow(TypedDict):
    """One row per requested signature: how much higher contaminated models score than the other models.

    *gap*: difference of the mean scores, with its 90% interval *low* to *high*. *papers*: papers behind the gap. Models
    of the same group are compared on the same papers and references. A signature has no row if no group holds both
    contaminated and other models.
    """

    metric: str
    signature_id: str
    gap: float
    low: float | None
    high: float | None
    papers: int


CLEAN_GAP = Query("clean_gap", CleanGapRow)


class HumanDifferenceRow(TypedDict):
    """One row per candidate and paper of one signature: the candidate's mean score less that of the human baseline."""

    candidate_id: str
    paper_id: str
    difference: float


HUMAN_DIFFERENCES = Query("human_differences", HumanDifferenceRow)


class ExposureRow(TypedDict):
    """One row per LM and the role it plays: whether the LM may have been trained on the edition's reviews.

    *role*: candidate, evaluation_lm, writer or synopsis_writer. *status*: clean, contaminated, unknown or none.
    *cutoff*: last day of the LM's training texts. *released*: day on which the edition's reviews were first shown.
    *learnt*: how many of *papers* papers the LM or rule was learnt from here; null if it has no register. *register*:
    digest of the register.
    """

    role: str
    name: str
    status: str
    family: str | None
    cutoff: date | None
    released: date | None
    learnt: int | None
    papers: int | None
    register: str | None


EXPOSURES = Query("exposures", ExposureRow)

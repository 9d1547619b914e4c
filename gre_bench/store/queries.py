"""The queries of ``sql/queries`` that return rows, and types for those rows that other packages use.

The SQL defines the rows, and ``docs/columns.toml`` explains the columns. Tests compare the types with DuckDB's
``describe``. Functions here convert records to columns for bulk queries, and DuckDB's rows to dictionaries.
"""
# ruff: noqa: UP013 - written as classes, these types of rows would be four times as long

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from itertools import accumulate, chain
from typing import Any, Generic, TypedDict, TypeVar, cast

import duckdb

from gre_bench.core.judgments import Form
from gre_bench.store.statements import get_statement

Row_co = TypeVar("Row_co", covariant=True)
"""The type of a query's rows: a `TypedDict` with the columns, or `Plain`."""

QueryRow = TypeVar("QueryRow")

Row = Mapping[str, Any]
"""A row of a release or of a user's own query; no type declares its columns."""

Plain = dict[str, Any]
"""A row whose columns are declared only by its SQL."""


@dataclass(frozen=True, slots=True)
class Query(Generic[Row_co]):
    """A query of ``sql/queries``: its *name*, the type of its rows, *row*, and *defaults* for its parameters."""

    name: str
    row: type[Row_co]
    defaults: Mapping[str, Any] = field(default_factory=dict)


def define_queries(*names: str) -> Iterator[Query[Plain]]:
    """Yields the queries *names*, whose rows are of the type `Plain`."""
    return (Query(name, Plain) for name in names)


# fmt: off
# runs.sql
VERSION, DEFINITIONS, LOCKED, OWN_VIEWS, LAST_SETTINGS, RUNS_OF_ROWS, PARSED_QUERY = define_queries(
    "version", "definitions", "locked", "own_views", "last_settings", "runs_of_rows", "parsed_query"
)

# ingest.sql
_WHOLE = {"ids": None, "bodies": True}
PAPERS, TEXTS = Query("papers", Plain, _WHOLE), Query("texts", Plain, _WHOLE)
REVIEWS = Query("reviews", Plain, {"texts": True, "papers": None})
SNAPSHOT, UNREAD, TEXT_STATES, TEXT_WORDS, IMPORTED_DOMAIN, IMPORTED_FILES, POINTS = define_queries(
    "snapshot", "unread", "text_states", "text_words", "imported_domain", "imported_files", "points"
)
ImportRow = TypedDict("ImportRow", {
    "number": int, "run_id": str, "file": str, "happened_at": datetime, "added": int, "papers": int, "reviews": int,
    "judgments": int, "points": int, "candidates": list[str],
})
IMPORTS = Query("imports", ImportRow)

# plan.sql
(
    DRAW, SAMPLE, CANDIDATES, KNOWN_CANDIDATES, UNDONE_CANDIDATES, UNDONE_OF_OTHERS, CANDIDATE_MODELS, CHANGE_MAKERS,
    CANDIDATE_COUNTS, PLANNED_CANDIDATE, PLANNED_CANDIDATES, UNPLANNED_REVIEWS, WAITING_TEXTS
) = define_queries(
    "draw", "sample", "candidates", "known_candidates", "undone_candidates", "undone_of_others", "candidate_models",
    "change_makers", "candidate_counts", "planned_candidate", "planned_candidates", "unplanned_reviews",
    "waiting_texts"
)
SignatureRow = TypedDict("SignatureRow", {
    "signature_id": str, "metric": str, "prompt_sha256": str, "evaluation_lm": str, "lm_digest": str, "dtype": str,
    "quantisation": str, "attention": str, "template_digest": str, "writer": str, "synopsis_writer": str, "form": Form,
    "text_cut": str, "ascii_fold": bool, "engine_version": str, "chance": str | None,
})
CURRENT_SIGNATURES = Query("current_signatures", SignatureRow)
PLANNED_SIGNATURES = Query("planned_signatures", SignatureRow)
CANDIDATE_SIGNATURES = Query("candidate_signatures", SignatureRow)
# pyrefly: ignore[not-callable]
LMS_OF_METRIC = Query("lms_of_metric", TypedDict("LmOfMetricRow", {"evaluation_lm": str, "signature_id": str}))
UncoveredRow = TypedDict("UncoveredRow", {"candidate": str, "papers": int, "lacking": int, "examples": list[str]})
UNCOVERED = Query("uncovered", UncoveredRow)

# writing.sql
JUDGMENTS, DESCRIBED_JUDGMENTS, JUDGED_EXAMPLES, SYNOPSES, ASKED_FOR, UNWRITTEN, TEXT_OUTCOMES = define_queries(
    "judgments", "described_judgments", "judged_examples", "synopses", "asked_for", "unwritten", "text_outcomes"
)
OutcomesRow = TypedDict("OutcomesRow", {
    "candidate": str, "purpose": str | None, "model": str | None, "asked": int, "ok": int, "cut": int, "refused": int,
    "empty": int, "unparsable": int, "rate_limited": int, "failed": int, "not_asked": int | None,
})
OUTCOMES = Query("outcomes", OutcomesRow)

# score.sql
SCORE_COUNT, ANY_SPAN, SPANS_OF, MISSING, SCORED_PAIRS, FINISHED_PAIRS, CHANCE_PAIRS, PAIR_LOGPROBS = define_queries(
    "score_count", "any_span", "spans_of", "missing", "scored_pairs", "finished_pairs", "chance_pairs",
    "pair_logprobs"
)
(REFERENCE_LENGTHS,) = define_queries("reference_lengths")
ProgressRow = TypedDict("ProgressRow", {
    "signature_id": str, "metric": str, "planned": int, "scored": int, "failed": int, "excluded": int, "missing": int,
    "unfinished": int,
})
PROGRESS = Query("progress", ProgressRow, {"candidates": None})
ReasonRow = TypedDict("ReasonRow", {
    "metric": str, "state": str, "reason": str | None, "broken": bool, "unfinished": bool, "pairs": int,
    "example": str | None,
})
REASONS = Query("reasons", ReasonRow, {"candidates": None})
CandidatePairRow = TypedDict("CandidatePairRow", {
    "candidate_id": str, "paper_id": str, "reference_id": str, "state": str, "value": float | None,
    "reason": str | None, "unit": str | None,
})
CANDIDATE_PAIRS = Query("candidate_pairs", CandidatePairRow)
BoardPairRow = TypedDict("BoardPairRow", {
    "candidate_id": str, "paper_id": str, "reference_id": str, "value": float, "unit": str | None,
})
BOARD_PAIRS = Query("board_pairs", BoardPairRow)
StandInRow = TypedDict("StandInRow", {
    "paper_id": str, "candidate_id": str, "review_id": str, "reference_by": str, "reference_id": str,
    "value": float | None, "cut": float | None,
})
STAND_INS = Query("stand_ins", StandInRow)
CommitteeRow = TypedDict("CommitteeRow", {
    "paper_id": str, "reference_id": str, "members": str, "value": float | None, "repeats": int, "problem": str | None,
})
COMMITTEES = Query("committees", CommitteeRow)

# board.sql
(
    RANKED, STALE_RANKS, BOARD_SETTINGS, BOARD_TEXTS, BOARD_JUDGMENTS, BOARD_LENGTHS, ANCHORED, STRATA,
    SAMPLED_STRATA, HUMAN_DIFFERENCES
) = define_queries(
    "ranked", "stale_ranks", "board_settings", "board_texts", "board_judgments", "board_lengths", "anchored", "strata",
    "sampled_strata", "human_differences"
)
LeaderboardRow = TypedDict("LeaderboardRow", {
    "metric": str, "rank": int | None, "candidate": str, "kind": str, "score": float | None, "low": float | None,
    "high": float | None, "flat_low": float | None, "flat_high": float | None, "vs_human": float | None,
    "vs_human_low": float | None, "vs_human_high": float | None, "p": float | None, "p_alone": float | None,
    "vs_human_papers": int | None, "vs_human_units": int | None, "above_chance": float | None,
    "above_chance_low": float | None, "above_chance_high": float | None, "above_chance_p": float | None,
    "above_chance_p_holm": float | None, "surely_above_chance": bool | None, "expected": int, "planned": int,
    "scored": int, "failed": int, "excluded": int,
    "missing": int, "papers": int, "unranked": str | None, "validation": str, "rank_low": int | None,
    "rank_high": int | None, "next_candidate": str | None, "next_p": float | None, "tied": bool | None,
    "tests": int | None, "untested": str | None, "words": float | None,
    "human_words": float | None, "at_length": float | None, "at_length_low": float | None,
    "at_length_high": float | None, "extrapolated": bool | None, "shortest": int | None, "longest": int | None,
    "asked": int | None, "unusable": int | None, "judged": int | None, "unparsable": int | None, "lines": int | None,
    "strays": int | None, "median_lines": float | None, "human_lines": float | None, "covered": float | None,
    "few_lines": bool | None, "prompt_tokens": int | None, "reply_tokens": int | None, "usd": float | None,
    "conflict": str | None, "contamination": str, "cutoff": date | None, "model": str | None, "guideline": str | None,
    "group_name": str | None, "note": str | None, "signature_id": str, "plan_papers": int | None,
    "expected_papers": int | None, "sampled": int,
})
LEADERBOARD = Query("leaderboard", LeaderboardRow, {"board": "clean"})
PairTestRow = TypedDict("PairTestRow", {
    "first": str, "second": str, "difference": float, "low": float, "high": float, "sd": float, "p": float,
    "p_holm": float, "papers": int, "ahead": int, "behind": int, "median": float, "trimmed": float,
    "trimmed_low": float, "trimmed_high": float, "sign_p": float,
})
PAIR_TESTS = Query("pair_tests", PairTestRow, {"board": "clean"})
CleanGapRow = TypedDict("CleanGapRow", {
    "metric": str, "signature_id": str, "candidates": list[str], "gap": float, "low": float | None,
    "high": float | None, "papers": int,
})
CLEAN_GAP = Query("clean_gap", CleanGapRow)
ContaminationRow = TypedDict("ContaminationRow", {
    "role": str, "name": str, "status": str, "family": str | None, "cutoff": date | None, "released": date | None,
    "learnt": int | None, "papers": int | None, "register": str | None,
})
EXPOSURES = Query("exposures", ContaminationRow)

# study.sql
SeparationRow = TypedDict("SeparationRow", {
    "metric": str, "signature_id": str, "same": str, "other": str, "same_pairs": int, "other_pairs": int, "auc": float,
    "low": float | None, "high": float | None, "left_out": int | None,
})
SEPARATION = Query("separation", SeparationRow)
EffectRow = TypedDict("EffectRow", {
    "metric": str, "signature_id": str, "change": str, "candidate_id": str, "family": str, "made_by": str,
    "d": float | None, "low": float | None, "high": float | None, "p": float | None, "p_holm": float | None,
    "flat_low": float | None, "flat_high": float | None, "flat_p": float | None, "length_d": float | None,
    "length_low": float | None, "length_high": float | None, "mean_before": float | None, "mean_after": float | None,
    "pairs": int, "planned": int, "papers": int, "method": str | None, "verdict": str, "paper_verdict": str | None,
    "problem": str | None, "run_id": str,
})
EFFECTS = Query("effects", EffectRow)
ValidationRow = TypedDict("ValidationRow", {
    "metric": str, "signature_id": str, "verdict": str, "edition": str, "detail": str, "validated_at": datetime,
})
VALIDATIONS = Query("validations", ValidationRow)
CERTIFIED = "; certificate: "
"""Separates, in the detail of a stored validation, the sentence on the metric's certificate from the text before it.

A certificate lists harms with the smallest degree of each that the metric detects.
"""

# why.sql
WHY_PAIRS, WHY_RUN, MOVED = define_queries(
    "why_pairs", "why_run", "moved"
)
WhyPaperRow = TypedDict("WhyPaperRow", {
    "paper_id": str, "title": str, "abstract_sha256": str | None, "pdf_sha256": str | None,
    "pdf_version_status": str | None, "text_status": str | None, "text_sha256": str | None, "snapshot": str | None,
})
WHY_PAPER = Query("why_paper", WhyPaperRow)
WhyReviewRow = TypedDict("WhyReviewRow", {
    "review_id": str, "candidate": str, "text_sha256": str | None, "version_id": str | None,
    "written_at": datetime | None, "version_rule": str | None, "judgments_sha256": str | None, "lines": int | None,
    "strays": int | None,
})
WHY_REVIEWS = Query("why_reviews", WhyReviewRow)
WhySpanRow = TypedDict("WhySpanRow", {
    "lm_id": str, "prediction": str, "total": float, "ids": list[int], "logprobs": list[float], "escaped": int,
})
WHY_SPANS = Query("why_spans", WhySpanRow)
# fmt: on


def columns(values: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns column → list of values. *values*: at least one record, either all dataclasses or all mappings."""
    if is_dataclass(values[0]):
        return {field.name: [getattr(value, field.name) for value in values] for field in fields(values[0])}
    return {name: [row[name] for row in values] for name in values[0]}


def as_arrow(values_of: Mapping[str, list[Any]]) -> Any:
    """Returns *values_of* (column → values) as an Arrow table, which DuckDB reads much faster than Python lists."""
    import pyarrow

    def flatten_lists(lists: list[Any]) -> Any:
        if not all(isinstance(item, list | tuple) for item in lists):
            return pyarrow.array(lists)
        ends = pyarrow.array(accumulate(map(len, lists), initial=0), pyarrow.int32())
        return pyarrow.ListArray.from_arrays(ends, pyarrow.array(list(chain.from_iterable(lists))))

    return pyarrow.table({name: flatten_lists(values) for name, values in values_of.items()})


def fetch(connection: duckdb.DuckDBPyConnection, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
    """Runs *query* with *parameters* and returns all rows as dictionaries of the type that *query* declares."""
    cursor = connection.execute(get_statement("queries", query.name), {**query.defaults, **parameters} or None)
    names = [column[0] for column in cursor.description]
    return cast(list[QueryRow], [dict(zip(names, row, strict=True)) for row in cursor.fetchall()])


def fetch_columns(connection: duckdb.DuckDBPyConnection, query: Query[Any], **parameters: Any) -> list[list[Any]]:
    """Runs *query* with *parameters* and returns one list per column; no column may contain nulls."""
    arrays = connection.execute(get_statement("queries", query.name), {**query.defaults, **parameters}).fetchnumpy()
    return [column.tolist() for column in arrays.values()]


def make_names_unique(names: Sequence[str]) -> list[str]:
    """Returns *names* in the same order, with repeated names made unique: the second ``name`` becomes ``name_2``.

    If ``name_2`` is taken, the next free number is used.
    """
    used, last = set(names), dict.fromkeys(names, 0)
    results = []
    for name in names:
        last[name] += 1
        own = name
        while last[name] > 1 and own in used:
            own = f"{name}_{last[name]}"
            last[name] += own in used
        used.add(own)
        results.append(own)
    return results

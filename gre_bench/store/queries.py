"""The queries of ``sql/queries`` that return rows, with the type of their rows where code outside relies on it.

The SQL says what a row is, and ``docs/columns.toml`` what a column means. Tests compare the names and types of the
columns with DuckDB's ``describe``. Here records become columns for bulk queries, and DuckDB's rows dictionaries.
"""
# ruff: noqa: UP013 - a class for each of these tables of columns would be four times as long

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from itertools import accumulate, chain
from typing import Any, Generic, TypedDict, TypeVar, cast

import duckdb

from gre_bench.core.judgments import Form
from gre_bench.store.statements import statement

Row_co = TypeVar("Row_co", covariant=True)
"""A `TypedDict` (columns by name), or `Plain`."""

QueryRow = TypeVar("QueryRow")

Row = Mapping[str, Any]
"""A row of a release or of a user's own query: no type states its columns."""

Plain = dict[str, Any]
"""A row whose columns no type states: its SQL does."""


@dataclass(frozen=True, slots=True)
class Query(Generic[Row_co]):
    """A query of ``sql/queries``: its *name*, the type of its rows, *row*, and its parameters if a call states none."""

    name: str
    row: type[Row_co]
    defaults: Mapping[str, Any] = field(default_factory=dict)


# fmt: off
# runs.sql
VERSION = Query("version", Plain)
DEFINITIONS = Query("definitions", Plain)
LOCKED = Query("locked", Plain)
FOREIGN_VIEWS = Query("foreign_views", Plain)
LAST_SETTINGS = Query("last_settings", Plain)
RUNS_OF_ROWS = Query("runs_of_rows", Plain)
PARSED_QUERY = Query("parsed_query", Plain)

# ingest.sql
PAPERS = Query("papers", Plain)
REVIEWS = Query("reviews", Plain)
SNAPSHOT = Query("snapshot", Plain)
TEXTS = Query("texts", Plain)
TEXT_STATES = Query("text_states", Plain)
TEXT_WORDS = Query("text_words", Plain)
IMPORTED_DOMAIN = Query("imported_domain", Plain)
IMPORTED_FILES = Query("imported_files", Plain)
POINTS = Query("points", Plain)
ImportRow = TypedDict("ImportRow", {
    "number": int, "run_id": str, "file": str, "happened_at": datetime, "papers": int, "reviews": int, "judgments": int,
    "points": int, "candidates": list[str],
})
IMPORTS = Query("imports", ImportRow)

# plan.sql
DRAW = Query("draw", Plain)
SAMPLE = Query("sample", Plain)
CANDIDATES = Query("candidates", Plain)
KNOWN_CANDIDATES = Query("known_candidates", Plain)
UNDONE_CANDIDATES = Query("undone_candidates", Plain)
CANDIDATE_MODELS = Query("candidate_models", Plain)
CHANGE_MAKERS = Query("change_makers", Plain)
CANDIDATE_COUNTS = Query("candidate_counts", Plain)
SignatureRow = TypedDict("SignatureRow", {
    "signature_id": str, "metric": str, "prompt_sha256": str, "evaluation_lm": str, "lm_digest": str, "dtype": str,
    "quantisation": str, "attention": str, "template_digest": str, "writer": str, "synopsis_writer": str, "form": Form,
    "text_cut": str, "ascii_fold": bool, "engine_version": str, "chance": str | None,
})
CURRENT_SIGNATURES = Query("current_signatures", SignatureRow)
PLANNED_SIGNATURES = Query("planned_signatures", SignatureRow)
CANDIDATE_SIGNATURES = Query("candidate_signatures", SignatureRow)
PLANNED_CANDIDATE = Query("planned_candidate", Plain)
PLANNED_CANDIDATES = Query("planned_candidates", Plain)
WAITING_TEXTS = Query("waiting_texts", Plain)
UncoveredRow = TypedDict("UncoveredRow", {"candidate": str, "papers": int, "lacking": int, "examples": list[str]})
UNCOVERED = Query("uncovered", UncoveredRow)

# writing.sql
JUDGMENTS = Query("judgments", Plain)
DESCRIBED_JUDGMENTS = Query("described_judgments", Plain)
JudgedExampleRow = TypedDict("JudgedExampleRow", {"candidate_id": str, "writer": str, "example": str})
JUDGED_EXAMPLES = Query("judged_examples", JudgedExampleRow)
SYNOPSES = Query("synopses", Plain)
ASKED_FOR = Query("asked_for", Plain)
UNWRITTEN = Query("unwritten", Plain)
TEXT_OUTCOMES = Query("text_outcomes", Plain)
OutcomesRow = TypedDict("OutcomesRow", {
    "candidate": str, "purpose": str | None, "model": str | None, "asked": int, "ok": int, "cut": int, "refused": int,
    "empty": int, "unparsable": int, "rate_limited": int, "failed": int, "not_asked": int | None,
})
OUTCOMES = Query("outcomes", OutcomesRow)

# score.sql
SCORE_COUNT = Query("score_count", Plain)
ANY_SPAN = Query("any_span", Plain)
SPANS_OF = Query("spans_of", Plain)
MISSING = Query("missing", Plain)
ProgressRow = TypedDict("ProgressRow", {
    "signature_id": str, "metric": str, "planned": int, "scored": int, "failed": int, "excluded": int, "missing": int,
})
PROGRESS = Query("progress", ProgressRow, {"candidates": None})
ReasonRow = TypedDict("ReasonRow", {
    "metric": str, "state": str, "reason": str | None, "broken": bool, "pairs": int, "example": str | None,
})
REASONS = Query("reasons", ReasonRow, {"candidates": None})
SCORED_PAIRS = Query("scored_pairs", Plain)
FINISHED_PAIRS = Query("finished_pairs", Plain)
CandidatePairRow = TypedDict("CandidatePairRow", {
    "candidate_id": str, "paper_id": str, "reference_id": str, "state": str, "value": float | None,
    "reason": str | None,
})
CANDIDATE_PAIRS = Query("candidate_pairs", CandidatePairRow)
CHANCE_PAIRS = Query("chance_pairs", Plain)
BoardPairRow = TypedDict("BoardPairRow", {"candidate_id": str, "paper_id": str, "reference_id": str, "value": float})
BOARD_PAIRS = Query("board_pairs", BoardPairRow)
PAIR_LOGPROBS = Query("pair_logprobs", Plain)

# board.sql
LeaderboardRow = TypedDict("LeaderboardRow", {
    "metric": str, "rank": int | None, "candidate": str, "kind": str, "score": float | None, "low": float | None,
    "high": float | None, "flat_low": float | None, "flat_high": float | None, "vs_human": float | None,
    "vs_human_low": float | None, "vs_human_high": float | None, "p": float | None, "p_alone": float | None,
    "vs_human_papers": int | None, "chance": float | None, "above_chance": float | None,
    "above_chance_low": float | None, "above_chance_high": float | None, "above_chance_p": float | None,
    "above_chance_p_holm": float | None, "above_chance_papers": int | None, "surely_above_chance": bool | None,
    "expected": int, "planned": int, "scored": int, "failed": int, "excluded": int, "missing": int, "papers": int,
    "unranked": str | None, "validation": str, "rank_low": int | None, "rank_high": int | None,
    "likely_low": int | None, "likely_high": int | None, "next_candidate": str | None, "next_difference": float | None,
    "next_low": float | None, "next_high": float | None, "next_p": float | None, "tied": bool | None,
    "more_papers": int | None, "tests": int | None, "untested": str | None,
    "words": float | None, "human_words": float | None, "at_length": float | None, "at_length_low": float | None,
    "at_length_high": float | None, "extrapolated": bool | None, "shortest": int | None, "longest": int | None,
    "asked": int | None, "unusable": int | None, "judged": int | None, "unparsable": int | None, "lines": int | None,
    "strays": int | None, "median_lines": float | None, "human_lines": float | None, "covered": float | None,
    "few_lines": bool | None, "prompt_tokens": int | None, "reply_tokens": int | None, "usd": float | None,
    "conflict": str | None, "contamination": str, "family": str | None, "cutoff": date | None, "released": date | None,
    "model": str | None, "guideline": str | None, "group_name": str | None, "note": str | None, "signature_id": str,
    "plan_papers": int | None, "sampled": int,
})
LEADERBOARD = Query("leaderboard", LeaderboardRow, {"board": "clean"})
RANKED = Query("ranked", Plain)
BOARD_SETTINGS = Query("board_settings", Plain)
BOARD_TEXTS = Query("board_texts", Plain)
BOARD_JUDGMENTS = Query("board_judgments", Plain)
BOARD_LENGTHS = Query("board_lengths", Plain)
AnchoredRow = TypedDict("AnchoredRow", {
    "metric": str, "signature_id": str, "candidate": str, "kind": str, "papers": int, "difference": float,
    "low": float | None, "high": float | None, "se": float | None, "mean": float, "above_chance": float | None,
    "above_chance_high": float | None, "surely_above_chance": bool | None, "contamination": str, "unranked": str | None,
})
ANCHORED = Query("anchored", AnchoredRow)
STRATA = Query("strata", Plain)
SAMPLED_STRATA = Query("sampled_strata", Plain)
CleanGapRow = TypedDict("CleanGapRow", {
    "metric": str, "signature_id": str, "gap": float, "low": float | None, "high": float | None, "papers": int,
})
CLEAN_GAP = Query("clean_gap", CleanGapRow)
HUMAN_DIFFERENCES = Query("human_differences", Plain)
ExposureRow = TypedDict("ExposureRow", {
    "role": str, "name": str, "status": str, "family": str | None, "cutoff": date | None, "released": date | None,
    "learnt": int | None, "papers": int | None, "register": str | None,
})
EXPOSURES = Query("exposures", ExposureRow)

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
AGREEMENTS = Query("agreements", Plain)
ValidationRow = TypedDict("ValidationRow", {
    "metric": str, "signature_id": str, "verdict": str, "edition": str, "detail": str, "validated_at": datetime,
})
VALIDATIONS = Query("validations", ValidationRow)

# why.sql
WHY_PAIRS = Query("why_pairs", Plain)
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
WHY_RUN = Query("why_run", Plain)
MOVED = Query("moved", Plain)
# fmt: on


def columns(values: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns the records *values* as one list per column, the form that bulk queries read.

    *values*: one or more dataclasses or mappings with the same fields.
    """
    if is_dataclass(values[0]):
        return {field.name: [getattr(value, field.name) for value in values] for field in fields(values[0])}
    return {name: [row[name] for row in values] for name in values[0]}


def as_arrow(values_of: Mapping[str, list[Any]]) -> Any:
    """Returns an Arrow table; *values_of* maps the name of each column to its values.

    DuckDB reads an Arrow table in place, many times faster than Python lists.
    """
    import pyarrow

    def flat(lists: list[Any]) -> Any:
        if not all(isinstance(item, list | tuple) for item in lists):
            return pyarrow.array(lists)
        ends = pyarrow.array(accumulate(map(len, lists), initial=0), pyarrow.int32())
        return pyarrow.ListArray.from_arrays(ends, pyarrow.array(list(chain.from_iterable(lists))))

    return pyarrow.table({name: flat(values) for name, values in values_of.items()})


def fetch(connection: duckdb.DuckDBPyConnection, query: Query[QueryRow], **parameters: Any) -> list[QueryRow]:
    """Runs *query* with its *parameters* and returns all its rows.

    Each row is a dictionary of the type that *query* declares. Tests compare these types with DuckDB's ``describe``.
    """
    cursor = connection.execute(statement("queries", query.name), {**query.defaults, **parameters} or None)
    names = [column[0] for column in cursor.description]
    return cast(list[QueryRow], [dict(zip(names, row, strict=True)) for row in cursor.fetchall()])


def fetch_columns(connection: duckdb.DuckDBPyConnection, query: Query[Any], **parameters: Any) -> list[list[Any]]:
    """Runs *query* with its *parameters* and returns one list per column; no column may hold a null."""
    arrays = connection.execute(statement("queries", query.name), {**query.defaults, **parameters}).fetchnumpy()
    return [column.tolist() for column in arrays.values()]


def distinct(names: Sequence[str]) -> list[str]:
    """Returns *names* in the same order, with repeated names made unique.

    The second occurrence of ``name`` becomes ``name_2``; if that name is taken, it gets the next free number.
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

"""The queries of ``sql/queries`` that return rows, with the type of their rows.

The SQL says what a row is, and ``docs/columns.toml`` what a column means. Tests compare the names and types of the
columns with DuckDB's ``describe``.
"""
# ruff: noqa: UP013 - a class for each of these tables of columns would be four times as long
# fmt: off

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Generic, TypedDict, TypeVar

from gre_bench.core.judgments import Form
from gre_bench.core.records import CandidateKind

Row_co = TypeVar("Row_co", covariant=True)
"""A `TypedDict`: columns by name."""


@dataclass(frozen=True, slots=True)
class Query(Generic[Row_co]):
    """A query of ``sql/queries``: its *name*, the type of its rows, *row*, and its parameters if a call states none."""

    name: str
    row: type[Row_co]
    defaults: Mapping[str, Any] = field(default_factory=dict)


# runs.sql
VersionRow = TypedDict("VersionRow", {"schema_version": int})
VERSION = Query("version", VersionRow)
DefinitionsRow = TypedDict("DefinitionsRow", {"digest": str | None})
DEFINITIONS = Query("definitions", DefinitionsRow)
LockedRow = TypedDict("LockedRow", {"locked": bool})
LOCKED = Query("locked", LockedRow)
ForeignViewRow = TypedDict("ForeignViewRow", {"view_name": str})
FOREIGN_VIEWS = Query("foreign_views", ForeignViewRow)
SettingsRow = TypedDict("SettingsRow", {"settings": str})
LAST_SETTINGS = Query("last_settings", SettingsRow)
RunOfRowsRow = TypedDict("RunOfRowsRow", {
    "run_id": str, "command": str, "started_at": datetime, "ended_at": datetime | None, "outcome": str | None,
    "code_version": str,
})
RUNS_OF_ROWS = Query("runs_of_rows", RunOfRowsRow)
ParsedQueryRow = TypedDict("ParsedQueryRow", {"parsed": str | None})
PARSED_QUERY = Query("parsed_query", ParsedQueryRow)

# ingest.sql
PaperRow = TypedDict("PaperRow", {
    "paper_id": str, "title": str, "abstract": str | None, "text": str | None, "source_row": int | None,
})
PAPERS = Query("papers", PaperRow)
ReviewRow = TypedDict("ReviewRow", {
    "review_id": str, "paper_id": str, "candidate": str, "text": str | None, "slot": int | None, "rating": float | None,
    "grade": float | None,
})
REVIEWS = Query("reviews", ReviewRow)
SnapshotRow = TypedDict("SnapshotRow", {"digest": str, "path": str})
SNAPSHOT = Query("snapshot", SnapshotRow)
PaperTextRow = TypedDict("PaperTextRow", {
    "paper_id": str, "origin": str, "sha256": str, "status": str, "pages": int | None, "abstract": str | None,
    "text": str | None, "notes": list[str],
})
TEXTS = Query("texts", PaperTextRow)
TextStateRow = TypedDict("TextStateRow", {
    "paper_id": str, "origin": str, "status": str, "pages": int | None, "characters": int | None, "words": int | None,
    "kept": int | None, "hidden": int | None, "dropped": int | None, "notes": list[str],
})
TEXT_STATES = Query("text_states", TextStateRow)
TextWordsRow = TypedDict("TextWordsRow", {"paper_id": str, "page": int, "fate": str, "words": int})
TEXT_WORDS = Query("text_words", TextWordsRow)
ImportedDomainRow = TypedDict("ImportedDomainRow", {"domain": str | None})
IMPORTED_DOMAIN = Query("imported_domain", ImportedDomainRow)
ImportedFileRow = TypedDict("ImportedFileRow", {"file": str, "sha256": str, "kind": str})
IMPORTED_FILES = Query("imported_files", ImportedFileRow)
PointRow = TypedDict("PointRow", {
    "point_id": str, "paper_id": str, "review_id": str | None, "candidate": str, "text": str, "place": int,
    "labels": str,
})
POINTS = Query("points", PointRow)
ImportRow = TypedDict("ImportRow", {
    "number": int, "run_id": str, "file": str, "happened_at": datetime, "papers": int, "reviews": int, "judgments": int,
    "points": int,
})
IMPORTS = Query("imports", ImportRow)

# plan.sql
DrawRow = TypedDict("DrawRow", {
    "papers": int, "seed": int, "reference_count": str, "min_reviews": int, "roles": str, "candidate_slot": int,
    "reference_slots": list[int], "avoid_learnt": list[str], "known": int, "eligible": int, "drawn_at": datetime,
})
DRAW = Query("draw", DrawRow)
SampledReviewRow = TypedDict("SampledReviewRow", {
    "paper_id": str, "position": int, "role": str, "place": int, "review_id": str,
})
SAMPLE = Query("sample", SampledReviewRow)
CandidateRow = TypedDict("CandidateRow", {
    "candidate_id": str, "kind": CandidateKind, "model": str | None, "prompt": str | None, "guideline": str | None,
})
CANDIDATES = Query("candidates", CandidateRow)
KnownCandidateRow = TypedDict("KnownCandidateRow", {"candidate": str})
KNOWN_CANDIDATES = Query("known_candidates", KnownCandidateRow)
UNDONE_CANDIDATES = Query("undone_candidates", KnownCandidateRow)
CandidateModelRow = TypedDict("CandidateModelRow", {"model": str})
CANDIDATE_MODELS = Query("candidate_models", CandidateModelRow)
ChangeMakerRow = TypedDict("ChangeMakerRow", {"candidate_id": str, "prompt": str | None})
CHANGE_MAKERS = Query("change_makers", ChangeMakerRow)
CandidateCountsRow = TypedDict("CandidateCountsRow", {
    "reviews": int, "judgments": int | None, "scores": int | None, "kind": str,
})
CANDIDATE_COUNTS = Query("candidate_counts", CandidateCountsRow)
SignatureRow = TypedDict("SignatureRow", {
    "signature_id": str, "metric": str, "prompt_sha256": str, "evaluation_lm": str, "lm_digest": str, "dtype": str,
    "quantisation": str, "attention": str, "template_digest": str, "writer": str, "synopsis_writer": str, "form": Form,
    "text_cut": str, "ascii_fold": bool, "engine_version": str, "chance": str | None,
})
CURRENT_SIGNATURES = Query("current_signatures", SignatureRow)
PLANNED_SIGNATURES = Query("planned_signatures", SignatureRow)
CANDIDATE_SIGNATURES = Query("candidate_signatures", SignatureRow)
PlannedCandidateRow = TypedDict("PlannedCandidateRow", {
    "candidate_id": str, "kind": CandidateKind, "model": str | None, "prompt": str | None, "guideline": str | None,
    "change": str | None,
})
PLANNED_CANDIDATE = Query("planned_candidate", PlannedCandidateRow)
CandidateNameRow = TypedDict("CandidateNameRow", {"candidate_id": str})
PLANNED_CANDIDATES = Query("planned_candidates", CandidateNameRow)
WaitingTextRow = TypedDict("WaitingTextRow", {"reason": str | None, "papers": int, "detail": str | None})
WAITING_TEXTS = Query("waiting_texts", WaitingTextRow)
UncoveredRow = TypedDict("UncoveredRow", {"candidate": str, "papers": int, "lacking": int, "examples": list[str]})
UNCOVERED = Query("uncovered", UncoveredRow)

# writing.sql
JudgmentsRow = TypedDict("JudgmentsRow", {"review_id": str, "writer": str, "text": str})
JUDGMENTS = Query("judgments", JudgmentsRow)
DescribedJudgmentsRow = TypedDict("DescribedJudgmentsRow", {
    "candidate_id": str, "reviews": int, "judged": int, "median_lines": float | None, "covered": float | None,
    "longest_id": str,
})
DESCRIBED_JUDGMENTS = Query("described_judgments", DescribedJudgmentsRow)
JudgedExampleRow = TypedDict("JudgedExampleRow", {"candidate_id": str, "writer": str, "example": str})
JUDGED_EXAMPLES = Query("judged_examples", JudgedExampleRow)
SynopsisRow = TypedDict("SynopsisRow", {"paper_id": str, "text": str})
SYNOPSES = Query("synopses", SynopsisRow)
AskedForRow = TypedDict("AskedForRow", {"candidate": str, "writer": str, "wrote": bool})
ASKED_FOR = Query("asked_for", AskedForRow)
UnwrittenRow = TypedDict("UnwrittenRow", {"item": str, "outcome": str, "detail": str, "final": bool})
UNWRITTEN = Query("unwritten", UnwrittenRow)
TextOutcomesRow = TypedDict("TextOutcomesRow", {
    "task": str, "writer": str, "outcome": str, "texts": int, "to_be_asked_again": int, "from_the_archive": int,
    "prompt_tokens": int | None, "reply_tokens": int | None,
})
TEXT_OUTCOMES = Query("text_outcomes", TextOutcomesRow)
OutcomesRow = TypedDict("OutcomesRow", {
    "candidate": str, "purpose": str | None, "model": str | None, "asked": int, "ok": int, "cut": int, "refused": int,
    "empty": int, "unparsable": int, "rate_limited": int, "failed": int, "not_asked": int | None,
})
OUTCOMES = Query("outcomes", OutcomesRow)

# score.sql
SCORE_COUNT = Query("score_count", TypedDict("ScoreCountRow", {"scores": int}))
AnySpanRow = TypedDict("AnySpanRow", {"known": int})
ANY_SPAN = Query("any_span", AnySpanRow)
SpanRow = TypedDict("SpanRow", {
    "prediction": str, "total": float, "ids": list[int], "logprobs": list[float], "escaped": int,
})
SPANS_OF = Query("spans_of", SpanRow)
MissingPairRow = TypedDict("MissingPairRow", {
    "signature_id": str, "paper_id": str, "candidate_id": str, "reference_id": str,
})
MISSING = Query("missing", MissingPairRow)
ProgressRow = TypedDict("ProgressRow", {
    "signature_id": str, "metric": str, "planned": int, "scored": int, "failed": int, "excluded": int, "missing": int,
})
PROGRESS = Query("progress", ProgressRow, {"candidates": None})
ReasonRow = TypedDict("ReasonRow", {
    "metric": str, "state": str, "reason": str | None, "broken": bool, "pairs": int, "example": str | None,
})
REASONS = Query("reasons", ReasonRow, {"candidates": None})
ScoredPairRow = TypedDict("ScoredPairRow", {"paper_id": str, "value": float})
SCORED_PAIRS = Query("scored_pairs", ScoredPairRow)
FinishedPairRow = TypedDict("FinishedPairRow", {
    "paper_id": str, "candidate_id": str, "reference_id": str, "value": float | None, "reason": str | None,
})
FINISHED_PAIRS = Query("finished_pairs", FinishedPairRow)
CandidatePairRow = TypedDict("CandidatePairRow", {
    "candidate_id": str, "paper_id": str, "reference_id": str, "state": str, "value": float | None,
    "reason": str | None,
})
CANDIDATE_PAIRS = Query("candidate_pairs", CandidatePairRow)
ChancePairRow = TypedDict("ChancePairRow", {
    "candidate_id": str, "paper_id": str, "unit": str, "value": float, "above": float,
})
CHANCE_PAIRS = Query("chance_pairs", ChancePairRow)
BoardPairRow = TypedDict("BoardPairRow", {"candidate_id": str, "paper_id": str, "reference_id": str, "value": float})
BOARD_PAIRS = Query("board_pairs", BoardPairRow)
PairLogprobsRow = TypedDict("PairLogprobsRow", {
    "paper_id": str, "candidate_id": str, "reference_id": str, "conditional": float, "marginal": float,
})
PAIR_LOGPROBS = Query("pair_logprobs", PairLogprobsRow)

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
RankedRow = TypedDict("RankedRow", {
    "signature_id": str, "board": str, "group_name": str | None, "candidate": str, "rank": int,
})
RANKED = Query("ranked", RankedRow)
BOARD_SETTINGS = Query("board_settings", SettingsRow)
BoardTextRow = TypedDict("BoardTextRow", {
    "candidate_id": str, "task": str, "writer": str, "asked": int, "unusable": int, "unstated": int,
    "prompt_tokens": int | None, "reply_tokens": int | None,
})
BOARD_TEXTS = Query("board_texts", BoardTextRow)
JudgedCandidateRow = TypedDict("JudgedCandidateRow", {
    "candidate_id": str, "judged": int, "unparsable": int, "lines": int, "strays": int, "median_lines": float | None,
    "covered": float | None,
})
BOARD_JUDGMENTS = Query("board_judgments", JudgedCandidateRow)
TextLengthRow = TypedDict("TextLengthRow", {"candidate_id": str, "paper_id": str, "words": int})
BOARD_LENGTHS = Query("board_lengths", TextLengthRow)
AnchoredRow = TypedDict("AnchoredRow", {
    "metric": str, "signature_id": str, "candidate": str, "kind": str, "papers": int, "difference": float,
    "low": float | None, "high": float | None, "se": float | None, "mean": float, "above_chance": float | None,
    "above_chance_high": float | None, "surely_above_chance": bool | None, "contamination": str, "unranked": str | None,
})
ANCHORED = Query("anchored", AnchoredRow)
StrataRow = TypedDict("StrataRow", {
    "signature_id": str, "stratum": str, "value": str, "candidate": str, "kind": str, "papers": int, "score": float,
    "low": float | None, "high": float | None, "vs_human": float | None, "vs_human_low": float | None,
    "vs_human_high": float | None,
})
STRATA = Query("strata", StrataRow)
SampledStrataRow = TypedDict("SampledStrataRow", {"stratum": str, "value": str, "papers": int})
SAMPLED_STRATA = Query("sampled_strata", SampledStrataRow)
CleanGapRow = TypedDict("CleanGapRow", {
    "metric": str, "signature_id": str, "gap": float, "low": float | None, "high": float | None, "papers": int,
})
CLEAN_GAP = Query("clean_gap", CleanGapRow)
HumanDifferenceRow = TypedDict("HumanDifferenceRow", {"candidate_id": str, "paper_id": str, "difference": float})
HUMAN_DIFFERENCES = Query("human_differences", HumanDifferenceRow)
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
AgreementRow = TypedDict("AgreementRow", {
    "metric": str, "signature_id": str, "kind": str, "value": float | None, "low": float | None, "high": float | None,
    "p": float | None, "flat_p": float | None, "within": float | None, "within_low": float | None,
    "within_high": float | None, "at_length": float | None, "at_length_low": float | None,
    "at_length_high": float | None, "over_length": float | None, "over_length_low": float | None,
    "over_length_high": float | None, "over_length_p": float | None, "reviews": int, "items": int, "graded": int,
    "problem": str | None, "run_id": str,
})
AGREEMENTS = Query("agreements", AgreementRow)
ValidationRow = TypedDict("ValidationRow", {
    "metric": str, "signature_id": str, "verdict": str, "edition": str, "detail": str, "validated_at": datetime,
})
VALIDATIONS = Query("validations", ValidationRow)

# why.sql
WhyPairRow = TypedDict("WhyPairRow", {
    "paper_id": str, "reference_id": str, "state": str, "value": float | None, "reason": str | None,
    "message": str | None, "predictions": list[str] | None, "run_id": str | None,
})
WHY_PAIRS = Query("why_pairs", WhyPairRow)
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
WhyRunRow = TypedDict("WhyRunRow", {
    "run_id": str, "command": str, "started_at": datetime, "settings": str, "code_version": str, "pairs": int,
})
WHY_RUN = Query("why_run", WhyRunRow)
MovedReviewRow = TypedDict("MovedReviewRow", {"paper_id": str, "review_id": str, "swap": str})
MOVED = Query("moved", MovedReviewRow)

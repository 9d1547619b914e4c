"""The interface of the steps of a run; `gre_bench.tasks.steps` implements the interface with and without Prefect.

A step takes and returns plain values, for a whole batch of items. No step opens the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gre_bench.core.settings import EmbedderSettings, EvaluationLMSettings
from gre_bench.writing.catalog import WriterContext

if TYPE_CHECKING:
    from gre_bench.changes.material import ChangeInput
    from gre_bench.core.asking import ChatOutcome
    from gre_bench.core.records import Chat, LMIdentity, Paper, Signature, SpanLogprob, Written
    from gre_bench.core.settings import ScoringSettings
    from gre_bench.examiners.examiner import Examiner, Item, ItemKind
    from gre_bench.examiners.grading import Grade
    from gre_bench.examiners.pairwise import Preference, TextPair
    from gre_bench.guidelines.ratings import Rating
    from gre_bench.guidelines.review_quality import FieldedReview
    from gre_bench.ingest.openreview.fetching import FetchOutcome, FetchRequest
    from gre_bench.metrics.scoring import MetricWork, Scored
    from gre_bench.prompts.conditions import Condition
    from gre_bench.tuning.cache_ngram import HeldOut
    from gre_bench.tuning.pairs import JudgedPaper
    from gre_bench.tuning.pairs import Metric as TunedMetric
    from gre_bench.tuning.settings import TuningSettings


@dataclass(frozen=True, slots=True)
class Backends:
    """The settings of everything that metrics compute with; each backend is opened when a step first needs it."""

    evaluation_lm: EvaluationLMSettings
    embedder: EmbedderSettings
    writer_context: WriterContext


class Steps(Protocol):
    """All steps that a run can take, in the order of the pipeline."""

    def fetch_notes(self, request: FetchRequest) -> FetchOutcome: ...

    def fetch_papers(self, request: FetchRequest) -> FetchOutcome: ...

    def seal_snapshot(self, request: FetchRequest) -> dict[str, Any]: ...

    def read_papers(self, snapshot: str, paper_ids: Sequence[str]) -> list[dict[str, Any]]: ...

    def writer_identity(self, name: str, task_name: str, writer_context: WriterContext) -> str: ...

    def reviewers_among(self, names: Sequence[str], writer_context: WriterContext) -> list[str]: ...

    def write_reviews(self, name: str, writer_context: WriterContext, papers: Sequence[Paper]) -> list[Written]: ...

    def change_identity(self, change: str, name: str, writer_context: WriterContext, like: ChangeInput) -> str: ...

    def write_changes(
        self, change: str, name: str, writer_context: WriterContext, materials: Sequence[ChangeInput]
    ) -> list[Written]: ...

    def write_judgments(
        self, name: str, writer_context: WriterContext, reviews: Sequence[tuple[str, str]]
    ) -> list[Written]: ...

    def write_assw(self, name: str, writer_context: WriterContext, papers: Sequence[Paper]) -> list[Written]: ...

    def rate_papers(
        self, name: str, writer_context: WriterContext, condition: Condition, papers: Sequence[tuple[str, str]]
    ) -> list[Rating]: ...

    def judge_reviews(
        self, name: str, writer_context: WriterContext, criterion: str, reviews: Sequence[FieldedReview]
    ) -> list[ChatOutcome[int]]: ...

    def generate_guideline(
        self, name: str, writer_context: WriterContext, reviews: Sequence[FieldedReview]
    ) -> ChatOutcome[str]: ...

    def grade_items(
        self, name: str | None, writer_context: WriterContext, examiner: Examiner, items: Sequence[Item],
        evaluation_lm: EvaluationLMSettings | None = None,
    ) -> list[Grade]: ...  # fmt: skip

    def prefer_pairs(
        self, name: str, writer_context: WriterContext, pairs: Sequence[TextPair], item: ItemKind
    ) -> list[Preference]: ...

    def write_instructions(self, name: str, writer_context: WriterContext, chat: Chat) -> ChatOutcome[str]: ...

    def sign_metrics(
        self, backends: Backends, scoring: ScoringSettings, writer: str, assw_writer: str | None = None
    ) -> tuple[LMIdentity, dict[str, Signature]]: ...

    def score_papers(
        self, name: str, backends: Backends, scoring: ScoringSettings, works: Sequence[MetricWork],
        known: Mapping[str, SpanLogprob],
    ) -> Scored: ...  # fmt: skip

    def show_leaderboard(self, edition: str, markdown: str) -> None: ...

    def show_history(self, venue: str, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def train_cache_ngram(
        self, papers: Sequence[Sequence[str]], kept: Sequence[Sequence[str]] | None, folder: Path,
        writers: tuple[Sequence[str], Sequence[str]],
    ) -> HeldOut: ...  # fmt: skip

    def fine_tune_lm(
        self, base: Path, papers: Sequence[JudgedPaper], kept: Sequence[JudgedPaper], metrics: Sequence[TunedMetric],
        settings: TuningSettings, folder: Path, data: Mapping[str, Any],
    ) -> dict[str, Any]: ...  # fmt: skip

"""The input of an examiner study: its settings (one TOML file), texts with human scores, and the examiners.

The texts come from a file or from an edition's graded reviews. The grid lists the examiners, and says which of them
fills each row of the published tables. Rows of different tables share an examiner if it would grade the same way for
both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError, model_validator

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError, SourceError
from gre_bench.core.pretrained import resolve_model_ref
from gre_bench.core.records import digest
from gre_bench.core.resources import find_settings_file
from gre_bench.core.settings import BudgetSettings, EmbedderSettings, EvaluationLMSettings
from gre_bench.examiners.examiner import (
    Examiner,
    GradingItem,
    ItemKind,
    Phrase,
    digest_prompts,
    format_validation_errors,
    parse_examiner,
)
from gre_bench.examiners.panel import Measure, Rule
from gre_bench.examiners.rater_results import find_table_layout
from gre_bench.ingest.datasets.rated import GradedSummary, read_graded_summaries
from gre_bench.pipeline.importing import file_sha256
from gre_bench.store import Store, missing_edition_error
from gre_bench.store.queries import REVIEWS
from gre_bench.studies.guidelines import read_whole_texts

Baseline = Literal["length", "rouge_l", "bertscore"]


class GeneratedSettings(BaseModel, frozen=True, extra="forbid"):
    """The settings of an examiner whose instructions an LM writes or improves (template ``generated``)."""

    model: str = Field(description="model of the models file that writes them")
    instructions: str | None = Field(default=None, min_length=1, description="what to improve; default: new ones")
    phrase: Phrase = Field(default="improve", description="wording of the request to improve them")


class PanelSettings(BaseModel, frozen=True, extra="forbid"):
    """The settings of a panel, which combines the grades of several examiners (`gre_bench.examiners.panel`)."""

    examiners: tuple[str, ...] | None = Field(default=None, description="examiners on the panel; default: all")
    human: tuple[float, float] = Field(description="lowest and highest possible human score")
    questions: int = Field(default=40, ge=2, description="items of the exam, in whole sources; others are decided on")
    measure: Measure = Field(default="squared_error", description="measure of agreement")
    threshold: float = Field(default=0.6, ge=0, le=1, description="lowest agreement that passes each part of the exam")
    second: dict[str, str] = Field(default={}, description="examiner → the one with a second prompt, for consistency")
    rules: tuple[Rule, ...] = Field(default=get_args(Rule), min_length=1, description="the chair's weights")
    alpha: float = Field(default=1.0, gt=0, description="parameter of the rules exp and poly")
    seed: int = Field(default=0, ge=0, description="seed of the sample of questions")

    @model_validator(mode="after")
    def _check_bounds_order(self) -> PanelSettings:
        if self.human[0] >= self.human[1]:
            raise ValueError("human: write the lowest score first, such as [1, 5]")
        return self


class PairwiseSettings(BaseModel, frozen=True, extra="forbid"):
    """The settings for asking LMs which of two texts about one source they prefer, with each pair in both orders."""

    games: int | None = Field(default=None, ge=1, description="number of pairs to sample; default: all of a source")
    orders: int = Field(default=1000, ge=2, le=100_000, description="shuffled orders of the games for Elo's spread")
    seed: int = Field(default=0, ge=0, description="seed of the sample of pairs")


class StudySettings(BaseModel, frozen=True, extra="forbid"):
    """All settings of an examiner study: LMs, examiners, and the other raters that the examiners are compared with."""

    item: ItemKind | None = Field(default=None, description="summary or review; default: the kind of the items")
    models: tuple[str, ...] = Field(default=(), description="LMs of the models file; every examiner asks each of them")
    models_file: Path | None = Field(default=None, description="models file; default: data/models.toml")
    layouts: tuple[str, ...] = Field(default=(), description="published tables, such as 001_table1, to fill")
    examiners: dict[str, dict[str, Any]] = Field(default={}, description="further examiners by name")
    generated: dict[str, GeneratedSettings] = Field(default={}, description="examiners whose prompt an LM writes")
    baselines: tuple[Baseline, ...] = Field(default=get_args(Baseline), description="metrics without an LM")
    probabilities: Literal["endpoint", "evaluation_lm"] = Field(default="endpoint", description="where logprob reads")
    evaluation_lm: EvaluationLMSettings | None = Field(default=None, description="if it states the probabilities")
    embedder: EmbedderSettings = EmbedderSettings()
    panel: PanelSettings | None = Field(default=None, description="peer review by the examiners")
    pairwise: PairwiseSettings | None = Field(default=None, description="preferences by the models")
    budget: BudgetSettings = Field(default=BudgetSettings(), description="limits over all runs of the study together")
    resamples: int = Field(default=10_000, ge=200, le=1_000_000, description="resamples of whole sources")
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of the bootstrap and of the rationales' sample")
    rationales: int = Field(default=36, ge=1, description="those sampled for each error sheet, as for Kim's Table 9")

    @model_validator(mode="after")
    def _check_examiner_sources(self) -> StudySettings:
        if twice := set(self.examiners) & set(self.generated):
            raise ValueError(f"examiner {min(twice)} stands under examiners and under generated")
        if (self.probabilities == "evaluation_lm") != (self.evaluation_lm is not None):
            raise ValueError('probabilities = "evaluation_lm" and the table [evaluation_lm] belong together')
        return self


def load_study(path: Path) -> StudySettings:
    """Returns the settings in the TOML file *path*, or in the shipped file with that name.

    Paths in the file are relative to the file's folder; a model's folder may be a pretrained model's name. Raises
    `SettingsError`.
    """
    path = find_settings_file(path)
    try:
        tree = strict.read_toml_with_title(path, "settings file")
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}; give a path, or examiners for the example") from None
    beside = path.resolve().parent
    if isinstance(tree.get("models_file"), str):
        tree["models_file"] = str((beside / tree["models_file"]).resolve())
    for group in (tree.get("embedder"), tree.get("evaluation_lm")):
        if isinstance(group, dict) and isinstance(group.get("folder"), str):
            group["folder"] = str(resolve_model_ref(group["folder"], beside))
    return parse_study(tree, str(path))


def parse_study(tree: dict[str, Any], origin: str = "study settings") -> StudySettings:
    """Returns the settings in *tree*; raises `SettingsError` with their *origin*, the faulty key and the fault.

    *origin*: where the settings come from, such as a file.
    """
    try:
        return StudySettings.model_validate(tree)
    except ValidationError as error:
        raise SettingsError(f"{origin}: {format_validation_errors(error)}") from None


@dataclass(frozen=True, slots=True)
class HumanScoredTexts:
    """Texts of one *kind* with their human scores.

    *source*: what identifies the texts, such as ``items`` → digest of the file. *lacks*: text id → why the text cannot
    be graded.
    """

    kind: ItemKind
    texts: Sequence[GradedSummary]
    source: Mapping[str, str]
    lacks: Mapping[str, str]

    @property
    def items(self) -> list[GradingItem]:
        """The texts that can be graded, in order."""
        return [
            GradingItem(text.item_id, text.source, text.text) for text in self.texts if text.item_id not in self.lacks
        ]


def load_scored_texts_from_file(path: Path, limit: int | None = None) -> HumanScoredTexts:
    """Returns the first *limit* texts of the file *path* (`gre_bench.ingest.datasets.rated`)."""
    texts = read_graded_summaries(path)[:limit]
    return HumanScoredTexts(
        "summary", texts, {"items": file_sha256(path), "limit": str(limit)}, _find_ungradable_texts(texts)
    )


def load_graded_reviews_from_edition(state: Path, edition: str, limit: int | None = None) -> HumanScoredTexts:
    """Returns the first *limit* reviews of the edition's graded papers, each with the text of its paper.

    Raises `SettingsError` for a missing edition, `SourceError` for an edition without graded reviews.
    """
    store = Store(state, edition)
    if not store.exists:
        raise missing_edition_error(state, edition)
    sources = read_whole_texts(store)
    reviews = store.read(REVIEWS)
    graded = {row["paper_id"] for row in reviews if row["grade"] is not None}
    texts = [
        GradedSummary(row["review_id"], row["paper_id"], "", sources.get(row["paper_id"], ""), row["text"] or "",
                   row["grade"])
        for row in reviews
        if row["paper_id"] in graded
    ]  # fmt: skip
    if not texts:
        raise SourceError(f"edition {store.key} has no graded reviews; import some: gre-bench import graded --help")
    texts = texts[:limit]
    return HumanScoredTexts("review", texts, {"edition": store.key, "limit": str(limit)}, _find_ungradable_texts(texts))


def _find_ungradable_texts(texts: Sequence[GradedSummary]) -> dict[str, str]:
    """Returns id of a text that cannot be graded → code of what it lacks."""
    reasons = {}
    for text in texts:
        if text.human is None:
            reasons[text.item_id] = "no_human_score"
        elif not text.source.strip():
            reasons[text.item_id] = "no_source"
        elif not text.text.strip():
            reasons[text.item_id] = "empty_text"
    return reasons


@dataclass(frozen=True, slots=True)
class ExaminerGrid:
    """The *examiners* of a study by name; *rows*: published table → row → name of the examiner that fills the row."""

    examiners: Mapping[str, Examiner]
    rows: Mapping[str, Mapping[str, str]]


def build_examiner_grid(settings: StudySettings, item: ItemKind, generated: Mapping[str, str]) -> ExaminerGrid:
    """Returns the examiners that *settings* name and that the chosen published tables need, for items of kind *item*.

    *generated*: examiner → instructions written for it.

    Raises `SettingsError` if an examiner has faulty options or is for another kind of items.
    """
    examiners: dict[str, Examiner] = {}
    for name, tree in settings.examiners.items():
        own = parse_examiner({"item": item} | tree, f"examiners.{name}")
        if own.item != item:
            raise SettingsError(f"examiners.{name}: item = {own.item}, and the items are of kind {item}")
        examiners[name] = own
    for name, instructions in generated.items():
        tree = {"template": "generated", "item": item, "instructions": instructions}
        examiners[name] = parse_examiner(tree, f"generated.{name}")
    known = {_digest_grading_settings(examiner): name for name, examiner in examiners.items()}
    rows: dict[str, dict[str, str]] = {}
    for table in dict.fromkeys(settings.layouts):
        rows[table] = {}
        for row, examiner in find_table_layout(table).examiners(item).items():
            if (key := _digest_grading_settings(examiner)) not in known:
                # A user's examiner may have the same name as a different examiner of the tables; both are kept.
                known[key] = examiner.identity if examiner.name in examiners else examiner.name
                examiners[known[key]] = examiner
            rows[table][row] = known[key]
    return ExaminerGrid(examiners, rows)


def _digest_grading_settings(examiner: Examiner) -> str:
    """Returns a digest of everything that determines an examiner's grades; an unset option counts as its default."""
    mass = (examiner.mass or "normalised") if examiner.aggregation == "logprob" else None
    scale = examiner.form.scale
    binning = examiner.binning.model_dump() if examiner.binning else None
    # The random baseline sends nothing; only its template identifies it.
    template = examiner.template if examiner.form.answer == "nothing" else examiner.form.answer
    return digest(
        [digest_prompts(examiner), template, list(examiner.aspects), examiner.aggregation, mass, examiner.times,
         examiner.filtering, binning, [scale.low, scale.high, list(scale.spellings), scale.only_declared],
         examiner.form.bare, examiner.form.rationale]
    )  # fmt: skip

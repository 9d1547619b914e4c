"""The settings of an examiner study, one TOML file: LMs, grid of examiners, panel and pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.pretrained import placed
from gre_bench.core.resources import EXPERIMENT, settings_file
from gre_bench.core.settings import BudgetSettings, EmbedderSettings, EvaluationLMSettings
from gre_bench.examiners.examiner import ItemKind, Phrase, problems_of

Rule = Literal["uniform", "log", "exp", "poly"]
Baseline = Literal["length", "rouge_l", "bertscore"]


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GeneratedSettings(_Group):
    """An examiner with the template ``generated``, whose instructions an LM writes or improves."""

    model: str = Field(description="model of the models file that writes them")
    instructions: str | None = Field(
        default=None, min_length=1, description="instructions to improve; without them, new ones are written"
    )
    phrase: Phrase = Field(default="improve", description="wording of the request to improve them")


class PanelSettings(_Group):
    """Settings of a panel of examiners, after PRE (peer review in evaluation).

    The examiners take an exam, which compares their scores with human scores and with their scores under a second
    prompt. A chair then combines the scores of the examiners that pass, with weights.
    """

    examiners: tuple[str, ...] | None = Field(default=None, description="examiners on the panel; default: all")
    human: tuple[float, float] = Field(description="lowest and highest possible human score")
    questions: int = Field(
        default=40, ge=2, description="items of the exam, in whole sources; the panel decides on the others"
    )
    measure: Literal["exact", "squared_error"] = Field(default="squared_error", description="measure of agreement")
    threshold: float = Field(default=0.6, ge=0, le=1, description="lowest agreement that passes each part of the exam")
    second: dict[str, str] = Field(
        default={}, description="examiner → examiner with a second prompt, to measure inner consistency"
    )
    rules: tuple[Rule, ...] = Field(
        default=("uniform", "log", "exp", "poly"), min_length=1, description="the chair's weights"
    )
    alpha: float = Field(default=1.0, gt=0, description="parameter of the rules exp and poly")
    seed: int = Field(default=0, ge=0, description="seed of the sample of questions")

    @model_validator(mode="after")
    def _ordered(self) -> PanelSettings:
        if self.human[0] >= self.human[1]:
            raise ValueError("human: write the lowest score first, such as [1, 5]")
        return self


class PairwiseSettings(_Group):
    """Settings of the preferences between two texts about one source; the LMs see each pair in both orders."""

    games: int | None = Field(
        default=None, ge=1, description="number of pairs to sample; default: every pair of a source (full round)"
    )
    orders: int = Field(default=1000, ge=2, le=100_000, description="shuffled orders of the games for Elo's spread")
    seed: int = Field(default=0, ge=0, description="seed of the sample of pairs")


class StudySettings(_Group):
    """All settings of a study: the LMs, the examiners, and what is compared with them."""

    item: ItemKind | None = Field(default=None, description="summary or review; default: the kind of the items")
    models: tuple[str, ...] = Field(default=(), description="LMs of the models file; every examiner asks each of them")
    models_file: Path | None = Field(default=None, description="models file; default: data/models.toml")
    layouts: tuple[str, ...] = Field(
        default=(), description="published tables whose rows are examiners, such as 001_table1"
    )
    examiners: dict[str, dict[str, Any]] = Field(default={}, description="further examiners by name")
    generated: dict[str, GeneratedSettings] = Field(
        default={}, description="examiners whose prompt an LM writes, by name"
    )
    baselines: tuple[Baseline, ...] = Field(
        default=("length", "rouge_l", "bertscore"), description="metrics without an LM"
    )
    probabilities: Literal["endpoint", "evaluation_lm"] = Field(
        default="endpoint",
        description="source of probabilities for logprob: an endpoint's likeliest tokens, or the evaluation LM",
    )
    evaluation_lm: EvaluationLMSettings | None = Field(
        default=None, description="the evaluation LM, if it is the source of probabilities"
    )
    embedder: EmbedderSettings = EmbedderSettings()
    panel: PanelSettings | None = Field(default=None, description="peer review by the examiners")
    pairwise: PairwiseSettings | None = Field(default=None, description="preferences by the models")
    budget: BudgetSettings = Field(default=BudgetSettings(), description="limits over all runs of the study together")
    resamples: int = Field(
        default=10_000,
        ge=200,
        le=1_000_000,
        description="resamples of the bootstrap, which draws whole sources with all their texts",
    )
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="seed of the bootstrap and of the rationales' sample")
    rationales: int = Field(
        default=36, ge=1, description="rationales sampled for each error sheet (Kim et al. 2023, Table 9)"
    )

    @model_validator(mode="after")
    def _sound(self) -> StudySettings:
        if twice := set(self.examiners) & set(self.generated):
            raise ValueError(f"examiner {min(twice)} stands under examiners and under generated")
        if (self.probabilities == "evaluation_lm") != (self.evaluation_lm is not None):
            raise ValueError('probabilities = "evaluation_lm" and the table [evaluation_lm] belong together')
        return self


def load_study(path: Path) -> StudySettings:
    """Returns the settings in the TOML file *path*, or in the shipped file of that name.

    Relative paths in the file start from its folder. A model's folder may be the name of a pretrained model. Raises
    `SettingsError` for a missing or faulty file.
    """
    path = settings_file(path)
    try:
        tree = strict.read_toml(path)
    except FileNotFoundError:
        raise SettingsError(f"no settings file {path}; give a path, or examiners for the example") from None
    except (OSError, UnicodeDecodeError, strict.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {path} cannot be read: {error}") from None
    tree.pop(EXPERIMENT, None)
    beside = path.resolve().parent
    if isinstance(tree.get("models_file"), str):
        tree["models_file"] = str((beside / tree["models_file"]).resolve())
    for group in (tree.get("embedder"), tree.get("evaluation_lm")):
        if isinstance(group, dict) and isinstance(group.get("folder"), str):
            group["folder"] = str(placed(group["folder"], beside))
    return parse_study(tree, str(path))


def parse_study(tree: dict[str, Any], origin: str = "study settings") -> StudySettings:
    """Returns the settings in *tree*, the nested mapping of a parsed TOML file.

    *origin*: a few words on where the settings come from, for messages. Raises `SettingsError` with *origin*, the
    faulty key, and what is wrong with the key.
    """
    try:
        return StudySettings.model_validate(tree)
    except ValidationError as error:
        raise SettingsError(f"{origin}: {problems_of(error)}") from None

"""The settings of fine-tuning, read from one flat TOML file and from ``--set key=value``.

The defaults are those of Xu et al. 2025, E.1.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gre_bench.core import strict
from gre_bench.core.errors import SettingsError
from gre_bench.core.judgments import Form
from gre_bench.tuning.pairs import Metric, TrainedTokens


class TuningSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    method: Literal["lora", "full"] = Field(default="lora", description="train an adapter, or all weights of the base")
    learnt: TrainedTokens = Field(
        default="reply", description="tokens with a loss: the scored tokens, or all (as the authors do)"
    )
    metrics: tuple[Metric, ...] | None = Field(
        default=None,
        min_length=1,
        description="metrics to train for; default: gem, and gem_s_abstract if there are abstracts",
    )
    form: Form = Field(default="as_written", description="judgments unchanged, or stray lines dropped")
    ascii_fold: bool = Field(default=False, description="fold all texts to ASCII, as the authors do")
    assw: str = Field(default="rule", description="writer of the author-stated strengths and weaknesses (gem_s_assw)")

    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="device of the training")
    dtype: Literal["float32", "bfloat16"] = Field(
        default="bfloat16", description="dtype of the arithmetic and of a LoRA base"
    )
    attention: Literal["sdpa", "eager"] = Field(default="sdpa", description="attention")
    quantisation: Literal["auto", "none", "nf4"] = Field(
        default="auto", description="quantisation of a LoRA base; auto: nf4 if possible"
    )

    lora_r: int = Field(default=16, ge=1, le=4096, description="rank of the adapter")
    lora_alpha: float = Field(default=16, gt=0, description="scale of the adapter, over its rank")
    lora_dropout: float = Field(default=0.0, ge=0, lt=1, description="dropout rate of the adapter's inputs")
    lora_targets: tuple[str, ...] = Field(
        default=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        min_length=1,
        description="names of the matrices that are adapted",
    )

    epochs: int = Field(default=3, ge=1, description="passes over the conversations")
    max_steps: int = Field(default=0, ge=0, description="number of steps; 0: until all epochs are done")
    batch: int = Field(default=2, ge=1, description="conversations per batch")
    accumulation: int = Field(default=4, ge=1, description="batches per step")
    learning_rate: float = Field(default=2e-4, gt=0, le=1, description="highest learning rate")
    warmup_steps: int = Field(default=5, ge=0, description="steps of warm-up, in which the learning rate rises")
    schedule: Literal["linear", "cosine", "constant"] = Field(
        default="linear", description="how the learning rate falls"
    )
    weight_decay: float = Field(default=0.01, ge=0, description="weight decay of matrices")
    optimiser: Literal["adamw", "adamw_8bit"] = Field(
        default="adamw_8bit", description="adamw_8bit falls back to adamw if 8 bits are unavailable"
    )
    clip: float = Field(default=1.0, ge=0, description="largest norm of the gradient; 0: no limit")
    seed: int = Field(default=42, ge=0, le=2**31 - 1, description="seed of every random choice")
    save_every: int = Field(default=50, ge=0, description="steps between checkpoints; 0: none but the last")
    evaluate_every: int = Field(
        default=100, ge=0, description="steps between held-out losses; 0: before and after only"
    )
    max_tokens: int = Field(default=4096, ge=8, description="most tokens of a conversation; longer ones are left out")
    recompute: bool = Field(
        default=False, description="drop activations between the layers and compute them again: slower, less memory"
    )
    share_prefixes: bool = Field(
        default=False, description="read the common beginning of a batch once; a batch of 9 is one paper"
    )

    contrast: float = Field(
        default=0.0,
        ge=0,
        description="weight of distinguishing a review of the paper from reviews of similar papers; "
        "a batch is one paper then",
    )
    contrast_others: int = Field(
        default=2, ge=1, description="reviews of other papers, or a passage, from which each reply is predicted too"
    )
    contrast_temperature: float = Field(
        default=5.0, gt=0, description="nats that turn even odds between two reviews into 1 to 2.7"
    )

    @field_validator("metrics")
    @classmethod
    def _check_no_metric_twice(cls, metrics: tuple[Metric, ...] | None) -> tuple[Metric, ...] | None:
        if metrics and (twice := [metric for index, metric in enumerate(metrics) if metric in metrics[:index]]):
            raise PydanticCustomError("twice", "{metric} is named twice; name it once", {"metric": twice[0]})
        return metrics

    @model_validator(mode="after")
    def _check_contrastive_training_settings(self) -> Self:
        if self.contrast and not (self.share_prefixes and self.learnt == "reply"):
            raise PydanticCustomError("contrast", "contrast needs share_prefixes=true and learnt=reply; set both")
        return self

    @property
    def stated(self) -> dict[str, Any]:
        """The settings by name, as a training record states them; those of contrastive training only if it is used."""
        values = self.model_dump(mode="json")
        return {name: values[name] for name in values if self.contrast or not name.startswith("contrast")}

    @property
    def training_loop_settings(self) -> dict[str, Any]:
        """The settings of the training loop by name: ``dtype``, ``epochs`` and all fields after it."""
        names = list(type(self).model_fields)
        loop = {"dtype", *names[names.index("epochs") :]}
        return {name: value for name, value in self.stated.items() if name in loop}


def load(path: Path | None, overrides: tuple[str, ...] = ()) -> TuningSettings:
    """Returns the settings of the TOML file *path* (defaults if None), changed by *overrides* such as ``epochs=1``.

    Raises `SettingsError` if the file cannot be read or a setting is unknown or out of range.
    """
    tree: dict[str, Any] = {}
    if path is not None:
        try:
            tree = strict.read_toml_with_title(path, "settings file")
        except FileNotFoundError:
            raise SettingsError(f"no settings file {path}; write one, or leave it out for the defaults") from None
    for override in overrides:
        key, sign, value = override.partition("=")
        if not sign:
            raise SettingsError(f"--set {override}: write it as key=value, such as epochs=1")
        try:
            tree[key.strip()] = strict.load_toml(f"value = {value}")["value"]
        except strict.TOMLDecodeError:
            tree[key.strip()] = value
    try:
        return TuningSettings.model_validate(tree)
    except ValidationError as error:
        raise SettingsError(
            f"{path or 'settings'}: " + "; ".join(_format_setting_error(item) for item in error.errors())
        ) from None


def _format_setting_error(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] != "extra_forbidden":
        return f"setting {name}: {error['msg']}" if name else error["msg"]
    near = difflib.get_close_matches(name, TuningSettings.model_fields, n=1)
    known = ", ".join(TuningSettings.model_fields)
    return f"unknown setting {name}; " + (f"did you mean {near[0]}?" if near else f"known here: {known}")

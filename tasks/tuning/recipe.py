"""The recipe of `tiny-llama`: shape of the model, variation of its data, training; and changes to it by name."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from tasks.errors import SettingsError
from tasks.tuning.augmentation import Variation
from tasks.tuning.optimisation import Positive, Training

PARTS = ("shape", "variation", "training")


@dataclass(frozen=True, slots=True)
class Shape:
    """The model: sizes of vocabulary (at most), hidden state, feed-forward, and the longest conversation, in tokens."""

    vocabulary: Positive = 4096
    width: Positive = 256
    layers: Positive = 3
    heads: Positive = 4
    feed_forward: Positive = 672
    context: Positive = 8192


@dataclass(frozen=True, slots=True)
class Recipe:
    """How `tiny-llama` is trained; *dropout* is of channels, *measured* the number of pairs the held-out loss is of."""

    shape: Shape = field(default_factory=Shape)
    variation: Variation = field(default_factory=Variation)
    training: Training = field(
        default_factory=lambda: Training(
            epochs=3, batch=8, accumulation=1, learning_rate=3e-3, warmup_steps=100, schedule="cosine",
            weight_decay=0.3, optimiser="adamw", seed=0, save_every=100, evaluate_every=200, max_tokens=1536,
            dtype="bfloat16",
        )
    )
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    measured: Positive = 150

    def describe(self) -> dict[str, Any]:
        """All of it that the outcome rests on, by name; plain values."""
        groups = (self.shape, self.variation, self.training)
        named = {name: value for group in groups for name, value in asdict(group).items()}
        del named["save_every"]
        lists = {name: list(value) for name, value in named.items() if isinstance(value, tuple)}
        return {**named, **lists, "dropout": self.dropout, "measured": self.measured}


def altered(recipe: Recipe, overrides: Sequence[str]) -> Recipe:
    """*recipe* with *overrides*, each ``name=value`` of one of its parts; `SettingsError` naming one that cannot be.

    Whatever the order of the overrides; values that do not go together are refused as well.
    """
    for override in overrides:
        name, found, text = (part.strip() for part in override.partition("="))
        part = next((part for part in PARTS if name in _names(getattr(recipe, part))), None)
        if not found or (part is None and name not in ("dropout", "measured")):
            known = [*(name for part in PARTS for name in _names(getattr(recipe, part))), "dropout", "measured"]
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise SettingsError(f"--set {override}: no such part of the recipe, written name=value; {hint}")
        whole = getattr(recipe, part) if part else recipe
        try:
            changed = TypeAdapter(type(whole)).validate_python({**_plain(whole), name: _value(text)})
        except ValidationError as error:
            raise SettingsError(f"--set {override}: {error.errors()[0]['msg']}") from None
        recipe = replace(recipe, **{part: changed}) if part else changed
    shape, longest = recipe.shape, recipe.training.max_tokens
    if shape.width % (even := 2 * shape.heads):
        raise SettingsError(f"width {shape.width} cannot be shared by {shape.heads} heads: take a multiple of {even}")
    if shape.context < longest:
        raise SettingsError(f"context {shape.context} is shorter than max_tokens {longest}: raise it, or lower that")
    return recipe


def _names(part: Any) -> list[str]:
    return [field.name for field in fields(part)]


def _plain(part: Any) -> dict[str, Any]:
    return {name: getattr(part, name) for name in _names(part)}


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text

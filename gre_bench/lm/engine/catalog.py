"""Chooses the engine that runs a model: the requested one, or the next slower one that gives the right numbers."""

from __future__ import annotations

import math
from typing import Literal, get_args

from gre_bench.core.errors import LMError, SpanError
from gre_bench.core.records import Prediction
from gre_bench.lm.engine.batches import Batches
from gre_bench.lm.engine.one_by_one import OneByOne
from gre_bench.lm.engine.protocol import Engine
from gre_bench.lm.engine.trie import Trie, refusal
from gre_bench.lm.span import ChatTemplate
from gre_bench.lm.weights import Weights
from gre_bench.prompts.library import render

EngineName = Literal["trie", "batches", "one-by-one"]

ALLOWED = {"float32": 1e-3, "bfloat16": 0.5, "float16": 0.1}
"""Dtype → largest accepted difference in the self-check, in nats.

The log-probabilities of an engine are compared with those of one conversation at a time.
"""

STATIC = frozenset({"default", "linear", "llama3", "yarn", "proportional"})
"""Kinds of rotary positions that do not depend on the length of a sequence."""

_CHECKED = ("The reviewer appreciates the clear writing.", "The reviewer questions the choice of baselines. " * 3)


def engine_for(
    weights: Weights, template: ChatTemplate, name: EngineName, budget: int | None
) -> tuple[Engine, str | None]:
    """Returns the engine called *name*, or a slower engine if that engine cannot run the model correctly.

    The second value is a remark that says why a slower engine was chosen; None for the requested engine. *budget* is
    the most tokens in one forward pass; None means the engine's default. An engine that computes several conversations
    at once is first checked on four small conversations. Raises `LMError` for an unknown name.
    """
    if name not in get_args(EngineName):
        raise LMError(f"no engine {name!r}; known: {', '.join(get_args(EngineName))}")
    one_by_one = OneByOne(weights)
    if name == "one-by-one":
        return one_by_one, None
    if changing := _rotary_kinds(getattr(weights.model.config, "rope_parameters", None)) - STATIC:
        kinds = ", ".join(sorted(changing))
        why = f"its positions ({kinds}) depend on the longest text in a forward"
        return one_by_one, f"evaluation LM {weights.folder.name} is run one text at a time: {why}"
    why = None
    if name == "trie":
        why = refusal(weights) or _disagreement(weights, template, Trie(weights, budget=64))
        if why is None:
            return Trie(weights, budget), None
        why = f"evaluation LM {weights.folder.name} is run in plain batches: {why}"
    worse = _disagreement(weights, template, Batches(weights))
    if worse is None:
        return Batches(weights, budget), why
    return one_by_one, f"evaluation LM {weights.folder.name} is run one text at a time: in a batch {worse}"


def _disagreement(weights: Weights, template: ChatTemplate, engine: Engine) -> str | None:
    """Checks whether *engine* returns the same log-probabilities as `OneByOne`, which runs one conversation at a time.

    Both engines score four conversations. Returns None if no log-probability differs by more than `ALLOWED`, and
    otherwise a phrase that states the largest difference. Returns None too if the model's own numbers are not finite.
    Raises `SpanError` if a conversation cannot be scored at all.
    """
    predictions = [Prediction(x, None, y) for x in (_CHECKED[0], None) for y in _CHECKED]
    conversations = [template.encode(render(prediction)) for prediction in predictions]
    expected, computed = OneByOne(weights).logprobs(conversations), engine.logprobs(conversations)
    worst = 0.0
    for wanted, actual in zip(expected, computed, strict=True):
        if isinstance(wanted, SpanError):
            raise wanted
        if isinstance(actual, SpanError):
            raise actual
        if not all(map(math.isfinite, wanted)):
            # The model itself is broken; its numbers are refused when predictions are scored.
            return None
        gaps = [abs(a - b) for a, b in zip(wanted, actual, strict=True)]
        worst = max(worst, *(gap if math.isfinite(gap) else math.inf for gap in gaps))
    if worst <= ALLOWED[weights.dtype]:
        return None
    return f"computing texts together changed a log-probability by {worst:.2g} nats in a check"


def _rotary_kinds(parameters: object) -> set[str]:
    """Returns the kinds of rotary positions in *parameters*, the ``rope_parameters`` of a transformers config.

    *parameters* is one table with the key ``rope_type``, or a dict of such tables, one for each kind of layer.
    """
    if not isinstance(parameters, dict):
        return set()
    if "rope_type" in parameters:
        return {parameters["rope_type"]}
    return set().union(*(_rotary_kinds(each) for each in parameters.values()))

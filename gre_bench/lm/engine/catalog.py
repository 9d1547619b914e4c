"""Which engine runs a model: the one asked for, or the fastest of the others that gives its numbers."""

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
"""How far a log-probability of the self-check may lie from that of one conversation at a time, in nats."""

STATIC = frozenset({"default", "linear", "llama3", "yarn", "proportional"})
"""Kinds of rotary positions that do not depend on how long a sequence is."""

_CHECKED = ("The reviewer appreciates the clear writing.", "The reviewer questions the choice of baselines. " * 3)


def engine_for(
    weights: Weights, template: ChatTemplate, name: EngineName, budget: int | None
) -> tuple[Engine, str | None]:
    """The engine, and what is to be said if it is not the one asked for.

    An engine that computes several conversations at once is checked on four small ones before it is trusted.
    """
    if name not in get_args(EngineName):
        raise LMError(f"no engine {name!r}; known: {', '.join(get_args(EngineName))}")
    one_by_one = OneByOne(weights)
    if name == "one-by-one":
        return one_by_one, None
    if changing := _rotary_kinds(getattr(weights.model.config, "rope_parameters", None)) - STATIC:
        kinds = ", ".join(sorted(changing))
        why = f"its positions ({kinds}) depend on the longest text of a forward"
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
    """What is wrong with the answers of *engine* to a few conversations of several lengths; None if nothing."""
    asked = [Prediction(x, None, y) for x in (_CHECKED[0], None) for y in _CHECKED]
    conversations = [template.encode(render(prediction)) for prediction in asked]
    right, found = OneByOne(weights).logprobs(conversations), engine.logprobs(conversations)
    worst = 0.0
    for one, other in zip(right, found, strict=True):
        if isinstance(one, SpanError):
            raise one
        if isinstance(other, SpanError):
            raise other
        if not all(map(math.isfinite, one)):
            # The model itself is broken: its numbers are refused where they are asked for.
            return None
        gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
        worst = max(worst, *(gap if math.isfinite(gap) else math.inf for gap in gaps))
    if worst <= ALLOWED[weights.dtype]:
        return None
    return f"what is computed together changed a log-probability by {worst:.2g} nats in a check"


def _rotary_kinds(parameters: object) -> set[str]:
    """The kinds of rotary positions in a config, which has one table or one for each kind of layer."""
    if not isinstance(parameters, dict):
        return set()
    if "rope_type" in parameters:
        return {parameters["rope_type"]}
    return set().union(*(_rotary_kinds(each) for each in parameters.values()))

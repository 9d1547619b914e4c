"""Which engine runs a model: the one asked for, or plain batches where the trie cannot."""

from __future__ import annotations

from typing import Literal, get_args

from tasks.errors import LMError, SpanError
from tasks.lm.batches import Batches
from tasks.lm.engine import Engine
from tasks.lm.one_by_one import OneByOne
from tasks.lm.span import ChatTemplate
from tasks.lm.trie import Trie, refusal
from tasks.lm.weights import Weights
from tasks.prompts.library import render
from tasks.records import Prediction

EngineName = Literal["trie", "batches", "one-by-one"]

ALLOWED = {"float32": 1e-3, "bfloat16": 0.5, "float16": 0.1}
"""How far a log-probability of the self-check may lie from that of one conversation at a time, in nats."""
_CHECKED = ("The reviewer appreciates the clear writing.", "The reviewer questions the choice of baselines.")


def engine_for(
    weights: Weights, template: ChatTemplate, name: EngineName, budget: int | None
) -> tuple[Engine, str | None]:
    """The engine, and what is to be said if it is not the one asked for.

    The trie is checked on four small conversations of the model's own before it is trusted with any.
    """
    if name not in get_args(EngineName):
        raise LMError(f"no engine {name!r}; known: {', '.join(get_args(EngineName))}")
    if name == "one-by-one":
        return OneByOne(weights), None
    if name == "batches":
        return Batches(weights, budget), None
    why = refusal(weights) or _disagreement(weights, template, Trie(weights, budget=64))
    if why is None:
        return Trie(weights, budget), None
    return Batches(weights, budget), f"evaluation LM {weights.folder.name} is run in plain batches: {why}"


def _disagreement(weights: Weights, template: ChatTemplate, trie: Trie) -> str | None:
    """What is wrong with the answers of *trie*, in packs so small that they share and keep tokens; None if nothing."""
    asked = [Prediction(x, None, y) for x in (_CHECKED[0], None) for y in _CHECKED]
    conversations = [template.encode(render(prediction)) for prediction in asked]
    right, found = OneByOne(weights).logprobs(conversations), trie.logprobs(conversations)
    worst = 0.0
    for one, other in zip(right, found, strict=True):
        if isinstance(one, SpanError) or isinstance(other, SpanError):
            raise one if isinstance(one, SpanError) else other
        worst = max(worst, *(abs(a - b) for a, b in zip(one, other, strict=True)))
    if worst <= ALLOWED[weights.dtype]:
        return None
    return f"shared tokens changed a log-probability by {worst:.2g} nats in a check"

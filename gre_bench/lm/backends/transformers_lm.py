"""An evaluation LM from a folder of weights that transformers can load.

log P(reply | prompt) in nats is the sum of the log-softmax of the logits over the span (`gre_bench.lm.span`). The
softmax is computed in float32 whatever the weights' dtype, and the sum in float64 (Xu et al. 2025, §3.2). An engine
runs the model (`gre_bench.lm.engine.protocol`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from gre_bench.core.errors import SpanError
from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.engine.catalog import EngineName, engine_for
from gre_bench.lm.engine.protocol import Engine
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.lm.weights import Attention, Device, DType, Quantisation, Weights, blamed, open_weights
from gre_bench.prompts.library import render


class TransformersLM:
    """An evaluation LM that runs on this machine; open one with `open`."""

    reads_chats = True

    def __init__(self, weights: Weights, template: ChatTemplate, engine: Engine, max_tokens: int | None = None):
        self.weights = weights
        self.template = template
        self.engine = engine
        self.remarks: list[str] = getattr(engine, "remarks", [])
        self._limit = min((size for size in (weights.context, max_tokens) if size is not None), default=None)
        self._rows = weights.model.get_input_embeddings().num_embeddings
        self._identity = LMIdentity(
            name=weights.folder.resolve().name,
            digest=weights.digest,
            # In half precision the shape of a forward pass changes the numbers, so the plan goes into the signature.
            engine_version=engine.version if weights.dtype == "float32" else f"{engine.version}, {engine.plan}",
            dtype=weights.dtype,
            quantisation=weights.quantisation,
            attention=weights.attention,
            template_digest=template.digest,
        )

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        device: Device = "auto",
        dtype: DType = "float32",
        attention: Attention = "sdpa",
        quantisation: Quantisation = "none",
        engine: EngineName = "trie",
        token_budget: int | None = None,
        max_tokens: int | None = None,
    ) -> TransformersLM:
        """Opens the evaluation LM in *folder*.

        - *engine*: the name of the engine. If that engine cannot run the model, a slower engine does, and `remarks`
          says so.
        - *token_budget*: the most tokens in one forward pass; None means the engine's default.
        - *max_tokens*: the most tokens in a conversation, if fewer than the model's context allows; None means no extra
          limit.

        Raises `LMError` if the model cannot be opened.
        """
        weights = open_weights(folder, device=device, dtype=dtype, attention=attention, quantisation=quantisation)
        with blamed(weights.folder, "its chats cannot be scored"):
            template = ChatTemplate.from_tokenizer(weights.tokenizer)
        with blamed(weights.folder, "it cannot be run"):
            chosen, remark = engine_for(weights, template, engine, token_budget)
        lm = cls(weights, template, chosen, max_tokens)
        lm.remarks += [remark] if remark else []
        return lm

    @property
    def identity(self) -> LMIdentity:
        """The part of a signature that identifies this LM; its digest covers the config, tokenizer and weight files."""
        return self._identity

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        """Returns the log-probability of each reply in nats, in the order of *predictions*.

        If a reply cannot be scored, its result is a `SpanError`. Predictions that render to the same conversation are
        computed once.
        """
        encoded = {prediction: self._encoded(prediction) for prediction in dict.fromkeys(predictions)}
        due = list(dict.fromkeys(item for item in encoded.values() if isinstance(item, Conversation)))
        answers = dict(zip(due, self.engine.logprobs(due), strict=True)) if due else {}
        return [_answer(item, answers) for item in (encoded[prediction] for prediction in predictions)]

    def _encoded(self, prediction: Prediction) -> Conversation | SpanError:
        try:
            conversation = self.template.encode(render(prediction))
        except SpanError as error:
            return error
        length = len(conversation.ids)
        if self._limit is not None and length > self._limit:
            message = f"the conversation has {length} tokens, the evaluation LM takes {self._limit}"
            if self._limit != self.weights.context:
                message += "; raise evaluation_lm.max_tokens and run with --retry-failed"
            return SpanError("too_long", message)
        if max(conversation.ids) >= self._rows:  # pyright: ignore[reportOperatorIssue]
            return SpanError("bad_token", f"the tokenizer has ids beyond the model's {self._rows} tokens", broken=True)
        return conversation


def _answer(item: Conversation | SpanError, answers: dict) -> SpanLogprob | SpanError:
    if isinstance(item, SpanError):
        return item
    logprobs = answers[item]
    if isinstance(logprobs, SpanError):
        return logprobs
    return SpanLogprob(math.fsum(logprobs), item.ids[item.first :], tuple(logprobs), item.escaped)

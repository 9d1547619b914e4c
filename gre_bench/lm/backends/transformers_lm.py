"""An evaluation LM opened from a folder of transformers weights; an engine runs the model on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gre_bench.core.errors import SpanError
from gre_bench.core.pretrained import get_model_name_for_signature
from gre_bench.core.records import Chat, LMIdentity, Prediction
from gre_bench.lm.protocol import ChatLMBase, Logprobs
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.lm.weights import (
    Attention,
    Device,
    DType,
    Quantisation,
    Weights,
    convert_errors_to_lm_error,
    open_weights,
)

if TYPE_CHECKING:
    from gre_bench.lm.engine.engines import Engine, EngineName


class TransformersLM(ChatLMBase):
    """An evaluation LM that runs on this machine; open one with `open`."""

    def __init__(self, weights: Weights, template: ChatTemplate, engine: Engine):
        identity = LMIdentity(
            name=get_model_name_for_signature(weights.folder),
            digest=weights.digest,
            # In half precision, the shape of a forward pass changes the numbers, so the plan goes into the signature.
            engine_version=engine.version if weights.dtype == "float32" else f"{engine.version}, {engine.plan}",
            dtype=weights.dtype,
            quantisation=weights.quantisation,
            attention=weights.attention,
            template_digest=template.digest,
        )
        super().__init__(template, identity, weights.context)
        self.weights, self.engine = weights, engine
        self.remarks = getattr(engine, "remarks", [])

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
    ) -> TransformersLM:
        """Opens the evaluation LM in *folder*; raises `LMError` if that fails.

        If *engine* cannot run the model, a slower engine runs it, and `remarks` says so. *token_budget*: the maximum
        number of tokens in one forward pass.
        """
        weights = open_weights(folder, device=device, dtype=dtype, attention=attention, quantisation=quantisation)
        from gre_bench.lm.engine.engines import engine_for  # which imports torch

        with convert_errors_to_lm_error(weights.folder, "its chats cannot be scored"):
            template = ChatTemplate.from_tokenizer(weights.tokenizer)
        with convert_errors_to_lm_error(weights.folder, "it cannot be run"):
            chosen, remark = engine_for(weights, template, engine, token_budget)
        lm = cls(weights, template, chosen)
        lm.remarks += [remark] if remark else []
        return lm

    def _compute_span_logprobs(self, conversations: Sequence[Conversation]) -> Sequence[Logprobs]:
        return self.engine.logprobs(conversations)

    def _encode_prediction(self, prediction: Prediction | Chat) -> Conversation | SpanError:
        conversation, rows = super()._encode_prediction(prediction), self.weights.rows
        if isinstance(conversation, Conversation) and max(conversation.ids) >= rows:
            return SpanError("bad_token", f"the tokenizer has ids beyond the model's {rows} tokens", broken=True)
        return conversation

"""Scores spans with EleutherAI's lm-evaluation-harness, an independent check of the engines' numbers and speed.

The harness's class `HFLM` runs whole conversations in padded batches, and sums the log-probabilities of each span in
float32.
"""

from __future__ import annotations

from collections.abc import Sequence

from gre_bench.core.errors import LMError
from gre_bench.lm.span import Conversation
from gre_bench.lm.weights import Weights


def harness_logprobs(weights: Weights, conversations: Sequence[Conversation], batch: int) -> list[float]:
    """Returns log P(span | tokens before the span) of each of *conversations* in nats, in their order.

    *batch* is the number of conversations in one forward pass. A conversation longer than the model's context is run in
    full, never cut. Raises `LMError` if lm_eval is not installed.
    """
    try:
        from lm_eval.models.huggingface import HFLM
    except ImportError as error:
        raise LMError(f"lm_eval is not installed ({error}): pip install 'gre-bench[harness]'") from error
    if not conversations:
        return []
    longest = max(len(conversation.ids) for conversation in conversations)
    harness = HFLM(
        pretrained=weights.model,
        tokenizer=weights.tokenizer,
        backend="causal",
        batch_size=batch,
        softmax_dtype="float32",
        # The harness silently cuts the beginning of a conversation above this length.
        max_length=longest,
    )
    requests = [
        (("", ""), list(item.ids[: item.first]), list(item.ids[item.first : item.last + 1])) for item in conversations
    ]
    return [float(total) for total, _ in harness._loglikelihood_tokens(requests, disable_tqdm=True)]

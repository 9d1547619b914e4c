"""Writes the bodies of requests to a vLLM server and reads its answers; sends nothing itself.

vLLM 0.32 offers two kinds of request for the log-probabilities of a span:

- A *whole* request returns ``prompt_logprobs`` for all tokens of the conversation. Any server accepts the request, but
  cannot use its prefix cache for it.
- A *given* request returns log-probabilities for the span's tokens only (``prompt_logprob_token_ids``). The server can
  use its prefix cache. The server must be started with ``--enable-scale-out`` and run the V2 model runner.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
from dataclasses import dataclass
from typing import Any

from gre_bench.core.errors import SpanError
from gre_bench.lm.engine.protocol import Logprobs
from gre_bench.lm.span import Conversation

MODELS = "/v1/models"
VERSION = "/version"
WHOLE = "/v1/completions"
GIVEN = "/inference/v1/generate"

NO_NUMBER = -9999.0
"""What vLLM writes in place of minus infinity or NaN."""

_GREEDY = {"max_tokens": 1, "temperature": 0.0}
_LENGTH = ("context length", "max_model_len", "maximum model length", "too long", "max_tokens must be at least 1, got")
_NO_NUMBER = ("not json compliant",)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The server's refusal of a request.

    - *status*: the HTTP status.
    - *message*: the server's message, as one line.
    """

    status: int
    message: str

    def meaning(self) -> SpanError:
        """Returns the `SpanError` for the refused conversation.

        Its code is ``too_long``, ``not_finite`` (a log-probability was not a number) or ``refused_request`` (any other
        reason).
        """
        lowered = self.message.lower()
        if any(sign in lowered for sign in _LENGTH):
            return SpanError("too_long", f"the conversation is too long for the vLLM server: {self.message}")
        if any(sign in lowered for sign in _NO_NUMBER):
            return _broken("not_finite", f"log-probabilities that are not numbers: {self.message}")
        return SpanError("refused_request", f"the vLLM server answered {self.status}: {self.message}", broken=True)


def ask_whole(model: str, conversation: Conversation, alternatives: int = 0) -> dict[str, Any]:
    """Returns the body of a *whole* request (see the module), which asks for the log-probability of each token.

    The server also returns the log-probabilities of the *alternatives* likeliest tokens at each position.
    """
    return {"model": model, "prompt": list(conversation.ids), "prompt_logprobs": alternatives, **_GREEDY}


def ask_given(model: str, conversation: Conversation, afresh: bool = False) -> dict[str, Any]:
    """Returns the body of a *given* request (see the module).

    The request asks for the log-probabilities of the span's tokens only. If *afresh*, the server must not read its
    prefix cache.
    """
    span = conversation.ids[conversation.first : conversation.last + 1]
    return {
        "model": model,
        "token_ids": list(conversation.ids),
        "sampling_params": {
            **_GREEDY,
            "detokenize": False,
            "prompt_logprob_token_ids": [[token] for token in span],
            # Row i predicts token start + i + 1.
            "prompt_logprob_start": conversation.first - 1,
            "skip_reading_prefix_cache": afresh,
        },
    }


def read_whole(answer: dict[str, Any], conversation: Conversation) -> Logprobs:
    """Returns the log-probabilities of the span from *answer*, the server's answer to a *whole* request.

    The module defines the kinds of request. Returns a `SpanError` marked ``broken`` if a log-probability is missing or
    is not a finite number.
    """
    positions = _prompt_logprobs(answer)
    if positions is None:
        return _broken("misaligned", "no prompt_logprobs")
    if len(positions) != len(conversation.ids):
        return _broken("misaligned", f"{len(positions)} positions for {len(conversation.ids)} tokens")
    logprobs: list[float] = []
    for index in range(conversation.first, conversation.last + 1):
        value = _value(positions[index], conversation.ids[index])
        if isinstance(value, SpanError):
            return value
        logprobs.append(value)
    return _finite(logprobs)


def read_given(answer: dict[str, Any], conversation: Conversation) -> Logprobs | None:
    """Returns the log-probabilities of the span from *answer*, the server's answer to a *given* request.

    The module defines the kinds of request. Returns None if the server left log-probabilities out, which happens when a
    cached prefix overlaps the span. Returns a `SpanError` marked ``broken`` if the log-probabilities cannot be read or
    are not finite numbers.
    """
    scores = answer.get("prompt_token_id_logprobs")
    if scores is None:
        return None
    import numpy

    try:
        array = numpy.load(io.BytesIO(base64.b64decode(scores, validate=True)), allow_pickle=False)
    except (TypeError, ValueError, OSError, EOFError, binascii.Error) as error:
        return _broken("misaligned", f"prompt_token_id_logprobs that cannot be read ({' '.join(str(error).split())})")
    expected = (conversation.last - conversation.first + 1, 1)
    if array.shape != expected or array.dtype.kind != "f":
        return _broken("misaligned", f"scores of shape {array.shape}, {array.dtype}, instead of {expected}")
    return _finite(array[:, 0].tolist())


def total_probability(answer: dict[str, Any]) -> float:
    """Returns the largest sum of the probabilities that *answer* states for alternative tokens at one position.

    *answer* is the server's answer to a *whole* request (see the module). A sum of more than about 1 means that the
    numbers are not probabilities.
    """
    positions = [position for position in _prompt_logprobs(answer) or [] if isinstance(position, dict)]
    sums = [math.fsum(math.exp(min(50.0, token["logprob"])) for token in position.values()) for position in positions]
    return max(sums, default=0.0)


def _prompt_logprobs(answer: dict[str, Any]) -> list[Any] | None:
    try:
        positions = answer["choices"][0]["prompt_logprobs"]
    except (KeyError, IndexError, TypeError):
        return None
    return positions if isinstance(positions, list) else None


def _value(position: Any, token: int) -> float | SpanError:
    if not isinstance(position, dict) or not isinstance(position.get(str(token)), dict):
        return _broken("misaligned", f"nothing for token {token} at its position")
    value = position[str(token)].get("logprob")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _broken("not_finite", f"log-probability {value} for token {token}")
    return float(value)


def _finite(values: list[float]) -> Logprobs:
    for index, value in enumerate(values):
        if not math.isfinite(value) or value <= NO_NUMBER:
            return _broken("not_finite", f"log-probability {value} at token {index}")
    return values


def _broken(code: str, problem: str) -> SpanError:
    return SpanError(code, f"the vLLM server answered with: {problem}", broken=True)

"""The interface of an evaluation LM, and the common base of evaluation LMs that run a chat model.

An evaluation LM returns log P(reply | given review, synopsis) in nats for each prediction. The given review is `x` of
the `Prediction`: usually the candidate's review. A prediction that cannot be scored gives a `SpanError`, so one hostile
text never affects other predictions. An exception means that the whole LM is unusable.

An LM that runs a chat model renders predictions as chats, and can score any `Chat` that has a reply. Its log P(reply |
prompt) is the sum of the log-softmax of the logits over the span (`gre_bench.lm.span`). The softmax is computed in
float32, whatever the weights' dtype, and the sum in float64 (Xu et al. 2025, §3.2).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Protocol, cast

from gre_bench.core.errors import GreBenchError, LMError, SpanError
from gre_bench.core.records import Chat, LMIdentity, Prediction, SpanLogprob
from gre_bench.lm.span import ChatTemplate, Conversation
from gre_bench.prompts.library import render

Logprobs = list[float] | SpanError
"""The log-probability of each token of a span in nats, or the reason why there is none."""
ALLOWED_EXCESS = 1e-6
"""The amount, in nats, by which rounding may lift a log-probability above zero."""


class EvaluationLM(Protocol):
    """Scores predictions: gives one result for each, in order. ``identity`` identifies the LM in every signature."""

    @property
    def identity(self) -> LMIdentity: ...

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]: ...


class ChatLM(EvaluationLM, Protocol):
    """An evaluation LM that also scores chats, by log P(reply and end of turn | system and user message) in nats."""

    def logprob(self, predictions: Sequence[Prediction | Chat]) -> list[SpanLogprob | SpanError]: ...


def require_chat_lm(lm: EvaluationLM) -> ChatLM:
    """Returns *lm* as a `ChatLM`; raises `LMError` if *lm* cannot score chats."""
    if not getattr(lm, "reads_chats", False):
        raise LMError(
            f"evaluation LM {lm.identity.name} scores judgments only: give a chat model "
            "(evaluation_lm.backend = transformers or vllm)"
        )
    return cast(ChatLM, lm)


def collect_and_clear_remarks(lm: EvaluationLM) -> tuple[str, ...]:
    """Returns the distinct remarks of *lm* about how it departed from its settings, and clears its list of remarks."""
    remarks = getattr(lm, "remarks", [])
    distinct = tuple(dict.fromkeys(remarks))
    remarks.clear()
    return distinct


def compute_checked_span_logprobs(
    lm: EvaluationLM, predictions: Sequence[Prediction | Chat]
) -> list[SpanLogprob | SpanError]:
    """Returns the result of *lm* for each of *predictions*, in order, checked by `validate_span_logprob`.

    All callers of an LM use this function. The LM may come from another package, so its results may be anything. Raises
    `LMError` unless the results are one `SpanLogprob` or `SpanError` for each prediction. Also raises it if an LM from
    another package raises an exception.
    """
    name, cure = f"evaluation LM {lm.identity.name}", "mend the package that it comes from"
    try:
        results = cast(ChatLM, lm).logprob(predictions)
    except (GreBenchError, MemoryError):
        raise
    except Exception as error:
        if type(lm).__module__.startswith("gre_bench."):
            raise
        raise LMError(f"{name} failed: {type(error).__name__}: {' '.join(str(error).split())[:200]}; {cure}") from error
    if not isinstance(results, list | tuple):
        raise LMError(f"{name} returned {type(results).__name__} instead of a list of results; {cure}")
    if len(results) != len(predictions):
        raise LMError(f"{name} returned {len(results)} results for {len(predictions)} predictions; {cure}")
    for result in results:
        if not isinstance(result, SpanLogprob | SpanError):
            kind = type(result).__name__
            raise LMError(f"{name} returned a result of type {kind}, not SpanLogprob or SpanError; {cure}")
    return list(map(validate_span_logprob, results))


def validate_span_logprob(span: SpanLogprob | SpanError) -> SpanLogprob | SpanError:
    """Returns *span*, or a `SpanError` marked ``broken`` if its numbers are not sound.

    A sound span has at least one token, and one log-probability for each. All of these are finite, none is above zero,
    and at least one is below zero.
    """
    if isinstance(span, SpanError):
        return span
    if not _holds_numbers(span):
        return _invalid_span_error("no_numbers", "ids or log-probabilities that are no tuple of numbers")
    if not span.logprobs or len(span.ids) != len(span.logprobs):
        return _invalid_span_error("misaligned", f"{len(span.ids)} tokens but {len(span.logprobs)} log-probabilities")
    # A finite sum has only finite terms. Checking each token takes six times as long, and nearly all spans are sound.
    suspect = not math.isfinite(sum(span.logprobs)) or max(span.logprobs) > ALLOWED_EXCESS
    for index, value in enumerate(span.logprobs if suspect else ()):
        if not math.isfinite(value):
            return _invalid_span_error("not_finite", f"log-probability {value} at token {index}")
        if value > ALLOWED_EXCESS:
            return _invalid_span_error("positive", f"log-probability {value} above zero at token {index}")
    if not math.isfinite(span.total) or span.total > ALLOWED_EXCESS:
        return _invalid_span_error("not_finite", f"log-probability of the whole reply is {span.total}")
    if not any(span.logprobs):
        return _invalid_span_error("all_zero", "every log-probability is exactly zero")
    return span


def _holds_numbers(span: SpanLogprob) -> bool:
    if not (isinstance(span.logprobs, list | tuple) and isinstance(span.ids, list | tuple)):
        return False
    logprobs, ids = {type(span.total), *map(type, span.logprobs)}, set(map(type, span.ids))
    return all(issubclass(kind, Real) for kind in logprobs) and all(issubclass(kind, Integral) for kind in ids)


def _invalid_span_error(code: str, problem: str) -> SpanError:
    return SpanError(code, f"the evaluation LM answered with: {problem}", broken=True)


class ChatLMBase(ABC):
    """An evaluation LM that turns each prediction into a chat and scores the reply in that chat.

    - *limit*: the maximum number of tokens in a conversation; None: no limit.
    - `remarks`: messages for the user about departures from the settings.
    """

    reads_chats = True

    def __init__(self, template: ChatTemplate, identity: LMIdentity, limit: int | None):
        self.template = template
        self.identity = identity
        self.remarks: list[str] = []
        self._limit = limit

    @abstractmethod
    def _compute_span_logprobs(self, conversations: Sequence[Conversation]) -> Sequence[Logprobs]:
        """Returns the log-probabilities of the spans of *conversations*, in order; no two conversations are equal."""

    def logprob(self, predictions: Sequence[Prediction | Chat]) -> list[SpanLogprob | SpanError]:
        """Returns for each of *predictions* the log-probability of its reply in nats, or a `SpanError` if it has none.

        If several predictions give the same conversation, it is scored only once.
        """
        encoded = {prediction: self._encode_prediction(prediction) for prediction in dict.fromkeys(predictions)}
        due = list(dict.fromkeys(item for item in encoded.values() if isinstance(item, Conversation)))
        logprobs = dict(zip(due, self._compute_span_logprobs(due), strict=True)) if due else {}
        answers: dict[Conversation, SpanLogprob | SpanError] = {}
        for item, values in logprobs.items():
            if not isinstance(values, SpanError):
                values = validate_span_logprob(
                    SpanLogprob(math.fsum(values), item.ids[item.first :], tuple(values), item.escaped)
                )
            answers[item] = values
        items = (encoded[prediction] for prediction in predictions)
        return [item if isinstance(item, SpanError) else answers[item] for item in items]

    def _encode_prediction(self, prediction: Prediction | Chat) -> Conversation | SpanError:
        try:
            conversation = self.template.encode(render(prediction))
        except SpanError as error:
            return error
        length = len(conversation.ids)
        if self._limit is not None and length > self._limit:
            problem = f"the conversation has {length} tokens, the evaluation LM takes {self._limit}"
            return SpanError("too_long", problem)
        return conversation

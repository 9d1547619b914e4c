"""An evaluation LM without any computation, to measure the cost of everything around an evaluation LM.

Its log-probabilities are slices of one fixed table. Still, the store is as large as in a real run, and the statistics
have numbers to test. Its settings are a separate class, so that a worker that receives them imports this module and
with it the backend.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from gre_bench.core.records import LMIdentity, Prediction, SpanLogprob
from gre_bench.core.settings import EvaluationLMSettings
from gre_bench.lm import opening

CHARACTERS_PER_TOKEN = 6.2
"""The characters per token of real judgments with Llama's tokenizer."""
_LONGEST, _OFFSETS = 4096, 8192
_random = np.random.default_rng(0)
_LOGPROBS = tuple((-_random.gamma(0.6, 2.5, _LONGEST + _OFFSETS) - 1e-4).astype(np.float32).tolist())
_IDS = tuple(_random.integers(0, 128_000, _LONGEST + _OFFSETS).tolist())
_SUMS = (0.0, *np.cumsum(_LOGPROBS).tolist())


class NullSettings(EvaluationLMSettings):
    """Settings of the backend ``null``."""

    backend: str = "null"

    @property
    def runs_in_server(self) -> bool:
        return True


class NullLM:
    """The evaluation LM, which gives equal predictions equal answers."""

    identity = LMIdentity("null", "0" * 64, "null-1")

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob]:
        """Returns a slice for each of *predictions*, as long as its reply in tokens."""
        return [self._span(one) for one in predictions]

    @staticmethod
    def _span(asked: Prediction) -> SpanLogprob:
        tokens = min(_LONGEST, 1 + int(len(asked.reply) / CHARACTERS_PER_TOKEN))
        first = zlib.crc32((asked.x or "").encode(), zlib.crc32(asked.reply.encode())) % _OFFSETS
        end = first + tokens
        return SpanLogprob(_SUMS[end] - _SUMS[first], _IDS[first:end], _LOGPROBS[first:end])


opening.BACKENDS.own["null"] = lambda _settings: NullLM()

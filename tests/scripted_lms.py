"""Evaluation LMs made for the tests, named scripted: small, and wrong on order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from gre_bench.core.errors import SpanError
from gre_bench.core.metrics import Recipe
from gre_bench.core.records import Case, LMIdentity, Prediction, Score, SpanLogprob
from gre_bench.core.settings import ScoringSettings
from gre_bench.lm.protocol import EvaluationLM
from gre_bench.metrics.scoring import Metric, MetricCases, score
from tests.holds import hold


def scores_of(
    metric: str, lm: object, cases: Sequence[Case], settings: ScoringSettings = ScoringSettings(),
    known: Mapping[str, SpanLogprob] | None = None,
) -> list[Score]:  # fmt: skip
    """The scores of *cases* of one paper by *metric*, by the program's own scoring, under the signature ``sig``."""
    work = MetricCases(metric, "sig", tuple(cases))
    return score([work], settings, lambda: cast(EvaluationLM, lm), no_other, known or {}).scores


def no_other(recipe: Recipe, _signature_id: str) -> Metric:
    raise AssertionError(f"{recipe.name} is no metric of log-probabilities")


class OverlapLM:
    """Words of the reply that stand in x or the synopsis are likely, others not. Counts what it is asked.

    With a file *held_at* it stands still, once, before it answers more than `HELD_AFTER` predictions.
    """

    HELD_AFTER = 66
    """What three papers of the sample take: where papers are scored one by one, the scores of these are committed."""

    def __init__(self, name: str = "scripted-overlap", pause_s: float = 0.0, held_at: Path | None = None):
        self.identity = LMIdentity(name, "0" * 64, "scripted-1")
        self.asked: list[Prediction] = []
        self.pause_s = pause_s
        self.held_at = held_at

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        if self.held_at and len(self.asked) + len(predictions) > self.HELD_AFTER:
            hold(self.held_at)
            self.held_at = None
        self.asked += predictions
        time.sleep(self.pause_s * len(predictions))
        return [self.span(prediction) for prediction in predictions]

    @staticmethod
    @cache
    def span(prediction: Prediction) -> SpanLogprob:
        given = set(f"{prediction.x or ''} {prediction.synopsis or ''}".lower().split())
        logprobs = [-1.0 - 0.001 * len(word) if word.lower() in given else -4.0 for word in prediction.reply.split()]
        logprobs.append(-0.25)
        return SpanLogprob(math.fsum(logprobs), tuple(range(len(logprobs))), tuple(logprobs))


class FaultyLM(OverlapLM):
    """Answers with *fault* where the reply and first review satisfy *where*."""

    def __init__(self, fault: Callable[[SpanLogprob], SpanLogprob | SpanError], where: Callable[[Prediction], bool]):
        super().__init__("scripted-faulty")
        self.fault = fault
        self.where = where

    def logprob(self, predictions: Sequence[Prediction]) -> list[SpanLogprob | SpanError]:
        answers = super().logprob(predictions)
        return [
            self.fault(answer) if isinstance(answer, SpanLogprob) and self.where(prediction) else answer
            for prediction, answer in zip(predictions, answers, strict=True)
        ]

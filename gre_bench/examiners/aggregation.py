"""Combines scores and their probabilities into one score (Kim et al. 2023, §4.2).

    direct         the score that the LM states
    logprob        Σ p(sᵢ)·sᵢ over the declared scores (eq. 1): ``raw``, or with p(sᵢ) / Σ p(sⱼ): ``normalised``
    approximation  Σ g(sᵢ)·sᵢ, where g(sᵢ) is the share of sᵢ in n samples (eq. 2 and 3)

p(sᵢ) is the probability of the whole reply sᵢ including its end. The reply 1 is therefore not the beginning of 10, and
the declared scores exclude each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Mass = Literal["normalised", "raw"]


@dataclass(frozen=True, slots=True)
class Weighted:
    """A weighted mean, and its *mass*: the total probability that the reply is one of the declared scores."""

    score: float
    mass: float


def logprob(logprobs: Sequence[float], scores: Sequence[float], mass: Mass = "normalised") -> Weighted:
    """Returns the mean of *scores*, weighted by the exponentials of *logprobs* (nats, in the same order).

    With *mass* ``raw``, the mean is multiplied by the total probability. The weights are normalised as logarithms,
    because all declared scores together may have a probability of only e⁻⁵⁰ by a base model. Raises `ValueError` for
    unequal lengths or a log-probability that is not finite.
    """
    if len(logprobs) != len(scores) or not scores:
        raise ValueError(f"{len(scores)} scores but {len(logprobs)} log-probabilities")
    if not all(map(math.isfinite, logprobs)):
        raise ValueError("a log-probability is not finite")
    top = max(logprobs)
    weights = [math.exp(value - top) for value in logprobs]
    total = math.exp(top) * math.fsum(weights)
    mean = math.fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / math.fsum(weights)
    return Weighted(mean if mass == "normalised" else total * mean, total)


def approximation(samples: Sequence[float]) -> float:
    """Returns the mean of *samples*, computed as Σ g(s)·s with the share g(s) of each score."""
    shares = {score: count / len(samples) for score, count in Counter(samples).items()}
    return math.fsum(share * score for score, share in shares.items())


def aspect_mean(parts: Sequence[float]) -> float:
    """Returns the unweighted mean of *parts*, the scores of the aspects (Kim et al. 2023, §5.1)."""
    return math.fsum(parts) / len(parts)

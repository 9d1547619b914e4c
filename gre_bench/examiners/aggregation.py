"""Combines several scores of one text, or the probabilities of its possible scores, into one score.

The three aggregations are those of Kim et al. 2023, §4.2:

    direct         the score that the LM states
    logprob        Σ p(sᵢ)·sᵢ over the declared scores (eq. 1); ``normalised`` divides it by Σ p(sᵢ), ``raw`` does not
    approximation  Σ g(sᵢ)·sᵢ, where g(sᵢ) is the share of sᵢ in n samples (eq. 2 and 3)

The declared scores are those that the prompt lists. p(sᵢ) is the probability that the reply is sᵢ and then ends. The
reply "10" therefore does not count as the reply "1", and the declared scores exclude each other.
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
    """A mean score, weighted by the probability of each declared score.

    - *score*: the weighted mean.
    - *mass*: the total probability that the reply is one of the declared scores, from 0 to 1.
    """

    score: float
    mass: float


def logprob(logprobs: Sequence[float], scores: Sequence[float], mass: Mass = "normalised") -> Weighted:
    """Returns the mean of *scores*, each weighted by its probability.

    - *logprobs*: the log-probability of each score, in nats.
    - *mass*: ``normalised`` divides the weighted sum by the total probability; ``raw`` leaves the sum as it is.

    The largest log-probability is subtracted first, because a base model may give all declared scores together a
    probability of only e⁻⁵⁰. Raises `ValueError` for unequal lengths or a log-probability that is not finite.
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
    """Returns the mean of *samples*, the scores that the LM gave in several replies to the same chat.

    The mean is computed as Σ g(s)·s, where g(s) is the share of the score s among the samples.
    """
    shares = {score: count / len(samples) for score, count in Counter(samples).items()}
    return math.fsum(share * score for score, share in shares.items())


def aspect_mean(parts: Sequence[float]) -> float:
    """Returns the unweighted mean of *parts*, the scores of the aspects (Kim et al. 2023, §5.1)."""
    return math.fsum(parts) / len(parts)

"""Fits the weights of `cache-ngram` on validation papers, without changing the counts.

Expectation maximisation fits the source weights (Dempster et al. 1977). L-BFGS fits the feature weights of the
reweighted trigram model to the same likelihood. The gradient for a feature is its observed minus its expected value.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np

from gre_bench.lm.ngram.cache_ngram import CacheNgram, Known, Reply
from gre_bench.lm.ngram.known_text import FEATURES

Papers = Sequence[Sequence[str]]
"""The judgments of each review, for each paper."""


def _with(model: CacheNgram, **changes: Any) -> CacheNgram:
    return CacheNgram({**model.config, **changes}, model.vocabulary, model.arrays, model.alphabet)


def _pairs(papers: Papers) -> list[tuple[str, str]]:
    """Returns all ordered pairs (known text, reply) of two reviews of one paper."""
    return [pair for paper in papers for pair in permutations(paper, 2)]


def fit_sources(model: CacheNgram, papers: Papers) -> CacheNgram:
    """Returns *model* with the source weights that maximise the likelihood of *papers*.

    First the marginal weights are fitted, on each review alone. Then the conditional weights are fitted, on each review
    given another review of the same paper.
    """
    replies = {text: model.read_reply(text) for paper in papers for text in paper}
    terms = [
        _chances(reply, *model.marginal_terms(reply.text, reply.trigram, reply.unknown)) for reply in replies.values()
    ]
    model = _with(model, marginal_weights=_maximise(np.concatenate(terms, axis=1)))
    replies = {text: model.read_reply(text) for text in replies}
    known = {text: model.read_known(text) for text in replies}
    terms = [
        _chances(replies[y], *model.conditional_terms(replies[y], given))
        for x, y in _pairs(papers)
        if (given := known[x])
    ]
    return _with(model, conditional_weights=_maximise(np.concatenate(terms, axis=1)))


def _chances(reply: Reply, whole: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Returns P(token) by each source, shape (sources, tokens); each column is scaled by a factor of its own.

    *whole*: P(word) by each source. *unknown*: P(unknown word) by each source. Both have the shape of the result.
    """
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log(whole), np.log(unknown) + reply.spelling)
    return np.exp(logs - logs.max(axis=0))


def _maximise(chances: np.ndarray) -> list[float]:
    """Returns one mixture weight for each row of *chances*, fitted by expectation maximisation.

    *chances* holds the probability of each token by each source, shape (sources, tokens). The weights sum to 1, and
    each is at least about 1e-6.
    """
    weights = np.full(len(chances), 1 / len(chances))
    for _ in range(300):
        shares = chances * weights[:, None]
        moved = (shares / shares.sum(axis=0)).mean(axis=1)
        done, weights = np.abs(moved - weights).max() < 1e-7, moved
        if done:
            break
    weights = np.maximum(weights, 1e-6)
    return (weights / weights.sum()).tolist()


def mean_logprob(model: CacheNgram, papers: Papers) -> float:
    """Returns the mean log-probability of a review given another review of the same paper, in nats per review.

    The mean is over all ordered pairs of reviews of one paper.
    """
    pairs = _pairs(papers)
    replies = {text: model.read_reply(text) for paper in papers for text in paper}
    known = {text: model.read_known(text) for text in replies}
    return sum(float(model.token_logprobs(replies[y], known[x]).sum()) for x, y in pairs) / len(pairs)


def fit_boosts(model: CacheNgram, papers: Papers, penalty: float, steps: int) -> CacheNgram:
    """Returns *model* with feature weights fitted to *papers* in at most *steps* of L-BFGS; source weights stay.

    The feature weights maximise the likelihood of each review given another, less *penalty* times the sum of their
    squares.
    """
    from scipy.optimize import minimize

    pairs = _pairs(papers)
    replies = {text: model.read_reply(text) for paper in papers for text in paper}
    known = {text: model.read_known(text) for text in replies}
    features = {text: model.known_text.features(model.read(text)).astype(np.float32) for text in replies}
    copies = {(x, y): _other_sources(model, replies[y], given) for x, y in set(pairs) if (given := known[x])}
    share = model.conditional_weights[1]

    def loss(boosts: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = penalty * boosts @ boosts, 2 * penalty * boosts
        reweighted: dict[str, tuple[np.ndarray, Any]] = {}
        for x, y in pairs:
            if (x, y) not in copies:
                continue
            if x not in reweighted:
                factors = np.exp(features[x] @ boosts)
                reweighted[x] = factors, model.backoff.norms(factors)
            factors, norms = reweighted[x]
            reply, (others, spelled) = replies[y], copies[x, y]
            norm = model.backoff.norms_at(norms, reply.contexts)
            whole = share * reply.trigram * factors[reply.text.ids] / norm
            escape = share * spelled * factors[0] / norm
            total = others + whole + escape
            value -= float(np.log(total).sum()) / len(pairs)
            seen = np.bincount(reply.text.ids, whole / total, model.backoff.size)
            seen[0] += (escape / total).sum()
            expected = factors * model.backoff.expected(reply.contexts, (whole + escape) / total / norm)
            slope -= features[x].T @ (seen - expected) / len(pairs)
        return float(value), slope

    start = np.array([model.config["boosts"][feature] for feature in FEATURES])
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return _with(model, boosts=dict(zip(FEATURES, fitted.tolist(), strict=True)))


def _other_sources(model: CacheNgram, reply: Reply, known: Known) -> tuple[np.ndarray, np.ndarray]:
    """Returns two probabilities of each token of *reply* that do not depend on the feature weights.

    The first is the weighted sum over all sources except the reweighted trigram model. The second is the token's
    probability as an unknown word: P(unknown word) by the plain trigram model times P(spelling).
    """
    spelling = np.exp(reply.spelling)
    whole, escapes = model.conditional_terms(reply, known)
    weights = model.conditional_weights * [1, 0, 1, 1]
    return np.maximum(weights @ whole + weights @ escapes * spelling, 1e-300), reply.unknown * spelling

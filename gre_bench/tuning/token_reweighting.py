"""Fitting the factors of `lm.backends.reweighting`: what reviews of one paper share, and how far it bends an LM.

Lift and topics of tokens are counted on training papers. The weights of the features are then those under which the
bent LM alone best predicts one review of a paper kept aside given another: a log-linear model, by L-BFGS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from gre_bench.lm.backends.mixture import TokenLM, is_text
from gre_bench.lm.backends.reweighting import FEATURES, Bending
from gre_bench.tuning.topics import shared_topics

if TYPE_CHECKING:
    from torch import Tensor

_PRIOR = 0.1
"""Pairs added to each side of a token's lift."""
_RARE, _COMMON = 3, 0.25
"""Tokens in topics stand in that many papers at least, and in that share of them at most."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A paper kept aside: per review the ids of its text, of its reply's span, and the LM's rows there."""

    texts: Sequence[np.ndarray]
    replies: Sequence[np.ndarray]
    rows: Sequence[Tensor]


def bending_arrays(
    papers: Sequence[Sequence[np.ndarray]], counts: np.ndarray, topics: int, seed: int = 0
) -> dict[str, np.ndarray] | None:
    """The arrays of a `Bending` from *papers* of reviews of token ids, *counts* of papers by token.

    None where too few tokens stand in several papers.
    """
    topical = np.flatnonzero((counts >= _RARE) & (counts < _COMMON * len(papers)))
    if len(topical) < 2 or not any(len(paper) > 1 for paper in papers):
        return None
    found = shared_topics(papers, topical, min(topics, len(topical)), seed)
    chance = found["topic_sizes"].astype(np.float64) @ found["words_of"].astype(np.float64)
    return {
        "lift": _lift(papers, len(counts)),
        "topical": topical.astype(np.int32),
        "topics_of": found["topics_of"].astype(np.float32),
        "words_of": (found["words_of"] / np.maximum(chance, 1e-12)).clip(1e-6).astype(np.float32),
    }


def fit_bend(bending: Bending, kept: Sequence[Kept], penalty: float = 1e-3, steps: int = 15) -> tuple[float, ...]:
    """The weights of `FEATURES` that make the replies of *kept* likeliest; *penalty* in nats a pair."""
    import torch
    from scipy.optimize import minimize

    features = [[bending.features(ids) for ids in paper.texts] for paper in kept]
    pairs = sum(len(paper.texts) * (len(paper.texts) - 1) for paper in kept)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = penalty * weights @ weights, 2 * penalty * weights
        for paper, known in zip(kept, features, strict=True):
            logs = [weights @ one for one in known]
            largest = max(float(one.max()) for one in logs)
            factors = [np.exp(one - largest) for one in logs]
            table = torch.from_numpy(np.array(factors, dtype=np.float32).T.copy())
            norms = [_padded(table, rows, np.exp(-largest)) for rows in paper.rows]
            for x, y in permutations(range(len(known)), 2):
                reply, norm = paper.replies[y], norms[y][:, x]
                value -= float((logs[x][reply] - largest).sum() - np.log(norm).sum()) / pairs
                told = torch.from_numpy((1 / norm).astype(np.float32))
                expected = (told @ paper.rows[y][:, : len(factors[x])].cpu()).numpy() * factors[x]
                slope -= (known[x][:, reply].sum(axis=1) - known[x] @ expected) / pairs
        return float(value), slope

    found = minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return tuple(found.x.tolist())


def _padded(table: Tensor, rows: Tensor, rest: float) -> np.ndarray:
    """Σ P(token) · factor by place and text; tokens beyond the table have the factor *rest*."""
    rows = rows.cpu()
    known = rows[:, : len(table)] @ table
    return (known + rest * rows[:, len(table) :].sum(dim=1, keepdim=True)).numpy().astype(np.float64)


def _lift(papers: Sequence[Sequence[np.ndarray]], size: int) -> np.ndarray:
    """log((pairs of reviews of one paper that share the token + prior) / (pairs that would by chance + prior))."""
    shared, reviews_with, pairs, reviews = np.zeros(size), np.zeros(size), 0, 0
    for paper in papers:
        both = np.zeros(size)
        for ids in paper:
            both[np.unique(ids)] += 1
        shared += both * (both - 1)
        reviews_with += both
        pairs += len(paper) * (len(paper) - 1)
        reviews += len(paper)
    chance = pairs * (reviews_with / max(1, reviews)) ** 2
    return np.log((shared + _PRIOR) / (chance + _PRIOR)).astype(np.float32)


def as_ids(lm: TokenLM, papers: Sequence[Sequence[str]]) -> list[list[np.ndarray]]:
    """Token ids of the texts of *papers* by the tokenizer of *lm*; texts that are none left out."""
    return [
        [
            np.array(lm.tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)
            for text in paper
            if is_text(text)
        ]
        for paper in papers
    ]

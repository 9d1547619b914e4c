"""Fitting the mixture of `tasks.lm.mixture`: document frequencies from training papers, weights from papers kept aside.

The weights are those under which the reviews of the papers kept aside best predict one another, both ways, pairs of
one paper; the evaluation LM itself is asked once and never changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from tasks.errors import LMError, SpanError
from tasks.lm.mixture import TERMS, Blend, Mixture, TokenLM, save
from tasks.lm.protocol import checked
from tasks.lm.token_copies import PLACES, likeness
from tasks.records import Prediction, SpanLogprob
from tasks.tuning.mixture import Papers, maximise

EXPONENTS = (1.0, 2.0, 3.0)
"""Of the inverse document frequency, tried for the tokens drawn."""
PRIOR = 20.0
"""Tokens' worth of evidence by which each kind of place leans on the weights of all places together."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Figures on the papers kept aside, nats a reply, over ordered pairs of reviews of one paper (weights were fitted
    to them): mean PMI given a review of the same paper and of another, and AUC, P(a same-paper PMI exceeds an
    other-paper one), of the mixture and of the evaluation LM alone. *tokens* of the replies of all pairs.
    """

    papers: int
    pairs: int
    tokens: int
    same: float
    other: float
    auc: float
    lm_same: float
    lm_other: float
    lm_auc: float
    exponent: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pair and what the evaluation LM says of it."""

    prediction: Prediction
    given: SpanLogprob
    alone: SpanLogprob


def fit(lm: TokenLM, papers: Papers, kept: Papers) -> tuple[Blend, Fitted]:
    """The mixture over *lm*, counted on *papers* and fitted to *kept*, with its figures there.

    `LMError` if *lm* refuses most pairs; `ValueError` if there are too few papers.
    """
    if len(papers) < 2 or len(kept) < 2:
        raise ValueError(f"a mixture needs at least 2 papers to count and 2 kept aside, got {len(papers)}, {len(kept)}")
    same, other = _pairs(kept)
    asked = _ask(lm, [*same, *other])
    told = [asked[pair] for pair in same if pair in asked]
    if 2 * len(told) < len(same):
        only = f"{len(told)} of {len(same)} pairs"
        raise LMError(f"the evaluation LM {lm.identity.name} scores only {only}: is its context long enough?")
    counts, alike, share = count_tokens(lm, papers)
    even = np.full((PLACES, len(TERMS)), 1 / len(TERMS))
    found = []
    for exponent in EXPONENTS:
        blend = Blend(lm.identity.digest, len(papers), exponent, counts, alike, share, even)
        found.append(_weighted(Mixture(lm, blend), told))
    likeliest = max(found, key=lambda pair: pair[1])[0]
    return likeliest, _figures(Mixture(lm, likeliest), asked, same, other, len(kept))


def fit_into(folder: Path, lm: TokenLM, papers: Papers, kept: Papers) -> dict[str, Any]:
    """`fit`, the mixture written to *folder*; its figures by name."""
    if not hasattr(lm, "tokenizer"):
        raise LMError(f"the evaluation LM {lm.identity.name} has no tokenizer of its own: nothing can be mixed with it")
    blend, figures = fit(lm, papers, kept)
    save(blend, folder)
    return asdict(figures)


def count_tokens(lm: TokenLM, papers: Papers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per token id of *lm*: the number of *papers* a review of which holds it, and its `likeness`."""
    size = len(lm.tokenizer)
    with_token, times = np.zeros(size, dtype=np.int32), np.zeros(size)
    for paper in papers:
        ids = np.concatenate(
            [[], *(lm.tokenizer(text, add_special_tokens=False)["input_ids"] for text in paper if is_text(text))]
        )
        found, often = np.unique(ids.astype(np.int64), return_counts=True)
        with_token[found] += 1
        times[found] += often
    return with_token, *likeness(lm.tokenizer.convert_ids_to_tokens(list(range(size))), times)


def is_text(text: str) -> bool:
    """Whether *text* can be written as tokens: not with a lone surrogate in it."""
    return not any("\ud800" <= mark <= "\udfff" for mark in text)


def _pairs(papers: Papers) -> tuple[list[Prediction], list[Prediction]]:
    """Each review given each other of its paper, and given one of the paper half the list further on."""
    same, other = [], []
    for place, paper in enumerate(papers):
        strangers = papers[(place + len(papers) // 2) % len(papers)]
        for x, y in permutations(range(len(paper)), 2):
            same.append(Prediction(paper[x], None, paper[y]))
            other.append(Prediction(strangers[x % len(strangers)], None, paper[y]))
    return same, other


def _ask(lm: TokenLM, pairs: Sequence[Prediction]) -> dict[Prediction, _Asked]:
    """What *lm* says of *pairs*, those it refuses left out."""
    due = list(dict.fromkeys(term for pair in pairs for term in (pair, replace(pair, x=None))))
    answers = dict(zip(due, map(checked, lm.logprob(due)), strict=True))
    found = {}
    for pair in pairs:
        given, alone = answers[pair], answers[replace(pair, x=None)]
        if not isinstance(given, SpanError) and not isinstance(alone, SpanError):
            found[pair] = _Asked(pair, given, alone)
    return found


def _weighted(mixture: Mixture, told: Sequence[_Asked]) -> tuple[Blend, float]:
    """The blend of *mixture* with the likeliest weights, and the log-probability of all replies under it."""
    known: dict[str, np.ndarray] = {}
    parts = [mixture.terms(one.prediction, one.given, one.alone, known) for one in told]
    terms = np.concatenate([terms for terms, _ in parts], axis=1)
    places = np.concatenate([places for _, places in parts])
    chances = np.exp(terms - terms.max(axis=0))
    everywhere = np.array(maximise(chances))
    weights = np.array([_leaning(chances[:, places == place], everywhere) for place in range(PLACES)])
    total = float((np.log((chances * weights[places].T).sum(axis=0)) + terms.max(axis=0)).sum())
    return replace(mixture.blend, weights=weights), total


def _leaning(chances: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Mixture weights of the rows of *chances*, by expectation maximisation, drawn towards *prior*."""
    weights = prior
    for _ in range(200):
        shares = chances * weights[:, None]
        seen = (shares / shares.sum(axis=0)).sum(axis=1) if shares.size else np.zeros(len(prior))
        weights = (seen + PRIOR * prior) / (seen.sum() + PRIOR)
    return weights / weights.sum()


def _figures(
    mixture: Mixture, asked: dict[Prediction, _Asked], same: list[Prediction], other: list[Prediction], papers: int
) -> Fitted:
    ratios = {}
    known: dict[str, np.ndarray] = {}
    for pair, one in asked.items():
        mixed = mixture.mixed(*mixture.terms(pair, one.given, one.alone, known))
        ratios[pair] = float(mixed.sum()) - one.alone.total, one.given.total - one.alone.total
    whole = [pair for pair in same if pair in ratios]
    strange = [pair for pair in other if pair in ratios]
    (same_mixed, same_lm), (other_mixed, other_lm) = (np.array([ratios[p] for p in ps]).T for ps in (whole, strange))
    return Fitted(
        papers=papers, pairs=len(whole), tokens=sum(len(asked[pair].alone.ids) for pair in whole),
        same=float(same_mixed.mean()), other=float(other_mixed.mean()), auc=_auc(same_mixed, other_mixed),
        lm_same=float(same_lm.mean()), lm_other=float(other_lm.mean()), lm_auc=_auc(same_lm, other_lm),
        exponent=mixture.blend.exponent,
    )


def _auc(same: np.ndarray, other: np.ndarray) -> float:
    above = same[:, None] - other
    return float((above > 0).mean() + (above == 0).mean() / 2)

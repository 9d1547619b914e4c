"""Fitting the mixture of `gre_bench.lm.backends.mixture`: counts from training papers, weights from papers kept aside.

The weights are those under which the reviews of the papers kept aside best predict one another, both ways, pairs of
one paper; the evaluation LM itself is only asked, never changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.errors import LMError, SourceError, SpanError
from gre_bench.core.records import Prediction, SpanLogprob, digest
from gre_bench.lm.backends.blend import OWN_TERMS, TERMS, Blend, save
from gre_bench.lm.backends.mixture import Known, Mixture, TokenLM, mixed
from gre_bench.lm.backends.reweighting import FEATURES, bent, distributions
from gre_bench.lm.backends.token_copies import PLACES, likeness
from gre_bench.lm.protocol import checked
from gre_bench.tuning import record
from gre_bench.tuning.checkpoint import writing
from gre_bench.tuning.mixture import Papers, maximise
from gre_bench.tuning.token_reweighting import Kept, as_ids, bending_arrays, fit_bend

EXPONENTS = (1.0, 2.0, 3.0)
"""Of the inverse document frequency, tried for the tokens drawn."""
STRETCHES = (1.0, 1.25, 1.5, 1.75, 2.0)
"""Of the bending, tried: within a mixture more of it pays than alone."""
TOPICS = 60
PRIOR = 20.0
"""Tokens' worth of evidence by which each kind of place leans on the weights of all places together."""
WORTH = 0.5
"""Nats a reply that the LM given x must add to be worth a forward for each pair; else it is left out, never asked."""
_MOST = 2 * 10**9
"""Bytes of distributions held while the bending is fitted; beyond, fewer papers are used."""


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
    asks_given_x: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pair, what the evaluation LM says of it, and the bent LM's log-probabilities if it is bent.

    *given* is left out where the mixture is to do without it; *lm_given* stays.
    """

    prediction: Prediction
    given: SpanLogprob | None
    alone: SpanLogprob
    lm_given: SpanLogprob
    bent: np.ndarray | None = None


def fit(lm: TokenLM, papers: Papers, kept: Papers) -> tuple[Blend, Fitted]:
    """The mixture over *lm*, counted on *papers* and fitted to *kept*, with its figures there.

    `LMError` if *lm* refuses most pairs; `SourceError` if there are too few papers or reviews.
    """
    if len(papers) < 2 or len(kept) < 2:
        counted = f"{len(papers)}, {len(kept)}"
        raise SourceError(f"a mixture needs at least 2 papers to count and 2 kept aside, got {counted}; give more rows")
    same, other = _pairs(kept)
    if not same:
        raise SourceError("no paper kept aside has two reviews to predict from one another; choose on other rows")
    asked = _ask(lm, [*same, *other])
    told = [asked[pair] for pair in same if pair in asked]
    if 2 * len(told) < len(same):
        only = f"{len(told)} of {len(same)} pairs"
        raise LMError(f"the evaluation LM {lm.identity.name} scores only {only}: is its context long enough?")
    ids = as_ids(lm, papers)
    arrays = count_tokens(lm, ids)
    own, all_terms = (np.full((PLACES, len(terms)), 1 / len(terms)) for terms in (OWN_TERMS, TERMS))
    plain = Blend(lm.identity.digest, len(papers), 1.0, own, all_terms, arrays)
    best, total = max(
        (_weighted(lm, replace(plain, exponent=exponent), told) for exponent in EXPONENTS), key=lambda pair: pair[1]
    )
    if hasattr(lm, "weights") and (more := bending_arrays(ids, arrays["counts"], TOPICS)):
        straight = replace(best, arrays={**arrays, **more}, bend=(0.0,) * len(FEATURES))
        bending = Mixture(lm, straight).bending
        assert bending is not None
        bend = np.array(fit_bend(bending, _within_memory(lm, kept, asked)))
        ways = [replace(straight, bend=tuple((stretch * bend).tolist())) for stretch in STRETCHES]
        asked_bent = _bent(lm, ways, asked)
        found = [
            (*_weighted(lm, way, [one[pair] for pair in same if pair in one]), one)
            for way, one in zip(ways, asked_bent, strict=True)
        ]
        best, total, asked = max(found, key=lambda way: way[1])
    told = [asked[pair] for pair in same if pair in asked]
    without, less = _weighted(lm, best, [replace(one, given=None) for one in told])
    if total - less < WORTH * len(told):
        best, asked = without, {pair: replace(one, given=None) for pair, one in asked.items()}
    return best, _figures(lm, best, asked, same, other, len(kept))


def fit_into(folder: Path, lm: TokenLM, papers: Papers, kept: Papers) -> dict[str, Any]:
    """`fit`, the mixture written to *folder*; its figures by name. Done already, just these; see `record.once`."""
    asked = {
        "evaluation LM": lm.identity.digest, "dtype": lm.identity.dtype, "quantisation": lm.identity.quantisation,
        "papers": digest(papers), "papers kept aside": digest(kept),
    }  # fmt: skip
    made = record.once(folder, asked, lambda: {"held_out": fit_over(folder, lm, papers, kept)})
    return made["held_out"]


def fit_over(folder: Path, lm: TokenLM, papers: Papers, kept: Papers) -> dict[str, Any]:
    """As `fit_into`, whatever *folder* holds."""
    if not hasattr(lm, "tokenizer"):
        raise LMError(f"the evaluation LM {lm.identity.name} has no tokenizer of its own: nothing can be mixed with it")
    blend, figures = fit(lm, papers, kept)
    with writing(folder):
        save(blend, folder)
    return asdict(figures)


def count_tokens(lm: TokenLM, papers: Sequence[Sequence[np.ndarray]]) -> dict[str, np.ndarray]:
    """Per token id of *lm*: ``counts``, in how many of *papers* (reviews of ids) it stands, and its `likeness`."""
    size = len(lm.tokenizer)
    with_token, times = np.zeros(size, dtype=np.int32), np.zeros(size)
    for paper in papers:
        found, often = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *paper]), return_counts=True)
        with_token[found] += 1
        times[found] += often
    alike, share = likeness(lm.tokenizer.convert_ids_to_tokens(list(range(size))), times)
    return {"counts": with_token, "alike": alike, "share": share}


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
            found[pair] = _Asked(pair, given, alone, given)
    return found


def _within_memory(lm: TokenLM, kept: Papers, asked: Mapping[Prediction, _Asked]) -> list[Kept]:
    """The papers of *kept* with the LM's distributions, as many as may be held at once."""
    alone = {one.prediction.reply: one.alone for one in asked.values()}
    found: list[Kept] = []
    held = 0
    for paper in kept:
        texts = [text for text in paper if text in alone]
        if len(texts) < 2:
            continue
        rows = [distributions(lm, Prediction(None, None, text)) for text in texts]  # pyright: ignore[reportArgumentType]
        held += sum(one.nelement() * one.element_size() for one in rows)
        if found and held > _MOST:
            break
        (ids,) = as_ids(lm, [texts])
        found.append(Kept(ids, [np.array(alone[text].ids, dtype=np.int64) for text in texts], rows))
    return found


def _bent(lm: TokenLM, ways: Sequence[Blend], asked: Mapping[Prediction, _Asked]) -> list[dict[Prediction, _Asked]]:
    """*asked* with the bent LM's log-probabilities, for each of *ways* to bend it."""
    known = [Known(Mixture(lm, way)) for way in ways]
    found: list[dict[Prediction, _Asked]] = [{} for _ in ways]
    by_reply: dict[str, list[_Asked]] = {}
    for one in asked.values():
        by_reply.setdefault(one.prediction.reply, []).append(one)
    for reply, ones in by_reply.items():
        rows = distributions(lm, Prediction(None, None, reply))  # pyright: ignore[reportArgumentType]
        ids = np.array(ones[0].alone.ids, dtype=np.int64)
        for of, new in zip(known, found, strict=True):
            for one in ones:
                new[one.prediction] = replace(one, bent=bent(rows, ids, of.log_factors(one.prediction)))
    return found


def _weighted(lm: TokenLM, blend: Blend, told: Sequence[_Asked]) -> tuple[Blend, float]:
    """*blend* with the likeliest weights, and the log-probability of all replies under it."""
    mixture = Mixture(lm, blend)
    replies = {one.prediction.reply: one.alone for one in told}.values()
    own, _ = _maximised([mixture.own_terms(alone) for alone in replies])
    mixture, known = Mixture(lm, replace(blend, own=own)), Known(mixture)
    parts = [mixture.terms(known.ids(one.prediction), one.given, one.alone, one.bent) for one in told]
    weights, total = _maximised(parts)
    if all(one.given is None for one in told):
        # The first term was the second.
        weights[:, 1] += weights[:, 0]
        weights[:, 0] = 0
    return replace(mixture.blend, weights=weights), total


def _maximised(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, float]:
    """The likeliest weights by kind of place for *parts*, each (terms, places), and the log-probability under them."""
    terms, places = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
    chances = np.exp(terms - terms.max(axis=0))
    everywhere = np.array(maximise(chances))
    weights = np.array([_leaning(chances[:, places == place], everywhere) for place in range(PLACES)])
    return weights, float(mixed(terms, places, weights).sum())


def _leaning(chances: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Mixture weights of the rows of *chances*, by expectation maximisation, drawn towards *prior*."""
    weights = prior
    for _ in range(100):
        shares = chances * weights[:, None]
        seen = (shares / shares.sum(axis=0)).sum(axis=1) if shares.size else np.zeros(len(prior))
        weights = (seen + PRIOR * prior) / (seen.sum() + PRIOR)
    return weights / weights.sum()


def _figures(
    lm: TokenLM,
    blend: Blend,
    asked: Mapping[Prediction, _Asked],
    same: list[Prediction],
    other: list[Prediction],
    papers: int,
) -> Fitted:
    mixture = Mixture(lm, blend)
    known = Known(mixture)
    ratios = {}
    for pair, one in asked.items():
        given = mixed(*mixture.terms(known.ids(pair), one.given, one.alone, one.bent), blend.weights).sum()
        ratios[pair] = float(given - mixture.without_x(one.alone).sum()), one.lm_given.total - one.alone.total
    whole = [pair for pair in same if pair in ratios]
    strange = [pair for pair in other if pair in ratios]
    (same_mixed, same_lm), (other_mixed, other_lm) = (np.array([ratios[p] for p in ps]).T for ps in (whole, strange))
    return Fitted(
        papers=papers,
        pairs=len(whole),
        tokens=sum(len(asked[pair].alone.ids) for pair in whole),
        same=float(same_mixed.mean()),
        other=float(other_mixed.mean()),
        auc=_auc(same_mixed, other_mixed),
        lm_same=float(same_lm.mean()),
        lm_other=float(other_lm.mean()),
        lm_auc=_auc(same_lm, other_lm),
        exponent=blend.exponent,
        asks_given_x=bool(blend.weights[:, 0].any()),
    )


def _auc(same: np.ndarray, other: np.ndarray) -> float:
    above = same[:, None] - other
    return float((above > 0).mean() + (above == 0).mean() / 2)

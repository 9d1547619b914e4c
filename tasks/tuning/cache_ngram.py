"""Training of `cache-ngram`: counts from training papers, all weights from papers kept aside.

Counts, topics and spellings come from the judgments of the training papers. The weights of the sources
(expectation maximisation) and of the features that bend the trigram model (L-BFGS) are then those under
which the reviews of the papers kept aside best predict one another, both ways, pairs of one paper.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from tasks.lm.backoff import backoff_counts
from tasks.lm.cache_ngram import CONFIG, FORMAT, VOCABULARY, WEIGHTS, CacheNgram, Known, Reply
from tasks.lm.known_text import FEATURES
from tasks.lm.segmentation import END, NEWLINE, Alphabet, alphabet_of_python, form_counts, is_word, split
from tasks.lm.spelling import spelling_counts
from tasks.tuning.topics import shared_topics

Papers = Sequence[Sequence[str]]
"""Papers, each the judgments of its reviews."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is set by hand. *fewest*: how often an n-gram must be seen to be kept; topics are of
    words in *rare* papers at least and in a share of *common* at most; *penalty*: of squared feature weights, nats a pair."""

    topics: int = 50
    fewest: int = 2
    rare: int = 3
    common: float = 0.2
    penalty: float = 1e-3
    exponents: tuple[float, ...] = (1.0, 2.0, 3.0)
    rounds: int = 3
    steps: int = 15
    seed: int = 0


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Figures on the papers kept aside, over ordered pairs of reviews of one paper (the weights were chosen on them).

    Nats a reply: *marginal* log-probability, *same* mean PMI given a review of the same paper, *other* given one of
    another paper; *auc* P(a same-paper PMI exceeds an other-paper PMI).
    """

    papers: int
    pairs: int
    tokens: int
    marginal: float
    same: float
    other: float
    auc: float


def train(papers: Papers, validation: Papers | None = None, recipe: Recipe = Recipe(),
          alphabet: Alphabet | None = None) -> tuple[CacheNgram, HeldOut]:
    """The model and its held-out figures; without *validation* every sixth paper is kept aside for it.

    The same papers and *recipe* give the same model. `ValueError` when there are too few papers or words.
    """
    if validation is None:
        papers, validation = [paper for place, paper in enumerate(papers) if place % 6], papers[::6]
    if len(papers) < 2 or len(validation) < 2:
        raise ValueError(f"training needs at least 2 papers and 2 kept aside, got {len(papers)} and {len(validation)}")
    alphabet = alphabet or alphabet_of_python()
    config, vocabulary, arrays = _count(papers, recipe, alphabet)
    best: tuple[float, CacheNgram] | None = None
    for exponent in recipe.exponents:
        model = _fit_sources(CacheNgram({**config, "idf_exponent": exponent}, vocabulary, arrays, alphabet), validation)
        fitted = _mean_log(model, validation)
        best = max(best or (fitted, model), (fitted, model), key=lambda pair: pair[0])
    model = best[1]
    for _ in range(recipe.rounds):
        model = _fit_sources(_fit_boosts(model, validation, recipe), validation)
    return model, held_out(model, validation)


def save(model: CacheNgram, folder: Path) -> None:
    """Writes the model's files to *folder* (a card beside them is left alone); `CacheNgram.load` reads them."""
    from safetensors.numpy import save as save_arrays

    folder.mkdir(parents=True, exist_ok=True)
    files = {VOCABULARY: (json.dumps(model.vocabulary, ensure_ascii=False, indent=0) + "\n").encode(),
             WEIGHTS: save_arrays({name: np.ascontiguousarray(array) for name, array in sorted(model.arrays.items())})}
    sha256 = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    config = json.dumps({**model.config, "format": FORMAT, "sha256": sha256}, ensure_ascii=False, indent=2) + "\n"
    for name, data in {**files, CONFIG: config.encode()}.items():
        (folder / name).write_bytes(data)


def held_out(model: CacheNgram, papers: Papers) -> HeldOut:
    """Figures of *model* on *papers*; the other paper is the one half of the list further on."""
    replies = [[model.read_reply(text) for text in paper] for paper in papers]
    known = [[model.read_known(text) for text in paper] for paper in papers]
    logs: list[tuple[float, float, float]] = []
    for place, paper in enumerate(papers):
        strangers = known[(place + len(papers) // 2) % len(papers)]
        for x, y in permutations(range(len(paper)), 2):
            given = None, known[place][x], strangers[x % len(strangers)]
            logs.append(tuple(float(model.token_logprobs(replies[place][y], one).sum()) for one in given))
    marginal, same, other = np.array(logs).T
    above = (same - marginal)[:, None] - (other - marginal)
    return HeldOut(papers=len(papers), pairs=len(logs), tokens=sum(len(reply.form) for paper in replies for reply in paper),
                   marginal=float(marginal.mean()), same=float((same - marginal).mean()),
                   other=float((other - marginal).mean()), auc=float((above > 0).mean() + (above == 0).mean() / 2))


def _count(papers: Papers, recipe: Recipe, alphabet: Alphabet) -> tuple[dict[str, Any], list[str], dict[str, np.ndarray]]:
    """Config (source weights even, features off), vocabulary and arrays of a model counted on *papers*."""
    texts = [[split(text).words for text in paper] for paper in papers]
    papers_with = Counter(word for paper in texts for word in {word for words in paper for word in words})
    shared = sorted(word for word, count in papers_with.items() if count > 1 and word not in (END, NEWLINE))
    vocabulary = ["<unknown>", END, NEWLINE, *shared]
    ids = {word: number for number, word in enumerate(vocabulary)}
    coded = [[np.array([ids.get(word, 0) for word in words]) for words in paper] for paper in texts]
    unknown = [word for paper in texts for words in paper for word in words if word not in ids]
    with_count = np.array([papers_with[word] for word in vocabulary], dtype=np.int32)
    words = np.array([is_word(word) for word in vocabulary])
    topical = np.flatnonzero(words & (with_count >= recipe.rare) & (with_count < recipe.common * len(papers)))
    if len(topical) < 2:
        raise ValueError(f"too few words are shared by {recipe.rare} or more of the training papers to train on")
    characters, spellings = spelling_counts(sorted(filter(is_word, unknown)) or [w for w in shared if is_word(w)])
    arrays = {
        "papers_with": with_count, **spellings, **form_counts(text for paper in papers for text in paper),
        **backoff_counts([row for paper in coded for row in paper], len(vocabulary), recipe.fewest),
        **shared_topics(coded, topical, recipe.topics, recipe.seed),
    }
    config = {
        "alphabet": {"word": alphabet.word, "space": alphabet.space, "mark": alphabet.mark, "unicode": alphabet.unicode},
        "papers": len(papers), "characters": characters, "idf_exponent": 2.0,
        "word_share": (sum(map(is_word, unknown)) + 1) / (len(unknown) + 2),
        "marginal_weights": [1 / 3] * 3, "conditional_weights": [1 / 4] * 4, "boosts": dict.fromkeys(FEATURES, 0.0),
    }
    return config, vocabulary, arrays


def _with(model: CacheNgram, **changes: Any) -> CacheNgram:
    return CacheNgram({**model.config, **changes}, model.vocabulary, model.arrays, model.alphabet)


def _pairs(papers: Papers) -> list[tuple[str, str]]:
    """Every (known, reply) of two reviews of one paper."""
    return [pair for paper in papers for pair in permutations(paper, 2)]


def _fit_sources(model: CacheNgram, papers: Papers) -> CacheNgram:
    """*model* with the source weights that make *papers* likeliest: alone, then the one review given the other."""
    replies = {text: model.read_reply(text) for paper in papers for text in paper}
    terms = [_chances(reply, *model.marginal_terms(reply.text, reply.trigram, reply.unknown)) for reply in replies.values()]
    model = _with(model, marginal_weights=_maximise(np.concatenate(terms, axis=1)))
    replies = {text: model.read_reply(text) for text in replies}
    known = {text: model.read_known(text) for text in replies}
    terms = [_chances(replies[y], *model.conditional_terms(replies[y], known[x])) for x, y in _pairs(papers) if known[x]]
    return _with(model, conditional_weights=_maximise(np.concatenate(terms, axis=1)))


def _chances(reply: Reply, whole: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """P(token) per source, up to one factor a token."""
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log(whole), np.log(unknown) + reply.spelling)
    return np.exp(logs - logs.max(axis=0))


def _maximise(chances: np.ndarray) -> list[float]:
    """Mixture weights of the rows of *chances* by expectation maximisation, never quite 0."""
    weights = np.full(len(chances), 1 / len(chances))
    for _ in range(300):
        shares = chances * weights[:, None]
        moved = (shares / shares.sum(axis=0)).mean(axis=1)
        done, weights = np.abs(moved - weights).max() < 1e-7, moved
        if done:
            break
    weights = np.maximum(weights, 1e-6)
    return (weights / weights.sum()).tolist()


def _mean_log(model: CacheNgram, papers: Papers) -> float:
    pairs = _pairs(papers)
    replies = {text: model.read_reply(text) for paper in papers for text in paper}
    known = {text: model.read_known(text) for text in replies}
    return sum(float(model.token_logprobs(replies[y], known[x]).sum()) for x, y in pairs) / len(pairs)


def _fit_boosts(model: CacheNgram, papers: Papers, recipe: Recipe) -> CacheNgram:
    """*model* with the feature weights that make *papers* likeliest, the source weights staying as they are."""
    from scipy.optimize import minimize

    pairs = [(x, y) for x, y in _pairs(papers)]
    replies = {text: model.read_reply(text) for paper in papers for text in paper}
    known = {text: model.read_known(text) for text in replies}
    features = {text: model.known_text.features(model.read(text)).astype(np.float32) for text in replies}
    copies = {(x, y): _rest(model, replies[y], known[x]) for x, y in set(pairs) if known[x]}
    share = model.conditional_weights[1]

    def loss(boosts: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = recipe.penalty * boosts @ boosts, 2 * recipe.penalty * boosts
        bent: dict[str, tuple[np.ndarray, Any]] = {}
        for x, y in pairs:
            if (x, y) not in copies:
                continue
            if x not in bent:
                factors = np.exp(features[x] @ boosts)
                bent[x] = factors, model.backoff.norms(factors)
            factors, norms = bent[x]
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
        return value, slope

    start = np.array([model.config["boosts"][feature] for feature in FEATURES])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": recipe.steps}).x
    return _with(model, boosts=dict(zip(FEATURES, found.tolist(), strict=True)))


def _rest(model: CacheNgram, reply: Reply, known: Known) -> tuple[np.ndarray, np.ndarray]:
    """Per token: chance by all sources but the bent trigram, and chance of its spelling by the unbent trigram."""
    spelling = np.exp(reply.spelling)
    whole, escapes = model.conditional_terms(reply, known)
    weights = model.conditional_weights * [1, 0, 1, 1]
    return np.maximum(weights @ whole + weights @ escapes * spelling, 1e-300), reply.unknown * spelling

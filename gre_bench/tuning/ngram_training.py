"""Trains `cache-ngram`: the counts come from training papers, and all weights from validation papers.

The model predicts a word by a weighted sum over sources, such as a trigram model and copying from earlier text. The
*known text* is what a prediction is conditioned on, such as another review of the paper.

Counts, topics and spellings come from the judgments of the training papers. Expectation maximisation (Dempster et al.
1977) fits the weights of the sources. L-BFGS fits the weights of the features that reweight the trigram model. Both
fits maximise the likelihood of the validation papers' reviews, each given another review of the same paper.

The judgments may be by several writers. Two statistics are then counted for each writer separately: how common a word
is, and how much more often than by chance two reviews of a paper share it. Otherwise, a word that one writer prefers
would look informative: if the known text is by this writer, all judgments by the same writer would become likelier,
whatever paper they are about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, permutations
from pathlib import Path
from typing import Any

import numpy as np

from gre_bench.core.errors import SourceError
from gre_bench.lm.ngram.backoff import count_backoff_ngrams
from gre_bench.lm.ngram.cache_ngram import FEATURES, CacheNgram, KnownTextEffect, ReplyProbabilityParts, write_files
from gre_bench.lm.ngram.segmentation import (
    END,
    NEWLINE,
    CharacterKindCounts,
    count_spelling_ngrams,
    count_unicode_characters_by_kind,
    count_white_space_and_capitals,
    is_word,
    split_into_tokens,
)
from gre_bench.tuning.record import write_errors_as_settings_error

Papers = Sequence[Sequence[str]]
"""The judgments of each review, for each paper."""
_TOPIC_ROUNDS = 80
_SMOOTHING = 0.02
_PRIOR = 0.1
"""The number of review pairs added to the numerator and the denominator of a word's lift."""
_PENALTY = 1e-3
"""The weight of the sum of squared feature weights in the loss, in nats per pair."""


@dataclass(frozen=True, slots=True)
class TrainingRecipe:
    """The settings of the training.

    - *fewest*: n-grams that occur less often are dropped; with fewer than 3,000 papers, 2 occurrences suffice.
    - *rare*, *common*: topics use words that occur in at least *rare* papers, and in less than the share *common* of
      each writer's papers. With fewer than 500 papers, *rare* is 1% of the papers, and at least 2.
    - *rounds*: how many times to fit the feature weights, in at most *steps* of L-BFGS, and then the source weights.
    """

    topics: int = 200
    fewest: int = 4
    rare: int = 5
    common: float = 0.2
    rounds: int = 3
    steps: int = 15


@dataclass(frozen=True, slots=True)
class HeldOutResults:
    """Results of a model on validation papers, over all ordered pairs of two reviews of one paper.

    The results are optimistic, because the weights of the model were fitted to the same papers.

    - *tokens*: the number of tokens of all reviews.
    - *marginal*: the mean log-probability of a review that is not conditioned on another text, in nats.
    - *same*, *other*: the mean pointwise mutual information (PMI) of a review with another review of the same paper,
      and with a review of another paper, in nats.
    - *auc*: the probability that a PMI within a paper is higher than a PMI between papers.
    """

    papers: int
    pairs: int
    tokens: int
    marginal: float
    same: float
    other: float
    auc: float


def train(
    papers: Papers,
    validation: Papers | None = None,
    recipe: TrainingRecipe = TrainingRecipe(),
    alphabet: CharacterKindCounts | None = None,
    writers: Sequence[str] | None = None,
    validation_writers: Sequence[str] | None = None,
) -> tuple[CacheNgram, HeldOutResults]:
    """Trains a model on *papers*; returns the model and its results on *validation*.

    If *validation* is None, every sixth paper is used for validation and left out of the counts. The same papers and
    *recipe* give the same model. *writers*: for each of *papers*, the writer of its judgments; None: one writer wrote
    all. Raises `SourceError` if there are too few papers, reviews or words.
    """
    writers = writers or [""] * len(papers)
    if validation is None:
        validation, validation_writers = papers[::6], writers[::6]
        papers = [paper for index, paper in enumerate(papers) if index % 6]
        writers = [writer for index, writer in enumerate(writers) if index % 6]
    if len(papers) < 2 or len(validation) < 2:
        counted = f"{len(papers)} and {len(validation)}"
        raise SourceError(f"training needs at least 2 papers and 2 kept aside, got {counted}; give more rows")
    if max(map(len, validation)) < 2:
        raise SourceError("no paper kept aside has two reviews to predict from one another; choose on other rows")
    alphabet = alphabet or count_unicode_characters_by_kind()
    by_writer: dict[str, list[Sequence[str]]] = {}
    for paper, writer in zip(papers, writers, strict=True):
        by_writer.setdefault(writer, []).append(paper)
    config, vocabulary, arrays = _build_model_parts(list(by_writer.values()), recipe, alphabet)
    model = fit_source_weights(CacheNgram(config, vocabulary, arrays, alphabet), validation)
    for _ in range(recipe.rounds):
        model = fit_source_weights(fit_feature_weights(model, validation, recipe.steps), validation)
    return model, evaluate_held_out(model, validation, validation_writers)


def save(model: CacheNgram, folder: Path) -> None:
    """Writes the files of *model* to *folder*, for `CacheNgram.load`; other files there, such as a model card, stay."""
    with write_errors_as_settings_error(folder):
        write_files(folder, model.config, model.vocabulary, model.arrays)


def evaluate_held_out(model: CacheNgram, papers: Papers, writers: Sequence[str] | None = None) -> HeldOutResults:
    """Returns the results of *model* on *papers*. *writers*: for each paper, the writer of its judgments; None: one.

    For the PMI between papers, paper i of a writer's n papers is paired with paper i + ⌊n/2⌋, modulo n.
    """
    of_writer: dict[str, list[int]] = {}
    for index, writer in enumerate(writers or [""] * len(papers)):
        of_writer.setdefault(writer, []).append(index)
    stranger = {
        index: own[(place + len(own) // 2) % len(own)] for own in of_writer.values() for place, index in enumerate(own)
    }
    replies = [[model.compute_reply_parts(text) for text in paper] for paper in papers]
    known = [[model.compute_known_text_effect(text) for text in paper] for paper in papers]
    logs: list[tuple[float, float, float]] = []
    for index, paper in enumerate(papers):
        strangers = known[stranger[index]]
        for x, y in permutations(range(len(paper)), 2):
            given = None, known[index][x], strangers[x % len(strangers)]
            marginal, same, other = (float(model.token_logprobs(replies[index][y], context).sum()) for context in given)
            logs.append((marginal, same, other))
    marginal, same, other = np.array(logs).T
    above = (same - marginal)[:, None] - (other - marginal)
    return HeldOutResults(
        papers=len(papers),
        pairs=len(logs),
        tokens=sum(len(reply.form) for paper in replies for reply in paper),
        marginal=float(marginal.mean()),
        same=float((same - marginal).mean()),
        other=float((other - marginal).mean()),
        auc=float((above > 0).mean() + (above == 0).mean() / 2),
    )


def _build_model_parts(
    writers: Sequence[Papers], recipe: TrainingRecipe, alphabet: CharacterKindCounts
) -> tuple[dict[str, Any], list[str], dict[str, np.ndarray]]:
    """Counts the words of the training papers; returns the config, vocabulary and arrays of a model.

    *writers*: the papers of each writer. In the config, all source weights are equal and all feature weights are 0.
    Raises `SourceError` if too few words occur in several papers.
    """
    texts = [[[split_into_tokens(text).words for text in paper] for paper in papers] for papers in writers]
    counted = [Counter(word for paper in papers for word in {*chain(*paper)}) for papers in texts]
    papers_with = sum(counted, Counter())
    shared = sorted(word for word, count in papers_with.items() if count > 1 and word not in (END, NEWLINE))
    vocabulary = ["<unknown>", END, NEWLINE, *shared]
    ids = {word: number for number, word in enumerate(vocabulary)}
    coded = [[_encode_words(paper, ids) for paper in papers] for papers in texts]
    whole, size = [paper for papers in coded for paper in papers], sum(map(len, writers))
    fewest, rare = min(recipe.fewest, max(2, size // 1000)), min(recipe.rare, max(2, size // 100))
    unknown = [word for words in chain(*chain(*texts)) for word in words if word not in ids]
    # For each word, the share of papers that contain it, among the papers of the writer who uses it most.
    by_writer = zip(counted, writers, strict=True)
    shares = np.max([[count[word] / len(papers) for word in vocabulary] for count, papers in by_writer], axis=0)
    seen = np.array([papers_with[word] for word in vocabulary])
    words = np.array([is_word(word) for word in vocabulary])
    topical = np.flatnonzero(words & (seen >= rare) & (shares < recipe.common))
    if len(topical) < 2:
        raise SourceError(
            f"too few words stand in {rare} or more of the {size} training papers to train on them; give more rows"
        )
    characters, spellings = count_spelling_ngrams(sorted(filter(is_word, unknown)) or [w for w in shared if is_word(w)])
    arrays = {
        "papers_with": np.rint(shares * size).astype(np.int32),
        "lift": _compute_lift(coded, len(vocabulary)),
        **spellings,
        **count_white_space_and_capitals(text for papers in writers for paper in papers for text in paper),
        **count_backoff_ngrams(chain(*whole), len(vocabulary), fewest),
        **fit_shared_topics(whole, topical, recipe.topics),
    }
    config = {
        "alphabet": asdict(alphabet),
        "papers": size,
        "characters": characters,
        "idf_exponent": 2.0,
        "word_share": (sum(map(is_word, unknown)) + 1) / (len(unknown) + 2),
        "marginal_weights": [1 / 3] * 3,
        "conditional_weights": [1 / 4] * 4,
        "boosts": dict.fromkeys(FEATURES, 0.0),
    }
    return config, vocabulary, arrays


def _encode_words(paper: Sequence[Sequence[str]], ids: Mapping[str, int]) -> list[np.ndarray]:
    return [np.array([ids.get(word, 0) for word in words]) for words in paper]


def _compute_lift(writers: Sequence[Sequence[Sequence[np.ndarray]]], size: int) -> np.ndarray:
    """Returns for each of *size* words how much more often two reviews of one paper share it than by chance, in nats.

    The lift is log((observed pairs + `_PRIOR`) / (pairs expected by chance + `_PRIOR`)). A pair is two reviews of one
    paper that both contain the word. *writers*: for each writer, the word ids of each review of each paper. The number
    of pairs expected by chance is computed for each writer separately, and summed.
    """
    shared, chance = np.zeros(size), np.zeros(size)
    for papers in writers:
        reviews_with, pairs = np.zeros(size), 0
        for paper in papers:
            has = np.zeros((len(paper), size))
            for row, ids in zip(has, paper, strict=True):
                row[ids] = 1
            both = has.sum(axis=0)
            shared += both * (both - 1)
            reviews_with += both
            pairs += len(paper) * (len(paper) - 1)
        chance += pairs * (reviews_with / sum(map(len, papers))) ** 2
    return np.log((shared + _PRIOR) / (chance + _PRIOR)).astype(np.float32)


def _replace_config(model: CacheNgram, **changes: Any) -> CacheNgram:
    return CacheNgram({**model.config, **changes}, model.vocabulary, model.arrays, model.alphabet)


def _read_review_pairs(
    model: CacheNgram, papers: Papers
) -> tuple[list[tuple[str, str]], dict[str, ReplyProbabilityParts], dict[str, KnownTextEffect | None]]:
    """Returns all ordered pairs (known text, reply) of two reviews of one paper, and what *model* reads in each review.

    The known text is what the prediction of the reply is conditioned on. *papers*: the reviews of each paper. The
    second result is review → its parts as a reply. The third is review → its effect as a known text, which is None if
    the review has no word to copy.
    """
    pairs = [pair for paper in papers for pair in permutations(paper, 2)]
    replies = {text: model.compute_reply_parts(text) for paper in papers for text in paper}
    return pairs, replies, {text: model.compute_known_text_effect(text) for text in replies}


def fit_source_weights(model: CacheNgram, papers: Papers) -> CacheNgram:
    """Returns a copy of *model* with the source weights that maximise the likelihood of *papers*.

    First, the marginal weights are fitted: those for predicting a review alone. Then the conditional weights are
    fitted: those for predicting a review given another review of the paper.
    """
    replies = {text: model.compute_reply_parts(text) for paper in papers for text in paper}
    terms = [
        _compute_token_probabilities(reply, *model.marginal_terms(reply.text, reply.trigram, reply.unknown))
        for reply in replies.values()
    ]
    model = _replace_config(model, marginal_weights=_fit_mixture_weights(np.concatenate(terms, axis=1)))
    pairs, replies, known = _read_review_pairs(model, papers)
    terms = [
        _compute_token_probabilities(replies[y], *model.conditional_terms(replies[y], given))
        for x, y in pairs
        if (given := known[x])
    ]
    return _replace_config(model, conditional_weights=_fit_mixture_weights(np.concatenate(terms, axis=1)))


def _compute_token_probabilities(reply: ReplyProbabilityParts, whole: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Returns P(token) by each source, shape (sources, tokens); each token's values are divided by their maximum.

    *whole*: P(the token's word) by each source. *unknown*: P(a word outside the vocabulary) by each source.
    """
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(np.log(whole), np.log(unknown) + reply.spelling)
    return np.exp(logs - logs.max(axis=0))


def _fit_mixture_weights(chances: np.ndarray) -> list[float]:
    """Returns the mixture weight of each source, fitted by expectation maximisation; each is at least about 1e-6.

    *chances* holds the probability of each token by each source, shape (sources, tokens).
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


def fit_feature_weights(model: CacheNgram, papers: Papers, steps: int) -> CacheNgram:
    """Returns a copy of *model* with feature weights fitted to *papers* in at most *steps* of L-BFGS.

    The source weights stay the same. The feature weights maximise the log-likelihood of each review given another, less
    `_PENALTY` times the sum of their squares. The gradient for a feature is its observed minus its expected value.
    """
    from scipy.optimize import minimize

    pairs, replies, known = _read_review_pairs(model, papers)
    features = {text: model.known_text.features(model.tokenize(text)).astype(np.float32) for text in replies}
    copies = {
        (x, y): _compute_fixed_source_probabilities(model, replies[y], given)
        for x, y in set(pairs)
        if (given := known[x])
    }
    share = model.conditional_weights[1]

    def loss(boosts: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = _PENALTY * boosts @ boosts, 2 * _PENALTY * boosts
        reweighted: dict[str, np.ndarray] = {}
        for x, y in pairs:
            if (x, y) not in copies:
                continue
            if x not in reweighted:
                reweighted[x] = np.exp(features[x] @ boosts)
            factors, reply = reweighted[x], replies[y]
            others, spelled = copies[x, y]
            norm = model.backoff.compute_normalisers(factors, reply.contexts)
            whole = share * reply.trigram * factors[reply.text.ids] / norm
            escape = share * spelled * factors[0] / norm
            total = others + whole + escape
            value -= float(np.log(total).sum()) / len(pairs)
            seen = np.bincount(reply.text.ids, whole / total, model.backoff.size)
            seen[0] += (escape / total).sum()
            expected = factors * model.backoff.compute_expected_counts(reply.contexts, (whole + escape) / total / norm)
            slope -= features[x].T @ (seen - expected) / len(pairs)
        return float(value), slope

    start = np.array([model.config["boosts"][feature] for feature in FEATURES])
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return _replace_config(model, boosts=dict(zip(FEATURES, fitted.tolist(), strict=True)))


def _compute_fixed_source_probabilities(
    model: CacheNgram, reply: ReplyProbabilityParts, known: KnownTextEffect
) -> tuple[np.ndarray, np.ndarray]:
    """Returns two arrays with a probability for each token of *reply*; neither depends on the feature weights.

    The first is the weighted sum over all sources except the reweighted trigram model. The second treats the token as
    an unknown word: P(unknown word) by the plain trigram model times P(spelling).
    """
    spelling = np.exp(reply.spelling)
    whole, escapes = model.conditional_terms(reply, known)
    weights = model.conditional_weights * [1, 0, 1, 1]
    return np.maximum(weights @ whole + weights @ escapes * spelling, 1e-300), reply.unknown * spelling


def fit_shared_topics(papers: Sequence[Sequence[np.ndarray]], chosen: np.ndarray, topics: int) -> dict[str, np.ndarray]:
    """Fits topics that reviews of one paper share: a word of one review predicts words of another through a few topics.

    The method is probabilistic latent semantic analysis (Hofmann 1999). Expectation maximisation fits it to the counts
    N(v, w) for words v ≠ w. N(v, w) is how often w occurs in a review while another review of the same paper contains
    v. *papers*: the word ids of each review of each paper. *chosen*: the ids of the words to use. Returns four arrays:

    - ``topical``: the chosen words, shape (words,);
    - ``topics_of``: P(topic | a review contains the word), shape (words, topics), in half precision;
    - ``words_of``: P(word | topic) / P(word), shape (topics, words), in half precision;
    - ``topic_sizes``: P(topic), shape (topics,).
    """
    row_of = np.full(int(max(chosen.max(), max(ids.max() for paper in papers for ids in paper))) + 1, -1)
    row_of[chosen] = np.arange(len(chosen))
    together = np.zeros((len(chosen), len(chosen)), dtype=np.float32)
    for paper in papers:
        rows = [row_of[ids] for ids in paper]
        for first, second in permutations([np.bincount(row[row >= 0], minlength=len(chosen)) for row in rows], 2):
            in_second = np.flatnonzero(second)
            together[np.ix_(np.flatnonzero(first), in_second)] += second[in_second]
    np.fill_diagonal(together, 0)
    random = np.random.default_rng(0)
    known = random.uniform(0.5, 1.5, (len(chosen), topics)).astype(np.float32)
    predicted = random.uniform(0.5, 1.5, (topics, len(chosen))).astype(np.float32)
    known, predicted = known / known.sum(axis=0), predicted / predicted.sum(axis=1, keepdims=True)
    sizes = np.full(topics, 1 / topics, dtype=np.float32)
    for _ in range(_TOPIC_ROUNDS):
        joint = known * sizes
        share = together / np.maximum(joint @ predicted, 1e-12)
        known, predicted = joint * (share @ predicted.T), predicted * (joint.T @ share) + _SMOOTHING
        mass = np.maximum(known.sum(axis=0), 1e-12)
        known, sizes = known / mass, mass / mass.sum()
        predicted = predicted / predicted.sum(axis=1, keepdims=True)
    joint = known * sizes + 1e-12
    return {
        "topical": chosen.astype(np.int32),
        "topics_of": (joint / joint.sum(axis=1, keepdims=True)).astype(np.float16),
        "words_of": (predicted / (sizes @ predicted)).astype(np.float16),
        "topic_sizes": sizes.astype(np.float32),
    }

"""Training of the embedded evaluation LM on a small corpus of the project's own sentences."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from gre_bench.core.errors import SourceError
from gre_bench.core.records import Prediction
from gre_bench.lm.ngram.backoff import BackoffTrigramModel, count_backoff_ngrams
from gre_bench.lm.ngram.cache_ngram import CacheNgram
from gre_bench.tuning.ngram_training import TrainingRecipe, evaluate_held_out, fit_shared_topics, save, train

RECIPE = TrainingRecipe(topics=4, fewest=1, rare=2, common=0.9, rounds=1, steps=5)
THEMES = (
    "graph pooling", "policy gradient", "lattice decoding", "protein folding", "speech synthesis", "optimal transport",
)  # fmt: skip
REMARKS = [
    *("the clear writing", "the limited novelty", "the strong results on {}", "the missing baselines for {}"),
    *("the choice of {} as a testbed", "a longer discussion of {}", "the experiments", "the proof about {}"),
]
OPENINGS = ("appreciates", "criticizes", "questions", "suggests")


def corpus(papers: int, seed: int) -> list[list[str]]:
    rng = random.Random(seed)

    def line(theme: str) -> str:
        return f"The reviewer {rng.choice(OPENINGS)} {rng.choice(REMARKS).format(theme)}."

    return [["\n\n".join(line(THEMES[paper % 6]) for _ in range(4)) for _ in range(3)] for paper in range(papers)]


@pytest.fixture(scope="module")
def trained() -> tuple[CacheNgram, object]:
    return train(corpus(24, 1), corpus(8, 2), RECIPE)


def test_kept_n_grams_are_discounted_and_the_rest_goes_to_the_shorter_context() -> None:
    arrays = count_backoff_ngrams([np.array([3, 4, 3, 4, 3, 3, 1])], 5, 1)
    model = BackoffTrigramModel(arrays)
    ids = np.array([3, 4, 3])
    chances = model.compute_word_probabilities(ids, model.build_contexts(ids))
    # kinds of bigrams by their second word: (newline, 3), (4, 3), (3, 3) | (3, 4) | (3, end)
    kinds = {3: 3, 4: 1, 1: 1}
    unigram = {word: (count - 0.75) / 5 + 0.75 * 3 / 5 / 5 for word, count in kinds.items()}
    np.testing.assert_allclose([model.unigram[word] for word in kinds], list(unigram.values()), rtol=1e-6)
    # after two newlines: 3 alone, once; after a newline: 3 alone, after one context
    bigram = 0.2 + 0.8 * unigram[3]
    assert math.isclose(chances[0], 0.15 + 0.85 * bigram, rel_tol=1e-6)


@pytest.mark.parametrize("fewest", [1, 2, 99])
def test_bent_and_unbent_the_chances_of_all_words_sum_to_one(fewest: int) -> None:
    rng = np.random.default_rng(3)
    model = BackoffTrigramModel(count_backoff_ngrams([rng.integers(1, 9, 40) for _ in range(9)], 10, fewest))
    ids = rng.integers(0, 10, 50)
    contexts = model.build_contexts(ids)
    every = np.array([model.compute_word_probabilities(np.full(50, word), contexts) for word in range(10)])
    np.testing.assert_allclose(every.sum(axis=0), 1)
    factors = rng.uniform(0.1, 9, 10)
    np.testing.assert_allclose(factors @ every, model.compute_normalisers(factors, contexts))
    weights = rng.uniform(0, 1, 50)
    np.testing.assert_allclose(model.compute_expected_counts(contexts, weights), every @ weights)


HABITS = {
    "plain": ["notably", "overall", "moreover", "clearly", "indeed", "further"],
    "florid": ["verily", "forsooth", "methinks", "perchance", "haply", "withal"],
}


def by_two_writers(papers: int, seed: int) -> tuple[list[list[str]], list[str]]:
    """Papers whose judgments begin with words of their writer's own, and the writers."""
    rng = random.Random(seed)
    writers = [list(HABITS)[paper % 2] for paper in range(papers)]
    return [
        [
            "\n\n".join(f"{rng.choice(HABITS[writer]).capitalize()} {line}" for line in review.split("\n\n"))
            for review in paper
        ]
        for paper, writer in zip(corpus(papers, seed), writers, strict=True)
    ], writers


def test_the_hand_of_a_writer_tells_nothing_of_the_paper() -> None:
    papers, writers = by_two_writers(60, 1)
    kept, _ = by_two_writers(12, 2)

    def gain_of_another_paper(model: CacheNgram) -> float:
        """The mean PMI of a review with a review by the same writer about another theme, in nats."""
        pairs = [(kept[n][0], kept[(n + 2) % 12][1]) for n in range(12)]
        logs = [[answer.total for answer in model.logprob([Prediction(x, None, y), Prediction(None, None, y)])]
                for x, y in pairs]  # fmt: skip
        return sum(given - alone for given, alone in logs) / len(logs)

    apart, together = (train(papers, kept, RECIPE, writers=given)[0] for given in (writers, None))
    assert gain_of_another_paper(apart) < gain_of_another_paper(together)


def test_topics_join_words_of_the_same_papers() -> None:
    papers = [[np.array([0, 1]), np.array([1, 0])], [np.array([2, 3]), np.array([3, 2])]] * 5
    topics = fit_shared_topics(papers, np.arange(4), 4)
    of_words, sizes = topics["words_of"].astype(float), topics["topic_sizes"]
    np.testing.assert_allclose(sizes @ of_words, 1, rtol=1e-3)
    shares = np.full(4, 0.25)  # each word is as common as the others
    told = topics["topics_of"] @ (of_words * shares)
    np.testing.assert_allclose(told.sum(axis=1), 1, rtol=1e-2)
    assert told[0, 1] > 0.9 > 0.1 > told[0, 2]
    assert told[2, 3] > 0.9 > 0.1 > told[2, 0]


def test_the_same_papers_give_the_same_files(trained, tmp_path: Path) -> None:
    save(trained[0], tmp_path / "one")
    again, figures = train(corpus(24, 1), corpus(8, 2), RECIPE)
    save(again, tmp_path / "two")
    assert figures == trained[1]
    assert CacheNgram.load(tmp_path / "one").identity == CacheNgram.load(tmp_path / "two").identity
    one, two = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_reviews_of_one_paper_tell_of_each_other_on_papers_never_seen_and_fitting_made_them_likelier(trained) -> None:
    model, papers = trained[0], corpus(14, 7)
    figures = evaluate_held_out(model, papers)
    assert figures.pairs == 84
    assert figures.same > 0.5 > 0 > figures.other
    assert figures.auc > 0.8
    even = CacheNgram(
        {**model.config, "conditional_weights": [0.25] * 4, "boosts": dict.fromkeys(model.config["boosts"], 0.0)},
        model.vocabulary,
        model.arrays,
        model.alphabet,
    )
    assert figures.same > evaluate_held_out(even, papers).same


def test_held_out_figures_are_those_of_the_log_ratios(trained) -> None:
    papers = [paper[:2] for paper in corpus(2, 9)]
    (a, b), (c, d) = papers

    def logs(x: str | None, reply: str) -> float:
        return trained[0].logprob([Prediction(x, None, reply)])[0].total

    same = [logs(x, y) - logs(None, y) for x, y in ((a, b), (b, a), (c, d), (d, c))]
    other = [logs(x, y) - logs(None, y) for x, y in ((c, b), (d, a), (a, d), (b, c))]
    figures = evaluate_held_out(trained[0], papers)
    assert (figures.papers, figures.pairs) == (2, 4)
    assert figures.same == pytest.approx(sum(same) / 4)
    assert figures.other == pytest.approx(sum(other) / 4)
    assert figures.auc == pytest.approx(sum((s > o) + (s == o) / 2 for s in same for o in other) / 16)


def test_the_other_paper_of_a_held_out_paper_is_by_the_same_writer_and_never_itself(trained) -> None:
    model, papers = trained[0], corpus(6, 9)
    twice = evaluate_held_out(model, [*papers, *papers], [*["one"] * 6, *["another"] * 6])
    assert twice.other == pytest.approx(evaluate_held_out(model, papers).other)
    assert (
        evaluate_held_out(model, [*papers, *papers]).other > twice.other
    )  # as papers of one writer, each meets itself


def test_no_word_of_a_single_paper_is_shipped_and_without_papers_kept_aside_some_are_taken() -> None:
    papers = corpus(24, 1)
    papers[1] = ["The reviewer appreciates zyxomorphism."] * 3
    model, figures = train(papers, None, RECIPE)
    assert "zyxomorphism" not in model.vocabulary
    assert "folding" in model.vocabulary
    assert figures.papers == 4


@pytest.mark.parametrize(
    ("papers", "validation", "reason"),
    [
        ([], [], "at least 2 papers"),
        (corpus(1, 1), corpus(8, 2), "at least 2 papers"),
        ([["a"], ["b"]], corpus(8, 2), "too few words"),
        (corpus(8, 1), [paper[:1] for paper in corpus(8, 2)], "no paper kept aside has two reviews"),
    ],
)
def test_too_little_to_train_on_is_refused(papers: list[list[str]], validation: list[list[str]], reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        train(papers, validation, RECIPE)

"""Tests the comparison of years: planted shares of AI-like text are recovered, and length does not cause agreement."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bench.ai_like import Wording, interval, sentences, share
from tests.bench.years import Pair, cell, pairs_in_window, per_words

WORDS = [
    "novel",
    "clearly",
    "robust",
    "innovative",
    "commendable",
    "limited",
    "empirical",
    "basic",
    "trivial",
    "careful",
]


def reviews(rates, count, seed):
    """Returns *count* reviews of ten sentences. *rates*: word → the probability that it occurs in a sentence."""
    random = np.random.default_rng(seed)
    return ["\n".join(" ".join(["this is a plain sentence", *(word for word, rate in zip(WORDS, rates, strict=True)
                                                          if random.random() < rate)]) for _ in range(10))
            for _ in range(count)]  # fmt: skip


PEOPLE, MACHINES = np.linspace(0.02, 0.3, len(WORDS)), np.linspace(0.3, 0.02, len(WORDS))


def test_a_sentence_is_its_describing_words_and_a_heading_is_none():
    assert sentences("## Strengths\n1. A clearly novel idea, clearly. The argument is an experiment.") == [
        frozenset({"clearly"}), frozenset()
    ]  # fmt: skip


@pytest.mark.parametrize("planted", [0.0, 0.1, 0.3, 1.0])
def test_a_planted_share_of_ai_like_sentences_is_read_back(planted):
    wording = Wording(reviews(PEOPLE, 400, 0), reviews(MACHINES, 400, 1))
    machines = round(planted * 300)
    papers = [wording.ratios(text) for text in (*reviews(PEOPLE, 300 - machines, 2), *reviews(MACHINES, machines, 3))]
    found, low, high = interval(papers)
    assert low <= found <= high and found == pytest.approx(planted, abs=0.04)
    # The likelihood must be largest there, by plain numpy on a grid.
    grid, ratios = np.linspace(0, 1, 101), np.exp(np.concatenate(papers))
    best = grid[np.argmax([np.log1p(alpha * (ratios - 1)).sum() for alpha in grid])]
    assert share(np.log(ratios)) == pytest.approx(best, abs=0.011)


def pairs(nats, words, number):
    return [Pair(2026, f"p{n}", f"2026 {n // 2}", ("a", "b"), (200, count), nats * count)
            for n, count in zip(range(number), words, strict=True)]  # fmt: skip


def test_nats_per_100_words_are_the_same_however_long_the_references_are():
    short, long = pairs(0.03, np.linspace(50, 150, 40), 40), pairs(0.03, np.linspace(300, 900, 40), 40)
    assert per_words(short)[0] == pytest.approx(3) == pytest.approx(per_words(long)[0])


def test_the_interval_per_100_words_is_that_of_a_ratio_by_exchange():
    random = np.random.default_rng(0)
    rows = [pair._replace(value=pair.value + random.normal()) for pair in pairs(0.03, random.uniform(100, 300, 60), 60)]
    values, words = np.array([p.value for p in rows]), np.array([p.words[1] for p in rows])
    ratio = values.sum() / words.sum()
    sums = (values - ratio * words).reshape(-1, 2).sum(axis=1)
    error = 100 * np.sqrt(30 / 29 * (sums**2).sum()) / words.sum()
    assert per_words(rows) == pytest.approx((100 * ratio, 2.045229642 * error))


def test_few_pairs_have_no_cell_and_the_window_holds_both_lengths():
    rows = pairs(0.03, np.linspace(100, 400, 10), 10)
    assert [pair.words[1] for pair in pairs_in_window(rows)] == [
        count for count in np.linspace(100, 400, 10) if 150 <= count <= 350
    ]
    assert cell(rows, per_words, 1).startswith("+3.0 ±") and cell(rows[:4], per_words, 1) == ""

"""Learns topics shared by reviews of one paper: a word of one review predicts words of another through a few topics.

The method is probabilistic latent semantic analysis (Hofmann 1999), fitted by expectation maximisation. It fits the
counts N(v, w) for words v ≠ w. N(v, w) is how often w occurs in a review while another review of the same paper
contains v.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ROUNDS = 80
_SMOOTHING = 0.02


def shared_topics(
    papers: Sequence[Sequence[np.ndarray]], chosen: np.ndarray, topics: int, seed: int
) -> dict[str, np.ndarray]:
    """Learns topics over the words *chosen*; returns four arrays.

    - *papers*: the word ids of each review of each paper.
    - *chosen*: the ids of the words.
    - *topics*: the number of topics.
    - *seed*: the seed of the starting values.

    The arrays are:

    - ``topical``: the chosen words, shape (words,);
    - ``topics_of``: P(topic | a review contains the word), shape (words, topics), in half precision;
    - ``words_of``: P(word | topic) / P(word), shape (topics, words), in half precision;
    - ``topic_sizes``: P(topic), shape (topics,).
    """
    row_of = np.full(int(max(chosen.max(), max(ids.max() for paper in papers for ids in paper))) + 1, -1)
    row_of[chosen] = np.arange(len(chosen))
    together = np.zeros((len(chosen), len(chosen)), dtype=np.float32)
    for paper in papers:
        rows = [
            np.bincount(rows_of_words[rows_of_words >= 0], minlength=len(chosen))
            for rows_of_words in (row_of[ids] for ids in paper)
        ]
        for row, first in enumerate(rows):
            for other, second in enumerate(rows):
                if row != other:
                    in_first, in_second = np.flatnonzero(first), np.flatnonzero(second)
                    together[np.ix_(in_first, in_second)] += second[in_second]
    np.fill_diagonal(together, 0)
    random = np.random.default_rng(seed)
    known = random.uniform(0.5, 1.5, (len(chosen), topics)).astype(np.float32)
    predicted = random.uniform(0.5, 1.5, (topics, len(chosen))).astype(np.float32)
    known, predicted = known / known.sum(axis=0), predicted / predicted.sum(axis=1, keepdims=True)
    sizes = np.full(topics, 1 / topics, dtype=np.float32)
    for _ in range(_ROUNDS):
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

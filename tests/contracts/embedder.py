"""What every embedder promises, as rules: each takes a function that opens the embedder, and fails by assertion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gre_bench.lm.embedders import Embedder

Open = Callable[[], Embedder]

ORDINARY = (
    "The reviewer appreciates the clear writing.",
    "The reviewer criticizes the limited novelty of the paper.",
    "Is the choice of the baseline a problem?",
    "The choice of the problem is a baseline?",
    "more experiments",
    "The reviewer appreciates the clear writing and the experiments and the ablation and the study. " * 3,
)
HOSTILE = (
    "", " ", "\x00", "a\ud800b", "\udfff", "🙂", "漢字 が あります。", "ﬁne ünïcode \u202e", "[MASK] [SEP]", "." * 500,
    "The reviewer appreciates the idea. " * 3000,
)  # fmt: skip
CLOSE = 1e-5


def vectors_are_float32_and_of_length_one(open_embedder: Open) -> None:
    """One row for each sentence, hostile ones too."""
    vectors = open_embedder().embed([*ORDINARY, *HOSTILE])
    assert vectors.dtype == np.float32
    assert vectors.ndim == 2 and len(vectors) == len(ORDINARY) + len(HOSTILE)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=CLOSE)


def nothing_asked_is_nothing_answered(open_embedder: Open) -> None:
    """No sentences: no rows, of the usual width."""
    embedder = open_embedder()
    assert embedder.embed([]).shape == (0, embedder.embed(ORDINARY[:1]).shape[1])


def order_does_not_matter(open_embedder: Open) -> None:
    """The reverse of the sentences gives the reverse of the vectors."""
    embedder = open_embedder()
    assert np.allclose(embedder.embed(ORDINARY[::-1]), embedder.embed(ORDINARY)[::-1], atol=CLOSE)


def neighbours_do_not_matter(open_embedder: Open) -> None:
    """A sentence alone has the vector it has in any company, and each time it is asked for."""
    embedder = open_embedder()
    together = embedder.embed([*HOSTILE, *ORDINARY, *ORDINARY])
    for place, sentence in enumerate(ORDINARY, len(HOSTILE)):
        alone = embedder.embed([sentence])[0]
        assert np.allclose(alone, together[place], atol=CLOSE), sentence
        assert np.allclose(alone, together[place + len(ORDINARY)], atol=CLOSE), sentence


def different_sentences_differ(open_embedder: Open) -> None:
    """Other words move the vector, and so does their order."""
    vectors = open_embedder().embed(ORDINARY)
    cosines = vectors @ vectors.T - 2 * np.eye(len(ORDINARY))
    assert cosines.max() < 1 - 1e-4


def the_query_matters_if_and_only_if_it_says_so(open_embedder: Open) -> None:
    """What an asymmetric embedder does to a query is seen; a symmetric one does nothing."""
    embedder = open_embedder()
    moved = np.abs(embedder.embed(ORDINARY, query=True) - embedder.embed(ORDINARY)).max(axis=1)
    assert (moved > 1e-3).all() if embedder.asymmetric else (moved == 0).all()


def opened_again_it_is_the_same(open_embedder: Open) -> None:
    """Equal identities and equal vectors."""
    one, other = open_embedder(), open_embedder()
    assert one.identity == other.identity
    assert len(one.identity.digest) == 64 and one.identity.name and one.identity.engine_version
    assert np.allclose(one.embed(ORDINARY), other.embed(ORDINARY), atol=CLOSE)


CONTRACT = (
    vectors_are_float32_and_of_length_one,
    nothing_asked_is_nothing_answered,
    order_does_not_matter,
    neighbours_do_not_matter,
    different_sentences_differ,
    the_query_matters_if_and_only_if_it_says_so,
    opened_again_it_is_the_same,
)
